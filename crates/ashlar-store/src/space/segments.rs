//! The segments of a pool: where they lie, what lives in them, which may be opened.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{DriveId, SECTOR_BYTES};
use ashlar_raid::{Geometry, Level};
use tokio::sync::Notify;

use crate::base::ids::Lsn;
use crate::format::location::{Location, SegmentId};
use crate::format::table::{Occupancy, RowExtent, SegmentKind, SegmentState, TableEntry};

mod columns;
mod numbers;
mod pin;
mod placing;

pub use columns::{NewPlace, Retired};
pub use numbers::{NUMBERS_PER_SEGMENT, Numbers};
pub use pin::{Pin, pin};
pub use placing::{Load, Loads};

/// A shape that segments are reserved in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shape {
    /// Full stripes.
    Striped,
    /// One data column and its copies.
    Journal,
}

/// Who asks for a segment: the last of the window are not for everybody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// New data of hosts: leaves a quarter of the window.
    Host,
    /// What is moved to make room, and the map's own upkeep: leaves what a checkpoint needs.
    Upkeep,
    /// Collection of a segment that gives back more than it takes, when there is nothing else left:
    /// leaves one for the checkpoint that frees it, and one for a start.
    LastResort,
    /// A checkpoint: without it there is no new window. Leaves one.
    Checkpoint,
    /// A start, which ends in a checkpoint: without it nothing of the pool can be had. And a
    /// checkpoint whose root gives one back.
    Last,
}

/// Segments of the window that only starts may take, and who gives one back.
const LAST_SEGMENTS: usize = 1;
/// Segments of the window that only checkpoints may take, and but for one of them collection as a
/// last resort.
const CHECKPOINT_SEGMENTS: usize = LAST_SEGMENTS + 3;

/// One segment.
#[derive(Clone, Debug)]
pub struct Segment {
    pub state: SegmentState,
    pub kind: SegmentKind,
    pub geometry: Rc<Geometry>,
    pub first_lsn: Lsn,
    pub last_lsn: Lsn,
    pub live: Occupancy,
    pub sealed_at: u64,
    pub rows: u32,
    pub accepted: Vec<RowExtent>,
    /// It was filled with what is overwritten often. Forgotten over a restart.
    pub hot: bool,
    /// Reads that still need its bytes.
    pins: u32,
}

impl Segment {
    pub fn reserved(geometry: Geometry, kind: SegmentKind, first_lsn: Lsn) -> Self {
        Segment {
            state: SegmentState::Window,
            kind,
            geometry: Rc::new(geometry),
            first_lsn,
            last_lsn: Lsn(0),
            live: Occupancy::default(),
            sealed_at: 0,
            rows: 0,
            accepted: Vec::new(),
            hot: false,
            pins: 0,
        }
    }

    /// Bytes that its rows have in so many columns.
    pub fn bytes_of_columns(&self, columns: usize) -> u64 {
        u64::from(self.rows) * (columns * SECTOR_BYTES) as u64
    }

    /// Bytes of all its columns.
    pub fn bytes(&self) -> u64 {
        self.bytes_of_columns(self.geometry.columns.len())
    }

    /// The rows that hold batches.
    pub fn accepted_rows(&self) -> Vec<RowExtent> {
        if self.accepted.is_empty() {
            vec![RowExtent { row: 0, rows: self.rows }]
        } else {
            self.accepted.clone()
        }
    }

    /// Whether these rows are of batches.
    pub fn holds(&self, rows: Range<u32>) -> bool {
        let holds = |extent: RowExtent| extent.row <= rows.start && rows.end <= extent.row + extent.rows;
        self.accepted_rows().into_iter().any(holds)
    }

    /// Nothing that counts names it.
    pub fn is_empty(&self) -> bool {
        matches!(self.state, SegmentState::Sealed | SegmentState::Condemned)
            && self.live == Occupancy::default()
    }

    /// Nothing needs it: no name in the maps, no batch at or above `floor`, no reader.
    pub fn is_reclaimable(&self, floor: Lsn) -> bool {
        self.is_empty() && self.last_lsn < floor && self.pins == 0
    }

    pub fn table_entry(&self, id: SegmentId) -> TableEntry {
        TableEntry {
            id,
            state: self.state,
            kind: self.kind,
            geometry: self.geometry.clone(),
            first_lsn: self.first_lsn,
            last_lsn: self.last_lsn,
            live: self.live,
            sealed_at: self.sealed_at,
            rows: self.rows,
            accepted: self.accepted.clone(),
        }
    }
}

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
        let data = level.data_columns(members.max(level.drives_min())).expect("as many as it needs");
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
    entries: BTreeMap<SegmentId, Segment>,
    free_chunks: BTreeMap<DriveId, Vec<u32>>,
    chunks_total: BTreeMap<DriveId, u32>,
    usable: [VecDeque<SegmentId>; 2],
    window_when_formed: [usize; 2],
    numbers: Numbers,
    live: Occupancy,
    /// Chunks that columns have left. The newest root names them still.
    retired: Vec<Retired>,
    /// Rung when nobody reads a segment any more that is empty.
    pub emptied: Rc<Notify>,
}

impl Segments {
    /// No segments yet, on drives with that many chunks.
    pub fn new(stripe: Stripe, chunks: impl Iterator<Item = (DriveId, u32)>, numbers: Numbers) -> Self {
        let chunks_total: BTreeMap<DriveId, u32> = chunks.collect();
        let free_chunks =
            chunks_total.iter().map(|(drive, count)| (*drive, (0..*count).rev().collect())).collect();
        Segments {
            stripe,
            entries: BTreeMap::new(),
            free_chunks,
            chunks_total,
            usable: Default::default(),
            window_when_formed: [0; 2],
            numbers,
            live: Occupancy::default(),
            retired: Vec::new(),
            emptied: Rc::default(),
        }
    }

    /// The segments of a table. Windows are not usable: what they were for, recovery decides.
    pub fn load(&mut self, table: Vec<TableEntry>) {
        self.take_chunks(&table);
        for entry in table {
            let segment = Segment {
                state: entry.state,
                kind: entry.kind,
                geometry: entry.geometry,
                first_lsn: entry.first_lsn,
                last_lsn: entry.last_lsn,
                live: entry.live,
                sealed_at: entry.sealed_at,
                rows: entry.rows,
                accepted: entry.accepted,
                hot: false,
                pins: 0,
            };
            self.live += entry.live;
            self.entries.insert(entry.id, segment);
        }
    }

    /// A segment.
    pub fn get(&self, id: SegmentId) -> Option<&Segment> {
        self.entries.get(&id)
    }

    /// Makes reserved segments usable that recovery has found untouched.
    pub fn reuse_window(&mut self, id: SegmentId) {
        let shape = match self.entries[&id].kind {
            SegmentKind::Journal => Shape::Journal,
            _ => Shape::Striped,
        };
        self.usable[shape as usize].push_back(id);
    }

    /// A segment, to change it.
    pub fn get_mut(&mut self, id: SegmentId) -> Option<&mut Segment> {
        self.entries.get_mut(&id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.entries.iter().map(|(id, segment)| (*id, segment))
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
        assert!(self.chunks_total.insert(drive, chunks).is_none(), "{drive} is part of the pool already");
        self.free_chunks.insert(drive, (0..chunks).rev().collect());
        self.stripe = stripe;
    }

    /// The pool's shape.
    pub fn stripe(&self) -> Stripe {
        self.stripe
    }

    // --- what lives ------------------------------------------------------------------------------

    /// The maps name one more fragment.
    pub fn credit(&mut self, location: Location) {
        if let Some(segment) = self.entries.get_mut(&location.segment())
            && segment.state != SegmentState::Condemned
        {
            segment.live.add(location);
            self.live.add(location);
        }
    }

    /// The maps name so much less of a segment. A stale name of one that is gone counts for
    /// nothing.
    pub fn discard(&mut self, id: SegmentId, part: Occupancy) {
        if let Some(segment) = self.entries.get_mut(&id)
            && segment.state != SegmentState::Condemned
        {
            let left = segment.live.minus(part);
            segment.live = left.unwrap_or_else(|| panic!("{part:?} of {id} discarded once too often"));
            self.live = self.live.minus(part).expect("all are no less than one segment's");
        }
    }

    /// What the maps name, in all segments.
    pub fn live(&self) -> Occupancy {
        self.live
    }

    /// Nothing that counts names the segment: every fragment of it has been looked up.
    pub fn condemn(&mut self, id: SegmentId) {
        let segment = self.entries.get_mut(&id).expect("a victim is not freed before it is condemned");
        self.live = self.live.minus(segment.live).expect("all are no less than one segment's");
        segment.live = Occupancy::default();
        segment.state = SegmentState::Condemned;
    }

    // --- opening and closing ---------------------------------------------------------------------

    /// Takes a segment out of the window.
    pub fn open(
        &mut self,
        shape: Shape,
        kind: SegmentKind,
        claim: Claim,
    ) -> Option<(SegmentId, Rc<Geometry>)> {
        let usable = &mut self.usable[shape as usize];
        let kept = match (shape, claim) {
            (Shape::Journal, _) | (_, Claim::Last) => 0,
            (_, Claim::Checkpoint) => LAST_SEGMENTS,
            (_, Claim::LastResort) => LAST_SEGMENTS + 1,
            (_, Claim::Upkeep) => CHECKPOINT_SEGMENTS,
            (_, Claim::Host) => {
                self.window_when_formed[shape as usize].div_ceil(4).max(CHECKPOINT_SEGMENTS + 1)
            }
        };
        if usable.len() <= kept {
            return None;
        }
        let id = usable.pop_front()?;
        let segment = self.entries.get_mut(&id).expect("a window names segments that exist");
        segment.state = SegmentState::Open;
        segment.kind = kind;
        Some((id, segment.geometry.clone()))
    }

    /// Nothing more will be written into the segment.
    pub fn seal(&mut self, id: SegmentId, now_seconds: u64) {
        let segment = self.entries.get_mut(&id).expect("an open segment exists");
        segment.state = SegmentState::Sealed;
        segment.sealed_at = now_seconds;
    }

    /// What is left of the window is a checkpoint's.
    pub fn window_is_empty(&self) -> bool {
        self.usable[Shape::Striped as usize].len() <= CHECKPOINT_SEGMENTS
    }

    /// There is nothing left to open, and no room on `drives` for another window: every checkpoint
    /// takes some of what it needs.
    pub fn is_cornered(&self, drives: &[DriveId]) -> bool {
        self.window_is_empty() && self.placeable(drives) == 0
    }

    /// Half of the window has been opened: a checkpoint should form a new one.
    pub fn window_low(&self) -> bool {
        (0..2).any(|shape| self.usable[shape].len() * 2 < self.window_when_formed[shape])
    }

    // --- reserving -------------------------------------------------------------------------------

    /// Reserves segments on `drives` until the window of `shape` has `wanted`, or there is no room.
    pub fn form_window(
        &mut self,
        shape: Shape,
        wanted: usize,
        drives: &[DriveId],
        first_lsn: Lsn,
    ) -> Vec<SegmentId> {
        let kind = match shape {
            Shape::Striped => SegmentKind::Data,
            Shape::Journal => SegmentKind::Journal,
        };
        let mut added = Vec::new();
        while self.usable[shape as usize].len() + added.len() < wanted {
            let Some(room) = self.room(shape, drives) else { break };
            let Some(id) = self.numbers.next(|id| self.entries.contains_key(&id)) else { break };
            let geometry = self.place(room);
            self.entries.insert(id, Segment::reserved(geometry, kind, first_lsn));
            added.push(id);
        }
        added
    }

    /// The root that names these is durable: they may be opened.
    pub fn window_durable(&mut self, shape: Shape, added: Vec<SegmentId>) {
        self.usable[shape as usize].extend(added);
        self.window_when_formed[shape as usize] = self.usable[shape as usize].len();
    }

    /// Gives back the reserved segments of the journal.
    pub fn drop_journal_window(&mut self) {
        let journal = std::mem::take(&mut self.usable[Shape::Journal as usize]);
        journal.into_iter().for_each(|id| drop(self.free(id)));
    }

    /// Gives back reserved segments that lie on a drive which is not in `drives`, or have fewer
    /// parity columns than they could.
    pub fn drop_window_off(&mut self, drives: &[DriveId]) {
        for shape in 0..2 {
            let parity = self.parity_on(drives.len());
            let on_drives = |id: &SegmentId| {
                let geometry = &self.entries[id].geometry;
                geometry.lies_on(drives) && geometry.parity() >= parity
            };
            let (keep, give_back): (Vec<_>, Vec<_>) = self.usable[shape].iter().copied().partition(on_drives);
            self.usable[shape] = keep.into();
            give_back.into_iter().for_each(|id| drop(self.free(id)));
        }
    }

    /// Gives back reserved segments that could be wider, because there is a chunk beside them on a
    /// drive that has one more free. As many as a checkpoint needs stay, in case there are no
    /// numbers for others. Returns whether there were any.
    pub fn drop_narrow_window(&mut self, drives: &[DriveId]) -> bool {
        let full = self.stripe.columns(Shape::Striped).min(drives.len());
        let mut free: BTreeMap<DriveId, usize> =
            drives.iter().filter_map(|drive| Some((*drive, self.free_chunks.get(drive)?.len()))).collect();
        let mut could_be_wider = |id: &SegmentId| {
            let geometry = &self.entries[id].geometry;
            let lies_on = |drive: DriveId| geometry.columns.iter().any(|column| column.drive == drive);
            let beside = free.iter_mut().find(|(drive, free)| **free > 0 && !lies_on(**drive));
            beside.filter(|_| geometry.columns.len() < full).map(|(_, free)| *free -= 1).is_some()
        };
        let usable = &self.usable[Shape::Striped as usize];
        let narrow: Vec<SegmentId> = usable.iter().copied().filter(|id| could_be_wider(id)).collect();
        let dropped = narrow.len().min(usable.len().saturating_sub(CHECKPOINT_SEGMENTS + 1));
        self.usable[Shape::Striped as usize].retain(|id| !narrow[..dropped].contains(id));
        narrow[..dropped].iter().for_each(|id| drop(self.free(*id)));
        !narrow.is_empty()
    }

    // --- freeing ---------------------------------------------------------------------------------

    /// Segments that nothing needs.
    pub fn reclaimable(&self, floor: Lsn) -> Vec<SegmentId> {
        self.iter().filter(|(_, segment)| segment.is_reclaimable(floor)).map(|(id, _)| id).collect()
    }

    /// The segment is gone; its chunks may be reserved again. Returns what it was.
    pub fn free(&mut self, id: SegmentId) -> Segment {
        let segment = self.entries.remove(&id).expect("only existing segments are freed");
        self.numbers.freed(id);
        self.live = self.live.minus(segment.live).expect("all are no less than one segment's");
        assert_eq!(segment.pins, 0, "{id} is freed while it is being read");
        self.give_back(segment.geometry.columns.iter().copied());
        segment
    }

    // --- figures ---------------------------------------------------------------------------------

    /// Reserved striped segments that may be opened.
    pub fn usable_striped(&self) -> u64 {
        self.usable[Shape::Striped as usize].len() as u64
    }

    /// Chunks of all drives.
    pub fn chunks_total(&self) -> u64 {
        self.chunks_total.values().map(|count| u64::from(*count)).sum()
    }

    /// Chunks of these drives.
    pub fn chunks_on(&self, drives: &[DriveId]) -> u64 {
        drives.iter().filter_map(|drive| self.chunks_total.get(drive)).map(|count| u64::from(*count)).sum()
    }

    /// The table as of now.
    pub fn table(&self) -> BTreeMap<SegmentId, TableEntry> {
        self.entries.iter().map(|(id, segment)| (*id, segment.table_entry(*id))).collect()
    }
}

#[cfg(test)]
mod tests;
