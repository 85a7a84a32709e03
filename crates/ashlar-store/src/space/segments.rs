//! The segments of a pool: where they lie, what lives in them, which may be opened.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::{Rc, Weak};

use ashlar_block::DriveId;
use ashlar_format::codec::Malformed;
use ashlar_format::ids::Lsn;
use ashlar_format::location::{Location, SegmentId};
use ashlar_format::table::{Occupancy, RowExtent, SegmentKind, SegmentState, TableEntry, is_paged};
use ashlar_raid::{ChunkAddr, Geometry, Level};
use tokio::sync::Notify;

mod changes;
mod chunks;
mod columns;
mod freeing;
#[cfg(any(test, feature = "invented"))]
mod invented;
mod listing;
mod moves;
mod numbers;
mod pin;
mod placing;
mod redundancy;
mod segment;
mod slab;
mod summary;
mod trims;
mod usable;

use changes::Changes;
use chunks::FreeChunks;
pub use columns::HeldColumn;
pub use moves::{NewPlace, Retired};
pub use numbers::{NUMBERS_PER_SEGMENT, Numbers};
pub use pin::{Pin, pin};
pub use placing::{Load, Loads};
pub use redundancy::Redundancy;
pub use segment::{FoundBatches, Segment};
use slab::Slab;
pub use summary::Summary;
pub use trims::Discard;
pub use usable::{Claim, Shape};

/// A pool's shape: what its level and its drives make of segments.
#[derive(Clone, Copy, Debug)]
pub struct Stripe {
    /// Data columns of a full stripe.
    pub data: usize,
    /// Parity columns of every segment.
    pub parity: usize,
}

impl Stripe {
    /// What a level makes of that many members; of fewer than it needs, what it makes of as many as
    /// that.
    pub fn of(level: Level, members: usize) -> Self {
        let data =
            level.data_columns(members.max(level.drives_min())).expect("as many as it needs");
        Stripe { data, parity: level.parity() }
    }

    fn columns(self, shape: Shape) -> usize {
        self.parity
            + match shape {
                Shape::Striped => self.data,
                Shape::Journal => 1,
            }
    }
}

/// All segments of a pool.
pub struct Segments {
    stripe: Stripe,
    entries: Slab,
    summary: Summary,
    changes: Changes,
    /// Segments that no leaf of the table lists.
    apart: BTreeSet<SegmentId>,
    free_chunks: BTreeMap<DriveId, FreeChunks>,
    chunks_total: BTreeMap<DriveId, u32>,
    usable: [VecDeque<SegmentId>; 2],
    /// Of the striped window, what is for pages of the table.
    window_of_table: usize,
    window_when_formed: [usize; 2],
    numbers: Numbers,
    live: Occupancy,
    /// Chunks that columns have left. The newest root names them still.
    retired: Vec<Retired>,
    /// Columns on their way, by segment.
    moving: BTreeMap<SegmentId, Vec<NewPlace>>,
    /// Where segments lay before columns of them moved, as long as somebody reads by it.
    past_geometries: BTreeMap<SegmentId, Vec<Weak<Geometry>>>,
    /// Discards that were begun.
    discards: u64,
    /// Notified when nobody reads a segment any more that is empty.
    pub emptied: Rc<Notify>,
}

impl Segments {
    /// No segments yet, which will have so many rows, on drives with that many chunks.
    pub fn new(
        stripe: Stripe,
        segment_rows: u32,
        chunks: impl Iterator<Item = (DriveId, u32)>,
        numbers: Numbers,
    ) -> Self {
        let chunks_total: BTreeMap<DriveId, u32> = chunks.collect();
        let free_chunks =
            chunks_total.iter().map(|(drive, count)| (*drive, FreeChunks::all(*count))).collect();
        Segments {
            stripe,
            entries: Slab::default(),
            summary: Summary::new(segment_rows, stripe.parity),
            changes: Changes::default(),
            apart: BTreeSet::new(),
            free_chunks,
            chunks_total,
            usable: Default::default(),
            window_of_table: 0,
            window_when_formed: [0; 2],
            numbers,
            live: Occupancy::default(),
            retired: Vec::new(),
            moving: BTreeMap::new(),
            past_geometries: BTreeMap::new(),
            discards: 0,
            emptied: Rc::default(),
        }
    }

    /// Segments that a first table has. Windows are not usable: what they were for, recovery
    /// decides.
    ///
    /// # Errors
    /// They cannot be segments of this pool.
    pub fn load(&mut self, table: Vec<TableEntry>) -> Result<(), Malformed> {
        self.check(&table)?;
        self.take_chunks(&table)?;
        for entry in table {
            let (id, segment) = (entry.id, Segment::of(entry));
            self.live += segment.live;
            if is_paged(segment.state, segment.kind) {
                self.changes.entry(id);
                self.changes.mark_count(id);
            }
            self.insert(id, segment);
        }
        Ok(())
    }

    /// Whether these can be segments of this pool, as far as each of them tells.
    fn check(&self, table: &[TableEntry]) -> Result<(), Malformed> {
        let rows_max = self.summary.segment_rows();
        let can_be = |entry: &TableEntry| {
            let mut columns = entry.geometry.columns.iter().enumerate();
            let is_apart = |(nth, column): (usize, &ChunkAddr)| {
                entry.geometry.columns[..nth].iter().all(|before| before.drive != column.drive)
            };
            let mut extents = entry.accepted.iter();
            let is_within =
                |extent: &RowExtent| extent.rows > 0 && extent.row + extent.rows <= entry.rows;
            entry.rows <= rows_max
                && extents.all(is_within)
                && entry.accepted.is_sorted_by(|one, next| one.row + one.rows <= next.row)
                && columns.all(is_apart)
        };
        let what = "segment table: an entry says what no segment of the pool can be";
        if table.iter().all(can_be) { Ok(()) } else { Err(Malformed { what }) }
    }

    /// Segments that leaves of the table have, and no first table.
    ///
    /// # Errors
    /// As of [`Self::load`].
    pub fn load_listed(&mut self, table: Vec<TableEntry>) -> Result<(), Malformed> {
        self.check(&table)?;
        self.take_chunks(&table)?;
        for entry in table {
            let (id, segment) = (entry.id, Segment { is_listed: true, ..Segment::of(entry) });
            self.live += segment.live;
            self.insert(id, segment);
        }
        Ok(())
    }

    /// Numbers that leaves of the table have as resting.
    pub fn load_resting(&mut self, resting: impl IntoIterator<Item = SegmentId>) {
        self.numbers.load_resting(resting);
    }

    /// A segment.
    pub fn get(&self, id: SegmentId) -> Option<&Segment> {
        self.entries.get(id)
    }

    fn insert(&mut self, id: SegmentId, segment: Segment) {
        self.summary.add(id, &segment);
        if !segment.is_listed {
            self.apart.insert(id);
        }
        self.entries.insert(id, segment);
    }

    /// Changes a segment, and with it what all of them are together, and what the table says.
    fn change(&mut self, id: SegmentId, change: impl FnOnce(&mut Segment)) {
        let was_listed = self.entries[id].is_listed;
        self.change_unsaid(id, change);
        let segment = &self.entries[id];
        if is_paged(segment.state, segment.kind) {
            self.changes.entry(id);
            if !was_listed {
                self.changes.mark_count(id);
            }
        }
    }

    /// Changes of a segment what the table does not say.
    fn change_unsaid(&mut self, id: SegmentId, change: impl FnOnce(&mut Segment)) {
        let segment = self.entries.get_mut(id).unwrap_or_else(|| panic!("{id} does not exist"));
        self.summary.remove(id, segment);
        change(segment);
        self.summary.add(id, segment);
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.entries.iter()
    }

    /// Those whose numbers are `from` or above, in their order.
    pub fn iter_from(&self, from: SegmentId) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.entries.iter_from(from)
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// What all of them are together.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether [`Self::summary`] is what the segments make it: it walks over all of them.
    pub fn summary_is_right(&self) -> bool {
        self.summary == self.summary.of(self.iter())
    }

    /// The numbers that segments get.
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Every group has been merged since `quarter` was due: its numbers may be given out.
    pub fn sweep_done(&mut self, quarter: u64) {
        self.numbers.sweep_done(quarter);
    }

    /// No sweep can end, because a part of the maps cannot be read.
    pub fn give_up_sweep(&mut self) {
        self.numbers.give_up_sweep();
    }

    /// The maps may be readable again.
    pub fn try_sweep_again(&mut self) {
        self.numbers.try_sweep_again();
    }

    /// A drive with that many chunks is part of the pool, whose stripes have this shape from now
    /// on.
    pub fn add_drive(&mut self, drive: DriveId, chunks: u32, stripe: Stripe) {
        assert!(
            self.chunks_total.insert(drive, chunks).is_none(),
            "{drive} is part of the pool already"
        );
        self.free_chunks.insert(drive, FreeChunks::all(chunks));
        self.stripe = stripe;
    }

    /// A drive has so many chunks from now on: more than it had.
    pub fn grow_drive(&mut self, drive: DriveId, chunks: u32) {
        let total = self.chunks_total.get_mut(&drive).expect("it is part of the pool");
        let before = std::mem::replace(total, chunks);
        self.free_chunks.get_mut(&drive).expect("it is part of the pool").grow(before, chunks);
    }

    /// The pool's shape.
    pub fn stripe(&self) -> Stripe {
        self.stripe
    }

    // --- what lives ------------------------------------------------------------------------------

    /// The maps name one more fragment.
    pub fn credit(&mut self, location: Location) {
        if let Some(segment) = self.entries.get_mut(location.segment())
            && segment.state != SegmentState::Condemned
        {
            let before = segment.rank(self.summary.segment_rows());
            self.changes.count_of(location.segment(), segment);
            segment.live.add(location);
            self.live.add(location);
            self.summary.live_changed(location.segment(), segment, before);
        }
    }

    /// The maps name so much less of a segment. A stale name of one that is gone counts for
    /// nothing.
    pub fn discard(&mut self, id: SegmentId, part: Occupancy) {
        if let Some(segment) = self.entries.get_mut(id)
            && segment.state != SegmentState::Condemned
        {
            let before = segment.rank(self.summary.segment_rows());
            let left = segment.live.minus(part);
            self.changes.count_of(id, segment);
            segment.live =
                left.unwrap_or_else(|| panic!("{part:?} of {id} discarded once too often"));
            self.live = self.live.minus(part).expect("all are no less than one segment's");
            self.summary.live_changed(id, segment, before);
        }
    }

    /// What the maps name, in all segments.
    pub fn live(&self) -> Occupancy {
        self.live
    }

    /// Nothing that counts names the segment: every fragment of it has been looked up.
    pub fn condemn(&mut self, id: SegmentId) {
        let live = self.get(id).expect("a victim is not freed before it is condemned").live;
        self.live = self.live.minus(live).expect("all are no less than one segment's");
        self.changes.count_of(id, &self.entries[id]);
        self.change(id, |segment| {
            segment.live = Occupancy::default();
            segment.state = SegmentState::Condemned;
        });
    }

    /// Something of it cannot be read: it is not collected, unless what is still there has to be
    /// moved.
    pub fn set_unmovable(&mut self, id: SegmentId, is_unmovable: bool) {
        if self.entries.contains(id) {
            self.change_unsaid(id, |segment| segment.is_unmovable = is_unmovable);
        }
    }

    /// To compress anew what it holds is not worth emptying it.
    pub fn settle(&mut self, id: SegmentId) {
        if self.entries.contains(id) {
            self.change_unsaid(id, |segment| segment.is_settled = true);
        }
    }

    /// What could not be read may be readable again.
    pub fn all_may_move(&mut self) {
        let unmovable: Vec<SegmentId> = self.summary.unmovable().collect();
        unmovable.into_iter().for_each(|id| self.set_unmovable(id, false));
    }

    // --- opening and closing ---------------------------------------------------------------------

    /// An open segment is filled with what is overwritten often.
    pub fn set_hot(&mut self, id: SegmentId) {
        self.change_unsaid(id, |segment| segment.hot = true);
    }

    /// A batch of this number is written into an open segment, whose rows are so many with it, and
    /// whose first batch is that.
    pub fn appended(&mut self, id: SegmentId, first_lsn: Lsn, lsn: Lsn, rows: u32) {
        self.change(id, |segment| {
            (segment.first_lsn, segment.last_lsn, segment.rows) = (first_lsn, lsn, rows)
        });
    }

    /// A start has found these batches in a segment that was open, or might have been.
    pub fn found(&mut self, id: SegmentId, found: FoundBatches, now_seconds: u64) {
        self.change(id, |segment| {
            segment.rows = found.rows;
            segment.first_lsn = found.first_lsn;
            segment.last_lsn = found.last_lsn;
            segment.accepted = found.accepted;
            if found.has_pages && segment.kind != SegmentKind::Table {
                segment.kind = SegmentKind::Metadata;
            }
        });
        if self.entries[id].state != SegmentState::Condemned {
            self.seal(id, now_seconds);
        }
    }

    /// Nothing more will be written into the segment.
    pub fn seal(&mut self, id: SegmentId, now_seconds: u64) {
        self.change(id, |segment| {
            segment.state = SegmentState::Sealed;
            segment.sealed_at = now_seconds;
        });
    }

    // --- figures ---------------------------------------------------------------------------------

    /// Chunks of all drives.
    pub fn chunks_total(&self) -> u64 {
        self.chunks_total.values().map(|count| u64::from(*count)).sum()
    }

    /// Chunks of each drive.
    pub fn chunks_of_drives(&self) -> impl Iterator<Item = (DriveId, u64)> {
        self.chunks_total.iter().map(|(drive, count)| (*drive, u64::from(*count)))
    }

    /// Chunks of these drives.
    pub fn chunks_on(&self, drives: &[DriveId]) -> u64 {
        drives
            .iter()
            .filter_map(|drive| self.chunks_total.get(drive))
            .map(|count| u64::from(*count))
            .sum()
    }
}

#[cfg(test)]
mod tests;
