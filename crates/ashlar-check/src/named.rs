//! What the maps name: counted for each segment, and kept place by place for some of them at a
//! time.
//!
//! Twelve bytes for each place of the segments of the window. The first walk finds out how much all
//! segments have; it keeps the places of the first ones, as many as there is room for.

use std::cell::RefCell;
use std::ops::Range;

use ashlar_block::Device;
use ashlar_format::location::{Location, Pointer, SegmentId};

use crate::pool::Pool;
use crate::report::{Kind, shown};
use crate::segments::Segments;

/// A place and its checksum: the halves of the location's word, the higher one first, then the CRC.
type Place = [u32; 3];

/// Bytes that a place takes.
const PLACE_BYTES: usize = size_of::<Place>();

pub(crate) struct Named<'a, D> {
    pool: &'a Pool<D>,
    pub segments: RefCell<Segments>,
    places: RefCell<Vec<Place>>,
    /// Segments whose places are kept: those from the first number on and below the second.
    window: RefCell<Range<u32>>,
    places_max: usize,
    is_first_walk: std::cell::Cell<bool>,
}

impl<'a, D: Device> Named<'a, D> {
    pub fn new(pool: &'a Pool<D>, segments: Segments, bytes_max: usize) -> Self {
        Named {
            pool,
            segments: RefCell::new(segments),
            places: RefCell::default(),
            window: RefCell::new(0..u32::MAX),
            places_max: (bytes_max / PLACE_BYTES).max(1),
            is_first_walk: std::cell::Cell::new(true),
        }
    }

    pub fn is_first_walk(&self) -> bool {
        self.is_first_walk.get()
    }

    /// The root names the place, through the maps or at once: that of a page, or of a block.
    pub fn note(&self, pointer: Pointer, is_page: bool) {
        let id = pointer.location.segment();
        if self.is_first_walk() && !self.count(pointer.location, is_page) {
            return;
        }
        if !self.window.borrow().contains(&id.0) {
            return;
        }
        let bits = pointer.location.to_bits();
        self.places.borrow_mut().push([(bits >> 32) as u32, bits as u32, pointer.crc]);
        if self.is_first_walk() && self.places.borrow().len() > self.places_max {
            self.narrow();
        }
    }

    /// Counts the place for its segment, if that is there.
    fn count(&self, location: Location, is_page: bool) -> bool {
        let mut segments = self.segments.borrow_mut();
        let findings = &self.pool.findings;
        findings.count(|seen| seen.fragments += 1);
        let Some(segment) = segments.get_mut(location.segment()) else {
            let text = format!("{} is named, and the table has no such segment", shown(location));
            findings.add_of_pool(Kind::NoSegment, text);
            return false;
        };
        segment.named.slots = segment.named.slots.saturating_add(location.slots() as u32);
        segment.named.fragments = segment.named.fragments.saturating_add(1);
        let segment = *segment;
        if !segments.holds(&segment, location.sectors())
            || location.column() >= Segments::data(&segment)
        {
            let text =
                format!("{} is named, and its segment holds no batch there", shown(location));
            findings.add_of_pool(Kind::NotHeld, text);
        }
        if segment.kind.is_of_pages() != is_page {
            let what = if is_page { "a page" } else { "a block" };
            let text =
                format!("{} is named as {what}, and its segment is for others", shown(location));
            findings.add_of_pool(Kind::NotHeld, text);
        }
        true
    }

    /// Forgets the places of the later half of the segments that some are kept of.
    fn narrow(&self) {
        let mut places = self.places.borrow_mut();
        let half = places.len() / 2;
        let (_, middle, _) = places.select_nth_unstable(half);
        // A segment's number is the upper 25 bits.
        let end = (middle[0] >> 7).max(self.window.borrow().start + 1);
        self.window.borrow_mut().end = end;
        places.retain(|place| place[0] >> 7 < end);
    }

    /// The walk is over: the window that it was for. Its places are in order from now on.
    pub fn end_walk(&self) -> Range<u32> {
        self.is_first_walk.set(false);
        self.places.borrow_mut().sort_unstable();
        self.window.borrow().clone()
    }

    /// Forgets the places, and takes the next segments. `None`: there are no more.
    pub fn next_window(&self) -> Option<()> {
        let first = self.window.borrow().end;
        let segments = self.segments.borrow();
        let (mut sum, mut end) = (0, first);
        for segment in segments.iter_from(SegmentId(first)) {
            sum += segment.named.fragments as usize;
            if end > first && sum > self.places_max {
                break;
            }
            end = segment.id.0 + 1;
        }
        self.window.replace(first..end);
        self.places.borrow_mut().clear();
        (end > first).then_some(())
    }

    /// The places of a segment of the window, in order.
    pub fn of(&self, id: SegmentId) -> Vec<Pointer> {
        let places = self.places.borrow();
        let from = |number: u32| places.partition_point(|place| place[0] >> 7 < number);
        places[from(id.0)..from(id.0 + 1)].iter().map(pointer_of).collect()
    }

    /// Tells of segments of which the maps name more than is counted.
    pub fn check_counts(&self) {
        let segments = self.segments.borrow();
        let too_low = segments.iter().filter(|segment| {
            segment.named.slots > segment.counted.slots
                || segment.named.fragments > segment.counted.fragments
        });
        for segment in too_low {
            let (named, counted) = (segment.named, segment.counted);
            let text = format!(
                "{}: {} fragments in {} slots live, and {} in {} are counted: it could be freed too soon",
                segment.id, named.fragments, named.slots, counted.fragments, counted.slots
            );
            self.pool.findings.add_of_pool(Kind::Count, text);
        }
    }
}

fn pointer_of(place: &Place) -> Pointer {
    let bits = u64::from(place[0]) << 32 | u64::from(place[1]);
    Pointer { location: Location::from_bits(bits).expect("made of a location"), crc: place[2] }
}
