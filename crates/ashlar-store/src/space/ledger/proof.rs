//! What a walk over the maps has found so far.
//!
//! Owns a second count of all that the ledger counts. It must not know how the walk is done.
//!
//! 1. What is before the place that the walk comes to next is counted as it is now: a change there
//!    is a change here, in the same turn. So when the walk has come to the end, the two counts are
//!    of the same moment, whatever hosts wrote meanwhile.

use std::collections::BTreeMap;

use ashlar_format::catalog::Usage;
use ashlar_format::ids::Family;
use ashlar_format::location::{Location, SegmentId};
use ashlar_format::table::Occupancy;

use super::NamedAt;

/// What the maps name in one group.
#[derive(Default)]
pub struct Found {
    segments: BTreeMap<SegmentId, Occupancy>,
    blocks: Usage,
    hidden: Usage,
}

impl Found {
    /// A block.
    pub fn block(&mut self, location: Location) {
        self.segments.entry(location.segment()).or_default().add(location);
        self.blocks.blocks += 1;
        self.blocks.slots += location.slots();
    }

    /// The same, which a newer update hides: the group's next merge discards it.
    pub fn hidden_block(&mut self, location: Location) {
        self.block(location);
        self.hidden.blocks += 1;
        self.hidden.slots += location.slots();
    }

    /// A page of a run.
    pub fn run_page(&mut self, location: Location) {
        self.segments.entry(location.segment()).or_default().add(location);
    }
}

/// See above.
pub struct Proof {
    /// The first place where the walk has not been.
    next: NamedAt,
    segments: BTreeMap<SegmentId, Occupancy>,
    families: BTreeMap<Family, Usage>,
    hidden: Usage,
}

impl Proof {
    pub(super) fn new(first: NamedAt) -> Self {
        Proof {
            next: first,
            segments: BTreeMap::new(),
            families: BTreeMap::new(),
            hidden: Usage::default(),
        }
    }

    /// The first place where the walk has not been.
    pub(super) fn next(&self) -> NamedAt {
        self.next
    }

    /// Whether the walk has been there.
    pub(super) fn has_passed(&self, place: NamedAt) -> bool {
        place < self.next
    }

    /// Nothing else is before `next`.
    pub(super) fn passes(&mut self, next: NamedAt) {
        assert!(self.next < next, "a walk comes to each place once");
        self.next = next;
    }

    pub(super) fn add(&mut self, family: Family, found: Found) {
        for (id, part) in found.segments {
            *self.segments.entry(id).or_default() += part;
        }
        if found.blocks != Usage::default() {
            let usage = self.families.entry(family).or_default();
            usage.blocks += found.blocks.blocks;
            usage.slots += found.blocks.slots;
        }
        self.hidden.blocks += found.hidden.blocks;
        self.hidden.slots += found.hidden.slots;
    }

    pub(super) fn credit(&mut self, family: Family, location: Location) {
        self.segments.entry(location.segment()).or_default().add(location);
        let usage = self.families.entry(family).or_default();
        usage.blocks += 1;
        usage.slots += location.slots();
    }

    pub(super) fn discard(&mut self, family: Family, id: SegmentId, part: Occupancy) {
        self.discard_in(id, part);
        let usage = self.families.entry(family).or_default();
        // Where the ledger is wrong the proof is to say so: it must not end the process before.
        usage.blocks = usage.blocks.saturating_sub(part.fragments);
        usage.slots = usage.slots.saturating_sub(part.slots);
        if *usage == Usage::default() {
            self.families.remove(&family);
        }
    }

    pub(super) fn credit_page(&mut self, location: Location) {
        self.segments.entry(location.segment()).or_default().add(location);
    }

    pub(super) fn discard_page(&mut self, location: Location) {
        self.discard_in(location.segment(), location.into());
    }

    fn discard_in(&mut self, id: SegmentId, part: Occupancy) {
        let named = self.segments.entry(id).or_default();
        *named = named.minus(part).unwrap_or_default();
        if *named == Occupancy::default() {
            self.segments.remove(&id);
        }
    }

    /// What is named in each segment, pages of runs included.
    pub fn segments(&self) -> &BTreeMap<SegmentId, Occupancy> {
        &self.segments
    }

    /// What each family stores.
    pub fn families(&self) -> &BTreeMap<Family, Usage> {
        &self.families
    }

    /// What newer updates hid when the walk came by.
    pub fn hidden(&self) -> Usage {
        self.hidden
    }
}

#[cfg(test)]
mod tests;
