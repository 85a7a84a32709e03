//! Decoded map pages, kept within a budget.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

use ashlar_format::location::Pointer;
use ashlar_format::page::{PageEntry, page_entries_max};

use super::shard::Pages;

/// Memory that a page takes, nearly: all its entries, decoded.
const PAGE_BYTES: usize = page_entries_max(1) * size_of::<PageEntry>();
/// Pages that are kept whatever the budget: one look at a group may need this many.
const PAGES_MIN: usize = 64;

struct Slot {
    entries: Rc<Vec<PageEntry>>,
    used: Cell<bool>,
}

#[derive(Default)]
struct Kept {
    // The hasher is fixed: two runs of one simulation see the same cache.
    slots: HashMap<Pointer, Slot, BuildHasherDefault<DefaultHasher>>,
    hand: VecDeque<Pointer>,
}

/// The cache of map pages. Second chance: a page that was used since the hand last passed stays.
pub struct PageCache {
    kept: RefCell<Kept>,
    pages_max: usize,
}

impl PageCache {
    /// A cache of about `bytes`.
    pub fn new(bytes: usize) -> Self {
        PageCache { kept: RefCell::default(), pages_max: (bytes / PAGE_BYTES).max(PAGES_MIN) }
    }

    /// Keeps a page. What a pointer names never changes, so that nothing has to be taken out again.
    pub fn insert(&self, pointer: Pointer, entries: Rc<Vec<PageEntry>>) {
        let mut kept = self.kept.borrow_mut();
        let slot = Slot { entries, used: Cell::new(false) };
        if kept.slots.insert(pointer, slot).is_none() {
            kept.hand.push_back(pointer);
        }
        while kept.slots.len() > self.pages_max {
            let candidate = kept.hand.pop_front().expect("every page is in the ring");
            if kept.slots[&candidate].used.take() {
                kept.hand.push_back(candidate);
            } else {
                kept.slots.remove(&candidate);
            }
        }
    }

    /// Forgets every page.
    pub fn clear(&self) {
        self.kept.take();
    }

    /// Bytes in use, nearly.
    pub fn bytes(&self) -> usize {
        self.kept.borrow().slots.len() * PAGE_BYTES
    }
}

impl Pages for PageCache {
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>> {
        let kept = self.kept.borrow();
        let slot = kept.slots.get(&pointer)?;
        slot.used.set(true);
        Some(slot.entries.clone())
    }
}

#[cfg(test)]
mod tests;
