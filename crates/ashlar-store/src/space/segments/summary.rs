//! Running totals of all segments, kept as each of them changes: nobody who asks walks a million
//! segments.
//!
//! Owns sums and orders that follow from the segments, and nothing else: [`Summary::of`] makes the
//! same from them, which an audit compares.
//!
//! 1. What a segment adds is a function of that segment alone ([`Rank`] and its fields).
//! 2. It is taken off before the segment changes, and added again after.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{DriveId, SECTOR_BYTES};
use ashlar_format::ids::Lsn;
use ashlar_format::location::{SLOTS_PER_SECTOR, SegmentId};
use ashlar_format::table::{Occupancy, SegmentKind};

use super::{Segment, SegmentState};

/// Classes of occupancy: segments of one class differ by less than this part in how much lives.
const CLASSES: u64 = 64;

/// Segments of one class that a search looks at: the oldest. All others of it are as full, and
/// younger.
const CANDIDATES_MAX: usize = 16;

/// Where a segment stands in the orders. It changes far more seldom than what lives in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rank {
    lives: bool,
    /// Which class of occupancy, if it may be collected.
    class: Option<u8>,
    /// Nobody has looked yet whether what hosts have written to it is worth to be compressed anew.
    is_as_written: bool,
}

impl Segment {
    /// Its rank, in a pool whose segments have so many rows.
    pub(super) fn rank(&self, segment_rows: u32) -> Rank {
        let lives = self.live != Occupancy::default();
        let may_be_collected = lives && self.state == SegmentState::Sealed && !self.is_unmovable;
        let slots =
            u64::from(segment_rows) * self.geometry.data() as u64 * u64::from(SLOTS_PER_SECTOR);
        let class =
            may_be_collected.then(|| (self.live.slots * CLASSES / slots).min(CLASSES - 1) as u8);
        let is_as_written = may_be_collected && self.kind == SegmentKind::Data && !self.is_settled;
        Rank { lives, class, is_as_written }
    }
}

/// Segments by how many of the level's parity columns are used up, if any are.
pub(super) type UsedBy = BTreeMap<usize, u64>;

/// What lies on one drive.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct OnDrive {
    columns: u32,
    parity_used: UsedBy,
    /// Rows of those of segments in which something lives, or may be written.
    rows: u64,
}

/// Segments that may be collected, by how much lives, each with the time of its sealing.
type ByOccupancy = [BTreeSet<(u64, SegmentId)>; CLASSES as usize];

/// Drives that are absent, as the count of parity that is used up has it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Away {
    drives: BTreeSet<DriveId>,
    /// Where that has changed, which ones were before it, and from which segment on they still are.
    before: Option<(BTreeSet<DriveId>, SegmentId)>,
}

impl Away {
    /// The absent drives, as the count has them of a segment.
    fn of(&self, id: SegmentId) -> &BTreeSet<DriveId> {
        match &self.before {
            Some((drives, from)) if id >= *from => drives,
            _ => &self.drives,
        }
    }
}

/// Sums and orders of all segments.
#[derive(PartialEq, Eq, Debug)]
pub struct Summary {
    segment_rows: u32,
    /// Parity columns of the pool's level.
    parity: usize,
    /// Sectors of data columns that have been written.
    data_sectors: u64,
    /// Columns of parity.
    parity_columns: u64,
    /// Rows of segments that a scrub has to look at.
    scrub_rows: u64,
    /// Bytes of sealed segments in which something lives, but for those of the journal, by their
    /// columns.
    bytes_by_width: BTreeMap<usize, u64>,
    /// Segments with fewer parity columns than the level's.
    thin: u64,
    /// Sectors that they lack, where something lives.
    lacking_sectors: u64,
    /// By number of the drive.
    drives: Vec<OnDrive>,
    away: Away,
    parity_used: UsedBy,
    /// Nothing that counts names these; by their newest batch.
    empty: BTreeSet<(Lsn, SegmentId)>,
    pages: ByOccupancy,
    others: ByOccupancy,
    unmovable: BTreeSet<SegmentId>,
    /// Those that hold what hosts have written, as they have written it, by the time of sealing.
    as_written: BTreeSet<(u64, SegmentId)>,
}

impl Summary {
    /// That of no segments.
    pub fn new(segment_rows: u32, parity: usize) -> Self {
        Summary {
            segment_rows,
            parity,
            data_sectors: 0,
            parity_columns: 0,
            scrub_rows: 0,
            bytes_by_width: BTreeMap::new(),
            thin: 0,
            lacking_sectors: 0,
            drives: Vec::new(),
            away: Away::default(),
            parity_used: UsedBy::new(),
            empty: BTreeSet::new(),
            pages: std::array::from_fn(|_| BTreeSet::new()),
            others: std::array::from_fn(|_| BTreeSet::new()),
            unmovable: BTreeSet::new(),
            as_written: BTreeSet::new(),
        }
    }

    /// That of these segments, in a pool like this one's.
    pub fn of<'a>(&self, segments: impl Iterator<Item = (SegmentId, &'a Segment)>) -> Self {
        let mut summary = Summary::new(self.segment_rows, self.parity);
        summary.away.clone_from(&self.away);
        summary.drives.resize(self.drives.len(), OnDrive::default());
        segments.for_each(|(id, segment)| summary.add(id, segment));
        summary
    }

    /// Adds a segment as it is.
    pub(super) fn add(&mut self, id: SegmentId, segment: &Segment) {
        self.count(id, segment, segment.rank(self.segment_rows), Sign::Plus);
    }

    /// Takes it off as it is.
    pub(super) fn remove(&mut self, id: SegmentId, segment: &Segment) {
        self.count(id, segment, segment.rank(self.segment_rows), Sign::Minus);
    }

    /// What lives in a segment has changed, and nothing else.
    pub(super) fn live_changed(&mut self, id: SegmentId, segment: &Segment, before: Rank) {
        let now = segment.rank(self.segment_rows);
        if now != before {
            self.count(id, segment, before, Sign::Minus);
            self.count(id, segment, now, Sign::Plus);
        }
    }

    fn count(&mut self, id: SegmentId, segment: &Segment, rank: Rank, sign: Sign) {
        let (rows, geometry) = (u64::from(segment.rows), &segment.geometry);
        let is_written = matches!(segment.state, SegmentState::Sealed | SegmentState::Condemned);
        let is_empty = is_written && !rank.lives;
        sign.count(&mut self.data_sectors, rows * geometry.data() as u64);
        sign.count(&mut self.parity_columns, geometry.parity() as u64);
        if rank.lives && matches!(segment.state, SegmentState::Sealed | SegmentState::Open) {
            sign.count(&mut self.scrub_rows, rows);
        }
        if rank.lives
            && segment.state == SegmentState::Sealed
            && segment.kind != SegmentKind::Journal
        {
            sign.sum_up(&mut self.bytes_by_width, geometry.columns.len(), segment.bytes());
        }
        let rows_needed = if is_empty { 0 } else { rows };
        let lacking = self.parity.saturating_sub(geometry.parity()) as u64;
        sign.count(&mut self.thin, u64::from(lacking > 0));
        sign.count(&mut self.lacking_sectors, rows_needed * lacking);
        for column in &geometry.columns {
            let drive = self.drive(column.drive);
            sign.count(&mut drive.rows, rows_needed);
            drive.columns = sign.of(drive.columns, 1);
        }
        self.count_parity_used(id, segment, sign);
        if is_empty {
            sign.place(&mut self.empty, (segment.last_lsn, id));
        }
        if let Some(class) = rank.class {
            let kind = if segment.kind.is_of_pages() { &mut self.pages } else { &mut self.others };
            sign.place(&mut kind[usize::from(class)], (segment.sealed_at, id));
        }
        if rank.is_as_written {
            sign.place(&mut self.as_written, (segment.sealed_at, id));
        }
        if segment.is_unmovable {
            sign.place(&mut self.unmovable, id);
        }
    }

    fn count_parity_used(&mut self, id: SegmentId, segment: &Segment, sign: Sign) {
        let used = self.parity_used_of(id, segment);
        if used > 0 {
            sign.count_one(&mut self.parity_used, used);
            for column in &segment.geometry.columns {
                sign.count_one(&mut self.drive(column.drive).parity_used, used);
            }
        }
    }

    /// Of the level's parity columns those that the segment lacks, or needs for columns on absent
    /// drives.
    pub(super) fn parity_used_of(&self, id: SegmentId, segment: &Segment) -> usize {
        let away = self.away.of(id);
        let on_absent =
            || segment.geometry.columns.iter().filter(|column| away.contains(&column.drive));
        let lost = if away.is_empty() { 0 } else { on_absent().count() };
        self.parity.saturating_sub(segment.geometry.parity()) + lost
    }

    /// These drives are absent, and no others. Where that is a change it counts so many of the
    /// `segments` anew, which are all from [`Self::recount_from`] on. Whether there are more.
    pub(super) fn set_away<'a>(
        &mut self,
        away: &BTreeSet<DriveId>,
        mut segments: impl Iterator<Item = (SegmentId, &'a Segment)>,
        count: usize,
    ) -> bool {
        if self.away.before.is_none() {
            if *away == self.away.drives {
                return false;
            }
            let before = std::mem::replace(&mut self.away.drives, away.clone());
            self.away.before = Some((before, SegmentId(0)));
        }
        for (id, segment) in segments.by_ref().take(count) {
            self.count_parity_used(id, segment, Sign::Minus);
            self.recounted_below(SegmentId(id.0 + 1));
            self.count_parity_used(id, segment, Sign::Plus);
        }
        match segments.next() {
            Some((next, _)) => self.recounted_below(next),
            None => self.away.before = None,
        }
        self.away.before.is_some() || *away != self.away.drives
    }

    fn recounted_below(&mut self, below: SegmentId) {
        let (_, from) = self.away.before.as_mut().expect("it is counting");
        *from = below;
    }

    /// The segment that the next [`Self::set_away`] begins with.
    pub(super) fn recount_from(&self) -> SegmentId {
        self.away.before.as_ref().map_or(SegmentId(0), |(_, from)| *from)
    }

    /// Segments by how many of the level's parity columns are used up, if any are.
    pub(super) fn parity_used(&self) -> &UsedBy {
        &self.parity_used
    }

    /// Segments with fewer parity columns than the level's.
    pub(super) fn thin(&self) -> u64 {
        self.thin
    }

    /// Each drive on which columns lie: how many, and the same of the segments that they are of.
    pub(super) fn on_drives(&self) -> impl Iterator<Item = (DriveId, u32, &UsedBy)> {
        let used = self.drives.iter().enumerate().filter(|(_, on)| on.columns > 0);
        used.map(|(number, on)| (DriveId(number as u16), on.columns, &on.parity_used))
    }

    fn drive(&mut self, drive: DriveId) -> &mut OnDrive {
        let number = usize::from(drive.0);
        if self.drives.len() <= number {
            self.drives.resize(number + 1, OnDrive::default());
        }
        &mut self.drives[number]
    }

    fn on(&self, drive: DriveId) -> Option<&OnDrive> {
        self.drives.get(usize::from(drive.0))
    }

    /// Rows of every segment.
    pub(super) fn segment_rows(&self) -> u32 {
        self.segment_rows
    }

    // --- questions -------------------------------------------------------------------------------

    /// Bytes of data columns that have been written.
    pub fn data_bytes(&self) -> u64 {
        self.data_sectors * SECTOR_BYTES as u64
    }

    /// Columns of parity that segments have.
    pub fn parity_columns(&self) -> u64 {
        self.parity_columns
    }

    /// Rows that a scrub has to look at.
    pub fn scrub_rows(&self) -> u64 {
        self.scrub_rows
    }

    /// Bytes of sealed segments in which something lives, the journal's excepted, that have fewer
    /// columns than `width`.
    pub fn bytes_narrower(&self, width: usize) -> u64 {
        self.bytes_by_width.range(..width).map(|(_, bytes)| bytes).sum()
    }

    /// Columns of the widest of them; 0 if there is none.
    pub fn columns_most(&self) -> usize {
        self.bytes_by_width.last_key_value().map_or(0, |(columns, _)| *columns)
    }

    /// Drives that any segment has a column on.
    pub fn drives_used(&self) -> impl Iterator<Item = DriveId> {
        self.on_drives().map(|(drive, ..)| drive)
    }

    /// Whether any segment has a column on the drive.
    pub fn is_used(&self, drive: DriveId) -> bool {
        self.on(drive).is_some_and(|on| on.columns > 0)
    }

    /// Whether any segment has fewer parity columns than the level's.
    pub fn has_thin(&self) -> bool {
        self.thin > 0
    }

    /// Bytes of columns on `drives` and of parity that is lacking, of segments that are needed.
    pub fn bytes_to_restore(&self, drives: &[DriveId]) -> u64 {
        let on_drives: u64 =
            drives.iter().filter_map(|drive| self.on(*drive)).map(|on| on.rows).sum();
        (on_drives + self.lacking_sectors) * SECTOR_BYTES as u64
    }

    /// Segments that nothing names, whose batches are all below `floor`.
    pub fn empty_below(&self, floor: Lsn) -> impl Iterator<Item = SegmentId> {
        self.empty.range(..(floor, SegmentId(0))).map(|(_, id)| *id)
    }

    /// Whether there is a segment that nothing names.
    pub fn has_empty(&self) -> bool {
        !self.empty.is_empty()
    }

    /// The segment that was sealed first of those that hold what hosts have written, if nobody has
    /// found that to compress it anew is not worth emptying it.
    pub fn oldest_written(&self) -> Option<SegmentId> {
        self.as_written.first().map(|(_, id)| *id)
    }

    /// Segments that hold what cannot be read.
    pub fn unmovable(&self) -> impl Iterator<Item = SegmentId> {
        self.unmovable.iter().copied()
    }

    /// Of segments of which about as much lives, the first that `choose` takes of the oldest: so
    /// many choices whatever the number of segments.
    pub fn one_of_each<C>(
        &self,
        choose: impl Fn(SegmentId) -> Option<C>,
    ) -> impl Iterator<Item = C> {
        let classes = self.pages.iter().chain(&self.others);
        classes.filter_map(move |class| {
            class.iter().take(CANDIDATES_MAX).find_map(|(_, id)| choose(*id))
        })
    }
}

/// Whether something comes or goes.
#[derive(Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

impl Sign {
    fn count(self, sum: &mut u64, part: u64) {
        *sum = match self {
            Sign::Plus => *sum + part,
            Sign::Minus => sum.checked_sub(part).expect("what goes has come"),
        };
    }

    fn of(self, sum: u32, part: u32) -> u32 {
        match self {
            Sign::Plus => sum + part,
            Sign::Minus => sum.checked_sub(part).expect("what goes has come"),
        }
    }

    fn count_one(self, by: &mut UsedBy, used: usize) {
        self.sum_up(by, used, 1);
    }

    fn sum_up(self, by: &mut BTreeMap<usize, u64>, key: usize, part: u64) {
        let sum = by.entry(key).or_default();
        self.count(sum, part);
        if *sum == 0 {
            by.remove(&key);
        }
    }

    fn place<T: Ord>(self, set: &mut BTreeSet<T>, it: T) {
        let is_new = match self {
            Sign::Plus => set.insert(it),
            Sign::Minus => set.remove(&it),
        };
        assert!(is_new, "each comes once and goes once");
    }
}

#[cfg(test)]
mod tests;
