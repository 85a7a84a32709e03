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

#[derive(Clone)]
enum Page {
    Entries(Rc<Vec<PageEntry>>),
    Leaf(Rc<StoredLeaf>),
}

impl Page {
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
}

#[derive(Default)]
struct Kept {
    // The hasher is fixed: two runs of one simulation see the same cache.
    slots: HashMap<Pointer, Slot, BuildHasherDefault<DefaultHasher>>,
    hand: VecDeque<Pointer>,
    bytes: usize,
}

impl Kept {
    fn shrink_to(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max {
            let candidate = self.hand.pop_front().expect("every page is in the ring");
            if self.slots[&candidate].used.take() {
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

    /// Keeps a page. What a pointer names never changes, so that nothing has to be taken out again.
    pub fn insert(&self, pointer: Pointer, entries: Rc<Vec<PageEntry>>) {
        self.keep(pointer, Page::Entries(entries));
    }

    /// Keeps a leaf.
    pub fn insert_leaf(&self, pointer: Pointer, leaf: Rc<StoredLeaf>) {
        self.keep(pointer, Page::Leaf(leaf));
    }

    fn keep(&self, pointer: Pointer, page: Page) {
        let mut kept = self.kept.borrow_mut();
        kept.bytes += page.bytes();
        match kept.slots.insert(pointer, Slot { page, used: Cell::new(false) }) {
            Some(before) => kept.bytes -= before.page.bytes(),
            None => kept.hand.push_back(pointer),
        }
        kept.shrink_to(self.bytes_max.get());
    }

    fn get(&self, pointer: Pointer) -> Option<Page> {
        let kept = self.kept.borrow();
        let slot = kept.slots.get(&pointer)?;
        slot.used.set(true);
        Some(slot.page.clone())
    }

    /// Forgets every page.
    pub fn clear(&self) {
        self.kept.take();
    }

    /// Bytes in use, nearly.
    pub fn bytes(&self) -> usize {
        self.kept.borrow().bytes
    }
}

impl Pages for PageCache {
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>> {
        match self.get(pointer)? {
            Page::Entries(entries) => Some(entries),
            Page::Leaf(_) => None,
        }
    }

    fn leaf(&self, pointer: Pointer) -> Option<Rc<StoredLeaf>> {
        match self.get(pointer)? {
            Page::Leaf(leaf) => Some(leaf),
            Page::Entries(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
