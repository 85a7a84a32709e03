//! Segments by number: found in a step whatever their count, and walked in the order of their
//! numbers.
//!
//! Numbers are some four times as many as segments. So a number leads to a slot, four bytes each,
//! and only the slots of segments that exist take more.

use ashlar_format::location::SegmentId;

use super::Segment;

/// No segment has this number.
const NONE: u32 = u32::MAX;

/// The segments of a pool.
#[derive(Default)]
pub struct Slab {
    /// By number less one: where the segment is in `slots`.
    slot_of: Vec<u32>,
    slots: Vec<Option<Segment>>,
    free_slots: Vec<u32>,
}

impl Slab {
    fn slot(&self, id: SegmentId) -> Option<usize> {
        let slot = *self.slot_of.get(id.0.checked_sub(1)? as usize)?;
        (slot != NONE).then_some(slot as usize)
    }

    /// Whether there is a segment of this number.
    pub fn contains(&self, id: SegmentId) -> bool {
        self.slot(id).is_some()
    }

    /// A segment.
    pub fn get(&self, id: SegmentId) -> Option<&Segment> {
        self.slots[self.slot(id)?].as_ref()
    }

    /// A segment, to change it.
    pub fn get_mut(&mut self, id: SegmentId) -> Option<&mut Segment> {
        let slot = self.slot(id)?;
        self.slots[slot].as_mut()
    }

    /// A new segment.
    pub fn insert(&mut self, id: SegmentId, segment: Segment) {
        assert!(id.0 > 0 && !self.contains(id), "{id} exists already");
        let at = id.0 as usize - 1;
        if self.slot_of.len() <= at {
            self.slot_of.resize(at + 1, NONE);
        }
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(segment);
        self.slot_of[at] = slot;
    }

    /// The segment is gone.
    pub fn remove(&mut self, id: SegmentId) -> Option<Segment> {
        let slot = self.slot(id)?;
        self.slot_of[id.0 as usize - 1] = NONE;
        self.free_slots.push(slot as u32);
        self.slots[slot].take()
    }

    /// Those whose numbers are `from` or above, in order.
    pub fn iter_from(&self, from: SegmentId) -> impl Iterator<Item = (SegmentId, &Segment)> {
        let first = from.0.saturating_sub(1) as usize;
        let numbers = self.slot_of.iter().enumerate().skip(first);
        let taken = numbers.filter(|(_, slot)| **slot != NONE);
        taken.map(|(at, slot)| {
            let segment = self.slots[*slot as usize].as_ref().expect("a number leads to a taken slot");
            (SegmentId(at as u32 + 1), segment)
        })
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.iter_from(SegmentId(1))
    }
}

impl std::ops::Index<SegmentId> for Slab {
    type Output = Segment;

    fn index(&self, id: SegmentId) -> &Segment {
        self.get(id).unwrap_or_else(|| panic!("{id} does not exist"))
    }
}

#[cfg(test)]
mod tests;
