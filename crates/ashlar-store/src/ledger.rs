//! Who counts what lives: every fragment that the maps name is counted once, in its segment and its family.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::format::location::{Location, Pointer};
use crate::segments::Segments;
use crate::types::Family;

/// What a family stores. Like live counts, it may be too high until the groups concerned have merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Blocks that hold data.
    pub blocks: u64,
    /// Slots that their fragments take.
    pub slots: u64,
}

/// Counts of all segments and families of a pool.
#[derive(Clone)]
pub struct Ledger {
    segments: Rc<RefCell<Segments>>,
    families: Rc<RefCell<BTreeMap<Family, Usage>>>,
}

impl Ledger {
    /// The counts of `segments`.
    pub fn new(segments: Rc<RefCell<Segments>>) -> Self {
        Ledger { segments, families: Rc::default() }
    }

    /// What families stored when the root was written.
    pub fn load(&self, families: BTreeMap<Family, Usage>) {
        *self.families.borrow_mut() = families;
    }

    /// The maps name one more block of `family`.
    pub fn credit(&self, family: Family, location: Location) {
        self.segments.borrow_mut().credit(location);
        let mut families = self.families.borrow_mut();
        let usage = families.entry(family).or_default();
        usage.blocks += 1;
        usage.slots += location.slots();
    }

    /// The maps name one block of `family` less.
    pub fn discard(&self, family: Family, location: Location) {
        self.segments.borrow_mut().discard(location);
        let mut families = self.families.borrow_mut();
        let usage = families.entry(family).or_default();
        usage.blocks = usage.blocks.checked_sub(1).expect("a family's blocks are discarded once");
        usage.slots = usage.slots.checked_sub(location.slots()).expect("a family's slots are discarded once");
    }

    /// The maps' own structure names one page more.
    pub fn credit_page(&self, pointer: Pointer) {
        self.segments.borrow_mut().credit(pointer.location);
    }

    /// The maps' own structure names one page less.
    pub fn discard_page(&self, pointer: Pointer) {
        self.segments.borrow_mut().discard(pointer.location);
    }

    /// What a family stores.
    pub fn usage(&self, family: Family) -> Usage {
        self.families.borrow().get(&family).copied().unwrap_or_default()
    }

    /// What every family stores.
    pub fn usages(&self) -> BTreeMap<Family, Usage> {
        self.families.borrow().clone()
    }

    /// The family is gone.
    pub fn forget(&self, family: Family) {
        self.families.borrow_mut().remove(&family);
    }
}
