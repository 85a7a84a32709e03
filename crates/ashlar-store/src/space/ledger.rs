//! The ledger counts what lives: every fragment that the maps name, once, in its segment and its
//! family.

mod proof;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_format::catalog::Usage;
use ashlar_format::ids::{Family, GroupKey, Key, ShardId};
use ashlar_format::location::{Location, Pointer, SegmentId};
use ashlar_format::table::Occupancy;

use crate::space::segments::Segments;

pub use proof::{Found, Proof};

/// A group of a shard: where the maps name something, in the order in which a walk comes to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NamedAt {
    /// The shard.
    pub shard: ShardId,
    /// The group.
    pub group: GroupKey,
}

impl NamedAt {
    /// That of a block.
    pub fn of(shard: ShardId, key: &Key) -> Self {
        NamedAt { shard, group: GroupKey::of(key.family, key.lba) }
    }
}

/// Fragments of one group that are no longer named, by the segments that they lie in: counted one
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
    proof: Rc<RefCell<Option<Proof>>>,
}

impl Ledger {
    /// The counts of `segments`.
    pub fn new(segments: Rc<RefCell<Segments>>) -> Self {
        Ledger { segments, families: Rc::default(), proof: Rc::default() }
    }

    /// What families stored when the root was written.
    pub fn load(&self, families: BTreeMap<Family, Usage>) {
        *self.families.borrow_mut() = families;
    }

    /// The maps name one more block.
    pub fn credit(&self, place: NamedAt, location: Location) {
        self.segments.borrow_mut().credit(location);
        let mut families = self.families.borrow_mut();
        let usage = families.entry(place.group.family).or_default();
        usage.blocks += 1;
        usage.slots += location.slots();
        self.prove(place, |proof| proof.credit(place.group.family, location));
    }

    /// The maps name one block less.
    pub fn discard(&self, place: NamedAt, location: Location) {
        self.discard_some(place, location.segment(), location.into());
        self.discard_usage(place.group.family, location.into());
    }

    /// The maps name these blocks no more.
    pub fn discard_all(&self, place: NamedAt, discards: Discards) {
        let mut sum = Occupancy::default();
        for (id, part) in discards.0 {
            self.discard_some(place, id, part);
            sum += part;
        }
        self.discard_usage(place.group.family, sum);
    }

    fn discard_some(&self, place: NamedAt, id: SegmentId, part: Occupancy) {
        self.segments.borrow_mut().discard(id, part);
        self.prove(place, |proof| proof.discard(place.group.family, id, part));
    }

    fn discard_usage(&self, family: Family, part: Occupancy) {
        let mut families = self.families.borrow_mut();
        let usage = families.entry(family).or_default();
        usage.blocks =
            usage.blocks.checked_sub(part.fragments).expect("a family's blocks are discarded once");
        usage.slots =
            usage.slots.checked_sub(part.slots).expect("a family's slots are discarded once");
    }

    /// The maps' own structure names one page more. `of`: the group, if it is a page of a run.
    pub fn credit_page(&self, of: Option<NamedAt>, pointer: Pointer) {
        self.segments.borrow_mut().credit(pointer.location);
        if let Some(place) = of {
            self.prove(place, |proof| proof.credit_page(pointer.location));
        }
    }

    /// The maps' own structure names one page less, which is of no run.
    pub fn discard_page(&self, pointer: Pointer) {
        self.segments.borrow_mut().discard(pointer.location.segment(), pointer.location.into());
    }

    /// The maps name one page of a run less.
    pub fn discard_run_page(&self, place: NamedAt, pointer: Pointer) {
        self.discard_page(pointer);
        self.prove(place, |proof| proof.discard_page(pointer.location));
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

    // --- proof -----------------------------------------------------------------------------------

    /// A walk begins that counts anew what the maps name, from `first` on.
    pub fn begin_proof(&self, first: NamedAt) {
        self.proof.replace(Some(Proof::new(first)));
    }

    /// The walk has come to its end, or is given up.
    pub fn end_proof(&self) -> Option<Proof> {
        self.proof.take()
    }

    /// What `look` sees in what the walk has found so far, if there is one.
    pub fn with_proof<T>(&self, look: impl FnOnce(&Proof) -> T) -> Option<T> {
        self.proof.borrow().as_ref().map(look)
    }

    /// Where the walk goes on, if there is one.
    pub fn proof_goes_on_from(&self) -> Option<NamedAt> {
        self.proof.borrow().as_ref().map(Proof::next)
    }

    /// The walk has found this in a group of `family`, and there is nothing else before `next`.
    /// What changes there from now on changes the proof, too.
    pub fn found(&self, family: Family, found: Found, next: NamedAt) {
        if let Some(proof) = self.proof.borrow_mut().as_mut() {
            proof.add(family, found);
            proof.passes(next);
        }
    }

    /// There is nothing before `next` where the walk has not been.
    pub fn found_nothing_before(&self, next: NamedAt) {
        if let Some(proof) = self.proof.borrow_mut().as_mut() {
            proof.passes(next);
        }
    }

    fn prove(&self, place: NamedAt, change: impl FnOnce(&mut Proof)) {
        if let Some(proof) = self.proof.borrow_mut().as_mut().filter(|it| it.has_passed(place)) {
            change(proof);
        }
    }
}
