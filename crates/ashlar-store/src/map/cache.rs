//! Pages of the map and leaves of its index, kept within a budget.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

use ashlar_format::location::Pointer;
use ashlar_format::page::{PageEntry, StoredLeaf, page_entries_max};

use super::shard::Pages;

/// Memory that a page takes at most, nearly: all its entries, decoded.
const PAGE_BYTES_MAX: usize = page_entries_max(1) * size_of::<PageEntry>() + OVERHEAD_BYTES;
/// Memory that a page takes besides what it says: its places in the table and in the ring.
const OVERHEAD_BYTES: usize = 128;
/// Pages that are kept whatever the budget: each look would read all that it needs anew.
const PAGES_MIN: usize = 8;

/// What is kept.
#[derive(Clone)]
pub enum Page {
    /// A page of a run.
    Entries(Rc<Vec<PageEntry>>),
    /// A leaf of an index.
    Leaf(Rc<StoredLeaf>),
}

impl Page {
    /// The entries of a page of a run.
    pub fn entries(self) -> Option<Rc<Vec<PageEntry>>> {
        match self {
            Page::Entries(entries) => Some(entries),
            Page::Leaf(_) => None,
        }
    }

    /// The leaf that it is.
    pub fn leaf(self) -> Option<Rc<StoredLeaf>> {
        match self {
            Page::Leaf(leaf) => Some(leaf),
            Page::Entries(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        OVERHEAD_BYTES
            + match self {
                Page::Entries(entries) => size_of_val(entries.as_slice()),
                Page::Leaf(leaf) => leaf.bytes(),
            }
    }
}

struct Slot {
    page: Page,
    used: Cell<bool>,
    epoch: u64,
}

#[derive(Default)]
struct Kept {
    // The hasher is fixed: two runs of one simulation see the same cache.
    slots: HashMap<Pointer, Slot, BuildHasherDefault<DefaultHasher>>,
    hand: VecDeque<Pointer>,
    bytes: usize,
    /// Pages of earlier ones are forgotten. They make room as others come: to give them all back
    /// at once would be a long turn.
    epoch: u64,
}

impl Kept {
    fn shrink_to(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max {
            let candidate = self.hand.pop_front().expect("every page is in the ring");
            let slot = &self.slots[&candidate];
            if slot.used.take() && slot.epoch == self.epoch {
                self.hand.push_back(candidate);
            } else {
                let slot = self.slots.remove(&candidate).expect("every page in the ring is kept");
                self.bytes -= slot.page.bytes();
            }
        }
    }
}

/// The cache. Second chance: a page that was used since the hand last passed stays.
pub struct PageCache {
    kept: RefCell<Kept>,
    bytes_max: Cell<usize>,
}

impl PageCache {
    /// A cache of about `bytes`.
    pub fn new(bytes: usize) -> Self {
        let cache = PageCache { kept: RefCell::default(), bytes_max: Cell::default() };
        cache.limit(bytes);
        cache
    }

    /// Keeps about `bytes` from now on.
    pub fn limit(&self, bytes: usize) {
        self.bytes_max.set(bytes.max(PAGES_MIN * PAGE_BYTES_MAX));
    }

    /// Keeps a page. What a pointer names does not change until all are forgotten.
    pub fn keep(&self, pointer: Pointer, page: Page) {
        let mut kept = self.kept.borrow_mut();
        kept.bytes += page.bytes();
        let slot = Slot { page, used: Cell::new(false), epoch: kept.epoch };
        match kept.slots.insert(pointer, slot) {
            Some(before) => kept.bytes -= before.page.bytes(),
            None => kept.hand.push_back(pointer),
        }
        kept.shrink_to(self.bytes_max.get());
    }

    fn get(&self, pointer: Pointer) -> Option<Page> {
        let kept = self.kept.borrow();
        let slot = kept.slots.get(&pointer).filter(|slot| slot.epoch == kept.epoch)?;
        slot.used.set(true);
        Some(slot.page.clone())
    }

    /// Forgets every page.
    pub fn clear(&self) {
        self.kept.borrow_mut().epoch += 1;
    }

    /// Bytes in use, nearly.
    pub fn bytes(&self) -> usize {
        self.kept.borrow().bytes
    }
}

impl Pages for PageCache {
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>> {
        self.get(pointer)?.entries()
    }

    fn leaf(&self, pointer: Pointer) -> Option<Rc<StoredLeaf>> {
        self.get(pointer)?.leaf()
    }
}

#[cfg(test)]
mod tests;
