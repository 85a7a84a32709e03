//! Segments by number: found in a step whatever their count, and walked in the order of their
//! numbers.
//!
//! Numbers are many times as many as segments, and those in use wander through all of them. So a
//! number leads to a slot by way of a page of [`PAGE_NUMBERS`] numbers, which is there only while
//! one of them is in use.

use super::Segment;
use ashlar_format::location::SegmentId;

pub const PAGE_NUMBERS: usize = 128;

/// No segment has this number.
const NONE: u32 = u32::MAX;

/// Where the segments of consecutive numbers are in the slots.
struct Page {
    slot_of: [u32; PAGE_NUMBERS],
    /// A bit for each number in use: a walk steps over the others, which are most.
    taken: u128,
}

const _: () = assert!(PAGE_NUMBERS == u128::BITS as usize);

impl Page {
    /// The slots of numbers from the one at `from` on, in order, each with its place in the page.
    fn slots(&self, from: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut left = self.taken & (u128::MAX << from);
        std::iter::from_fn(move || {
            let at = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((at, self.slot_of[at] as usize))
        })
    }
}

/// The segments of a pool.
#[derive(Default)]
pub struct Slab {
    pages: Vec<Option<Box<Page>>>,
    slots: Vec<Option<Segment>>,
    free_slots: Vec<u32>,
    pages_taken: usize,
}

/// The page of a number, and its place in that.
fn place(id: SegmentId) -> (usize, usize) {
    (id.0 as usize / PAGE_NUMBERS, id.0 as usize % PAGE_NUMBERS)
}

impl Slab {
    fn slot(&self, id: SegmentId) -> Option<usize> {
        let (page, at) = place(id);
        let slot = self.pages.get(page)?.as_ref()?.slot_of[at];
        (slot != NONE).then_some(slot as usize)
    }

    /// How many segments there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }

    /// Of every [`PAGE_NUMBERS`] consecutive numbers, how many have a segment.
    pub fn pages_taken(&self) -> usize {
        self.pages_taken
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
        assert!(!self.contains(id), "{id} exists already");
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(segment);
        let (page, at) = place(id);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| {
            self.pages_taken += 1;
            Box::new(Page { slot_of: [NONE; PAGE_NUMBERS], taken: 0 })
        });
        page.slot_of[at] = slot;
        page.taken |= 1 << at;
    }

    /// The segment is gone.
    pub fn remove(&mut self, id: SegmentId) -> Option<Segment> {
        let slot = self.slot(id)?;
        let (number, at) = place(id);
        let page = self.pages[number].as_mut().expect("it led to the slot");
        page.slot_of[at] = NONE;
        page.taken &= !(1 << at);
        if page.taken == 0 {
            self.pages[number] = None;
            self.pages_taken -= 1;
        }
        self.free_slots.push(slot as u32);
        self.slots[slot].take()
    }

    /// Those whose numbers are `from` or above, in order.
    pub fn iter_from(&self, from: SegmentId) -> impl Iterator<Item = (SegmentId, &Segment)> {
        let (first, at) = place(from);
        let pages = self.pages.iter().enumerate().skip(first);
        let pages = pages.filter_map(|(number, page)| Some((number, page.as_ref()?)));
        pages.flat_map(move |(number, page)| {
            page.slots(if number == first { at } else { 0 }).map(move |(at, slot)| {
                #[cfg(test)]
                crate::testing::note_walk();
                let segment = self.slots[slot].as_ref().expect("a number leads to a taken slot");
                (SegmentId((number * PAGE_NUMBERS + at) as u32), segment)
            })
        })
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.iter_from(SegmentId(0))
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
