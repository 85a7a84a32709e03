//! The ledger counts what lives: every fragment that the maps name, once, in its segment and its
//! family.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_format::catalog::Usage;
use ashlar_format::ids::Family;
use ashlar_format::location::{Location, Pointer, SegmentId};
use ashlar_format::table::Occupancy;

use crate::space::segments::Segments;

/// Fragments of one family that are no longer named, by the segments that they lie in: counted one
/// by one while there is time, discarded in one turn.
#[derive(Default)]
pub struct Discards(BTreeMap<SegmentId, Occupancy>);

impl Discards {
    /// One more.
    pub fn add(&mut self, location: Location) {
        self.0.entry(location.segment()).or_default().add(location);
    }
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
        self.segments.borrow_mut().discard(location.segment(), location.into());
        self.discard_usage(family, location.into());
    }

    /// The maps name these blocks of `family` no more.
    pub fn discard_all(&self, family: Family, discards: Discards) {
        let mut segments = self.segments.borrow_mut();
        let mut sum = Occupancy::default();
        for (id, part) in discards.0 {
            segments.discard(id, part);
            sum += part;
        }
        self.discard_usage(family, sum);
    }

    fn discard_usage(&self, family: Family, part: Occupancy) {
        let mut families = self.families.borrow_mut();
        let usage = families.entry(family).or_default();
        usage.blocks =
            usage.blocks.checked_sub(part.fragments).expect("a family's blocks are discarded once");
        usage.slots =
            usage.slots.checked_sub(part.slots).expect("a family's slots are discarded once");
    }

    /// The maps' own structure names one page more.
    pub fn credit_page(&self, pointer: Pointer) {
        self.segments.borrow_mut().credit(pointer.location);
    }

    /// The maps' own structure names one page less.
    pub fn discard_page(&self, pointer: Pointer) {
        self.segments.borrow_mut().discard(pointer.location.segment(), pointer.location.into());
    }

    /// What a family stores.
    pub fn usage(&self, family: Family) -> Usage {
        self.families.borrow().get(&family).copied().unwrap_or_default()
    }

    /// What all families together store.
    pub fn total(&self) -> Usage {
        let families = self.families.borrow();
        families.values().fold(Usage::default(), |sum, usage| Usage {
            blocks: sum.blocks + usage.blocks,
            slots: sum.slots + usage.slots,
        })
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
