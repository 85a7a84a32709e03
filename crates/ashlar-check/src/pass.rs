//! The look at every batch of a segment, front to back, and at all that the maps name of it.

use std::collections::BTreeSet;
use std::ops::Range;

use ashlar_block::{Device, SECTOR_BYTES};
use ashlar_format::header::{BatchHeader, HEADER_SECTORS_MAX};
use ashlar_format::ids::Lsn;
use ashlar_format::location::{Location, Pointer};
use ashlar_format::table::SegmentState;
use ashlar_raid::{Geometry, Recipes, Ways};

use crate::batch::{Batch, Looked, Wrong};
use crate::named::Named;
use crate::pool::Pool;
use crate::report::{Kind, shown};
use crate::rows::Rows;
use crate::segments::{Count, Segment};

/// Column of every header.
const HEADER_COLUMN: usize = 0;

/// Looks at everything of one segment. Returns the bytes of rows that were read.
pub(crate) async fn check_segment<D: Device>(
    pool: &Pool<D>,
    named: &Named<'_, D>,
    segment: Segment,
) -> u64 {
    let (geometry, extents) = {
        let segments = named.segments.borrow();
        (segments.geometry(&segment), segments.accepted(&segment))
    };
    let places = named.of(segment.id);
    let mut pass = Pass {
        pool,
        segment,
        geometry: &geometry,
        recipes: Recipes::new(geometry.data(), HEADER_COLUMN),
        is_seen: vec![false; places.len()],
        places,
        newest: None,
        gap: None,
    };
    let missing =
        geometry.columns.iter().filter(|column| pool.offset(**column, 0).is_none()).count();
    pool.findings.count(|seen| seen.columns_missing += missing as u64);
    pass.check_places();
    let mut rows = Rows::new(pool, &geometry);
    if pass.is_walked() {
        for extent in extents {
            pass.extent(&mut rows, extent.row..extent.row + extent.rows).await;
        }
        pool.findings.count(|seen| seen.bytes += rows.read_bytes);
    }
    pass.check_unseen().await;
    rows.read_bytes
}

/// Whether anything of it is read: something lives in it, by the table. What nothing lives in may
/// be written over by the next start.
pub(crate) fn is_walked(segment: &Segment) -> bool {
    let has_rows =
        matches!(segment.state, SegmentState::Sealed | SegmentState::Open) && segment.rows > 0;
    has_rows && segment.counted != Count::default()
}

struct Pass<'a, D> {
    pool: &'a Pool<D>,
    segment: Segment,
    geometry: &'a Geometry,
    recipes: Recipes,
    /// What the maps name of it, in the order of places.
    places: Vec<Pointer>,
    /// Which of that some header has.
    is_seen: Vec<bool>,
    /// The newest batch so far.
    newest: Option<Lsn>,
    /// Rows in which no header was found.
    gap: Option<Range<u32>>,
}

impl<D: Device> Pass<'_, D> {
    fn is_walked(&self) -> bool {
        is_walked(&self.segment)
    }

    /// Everything in it was whole when the root was written.
    fn is_settled(&self) -> bool {
        self.pool.root.clean || self.segment.last_lsn < self.pool.root.replay_floor
    }

    /// The batch is to be replayed at the next start.
    fn is_to_be_replayed(&self, lsn: Lsn) -> bool {
        !self.pool.root.clean && lsn >= self.pool.root.replay_floor
    }

    /// Places that are named twice, or lie over each other.
    fn check_places(&self) {
        let end = |location: Location| u64::from(location.slot()) + location.slots();
        for pair in self.places.windows(2) {
            let (one, next) = (pair[0].location, pair[1].location);
            if one.column() == next.column() && u64::from(next.slot()) < end(one) {
                let text = format!(
                    "{} and {} are both named, and lie over each other",
                    shown(one),
                    shown(next)
                );
                self.pool.findings.add_of_pool(Kind::NamedTwice, text);
            }
        }
    }

    // --- batches ---------------------------------------------------------------------------------

    async fn extent(&mut self, rows: &mut Rows<'_, D>, extent: Range<u32>) {
        let mut row = extent.start;
        while row < extent.end {
            let header_rows = row..(row + HEADER_SECTORS_MAX as u32).min(self.pool.rows);
            rows.load(header_rows, extent.end).await;
            let Some(batch) = self.batch_at(rows, row) else {
                let start = self.gap.take().map_or(row, |gap| gap.start);
                self.gap = Some(start..row + 1);
                row += 1;
                continue;
            };
            self.end_gap(batch.header.lsn);
            rows.load(batch.rows(), extent.end).await;
            self.batch(rows, &batch, extent.end);
            row += batch.header.rows;
        }
        if self.is_settled() {
            self.tell_gap();
        }
        self.gap = None;
    }

    /// A batch follows rows without a header. Batches come in the order of their numbers: what lies
    /// before one that was whole was whole, too.
    fn end_gap(&mut self, lsn: Lsn) {
        if self.is_settled() || !self.is_to_be_replayed(lsn) {
            self.tell_gap();
        }
        self.gap = None;
    }

    fn tell_gap(&mut self) {
        let Some(gap) = self.gap.take() else { return };
        let chunk = self.geometry.columns[HEADER_COLUMN];
        let text = format!(
            "{}: no batch begins in rows {gap:?}, and one should: its header can neither be read nor restored",
            self.segment.id
        );
        self.pool.tell(Kind::Header, chunk, gap.start, gap.end - gap.start, true, &text);
    }

    fn batch(&mut self, rows: &Rows<'_, D>, batch: &Batch, end: u32) {
        let header = &batch.header;
        self.check_header(batch, end);
        self.newest = Some(header.lsn);
        self.see_places(batch);
        if self.is_to_be_replayed(header.lsn) {
            self.pool.findings.count(|seen| seen.batches_to_replay += 1);
            return self.look_later(batch);
        }
        let looked = batch.look(rows);
        self.pool.findings.count(|seen| {
            seen.batches += 1;
            seen.sectors_restored += looked.restored;
        });
        self.tell_looked(&looked);
    }

    /// What the root names of a batch that is to be replayed is looked at by itself.
    fn look_later(&mut self, batch: &Batch) {
        for location in batch.header.records.iter().filter_map(|record| record.location) {
            if let Ok(at) = self.places.binary_search_by_key(&location, |place| place.location) {
                self.is_seen[at] = false;
            }
        }
    }

    fn check_header(&self, batch: &Batch, end: u32) {
        let header = &batch.header;
        let later = !self.pool.root.clean && self.segment.state == SegmentState::Open;
        let same_shape = header.geometry.as_ref().is_none_or(|of| {
            (of.data(), of.parity()) == (self.geometry.data(), self.geometry.parity())
        });
        let facts = [
            (header.row + header.rows <= end, "reaches beyond the rows that the table says"),
            (
                self.newest.is_none_or(|newest| newest < header.lsn),
                "has no higher number than the one before",
            ),
            (header.first_lsn <= header.lsn, "is older than its segment's first one"),
            (
                header.lsn <= self.segment.last_lsn || later,
                "is newer than the last one that the table says",
            ),
            (header.complete_through < header.lsn, "says of itself that it was complete"),
            (same_shape, "has other columns than the table says"),
            (batch.overlap().is_none(), "has fragments that lie over each other"),
        ];
        for (_, what) in facts.iter().filter(|(holds, _)| !holds) {
            let text =
                format!("{}, row {}: the {} {what}", self.segment.id, header.row, header.lsn);
            self.pool.findings.add_of_pool(Kind::Order, text);
        }
    }

    /// What the maps name of the batch is what its header says.
    fn see_places(&mut self, batch: &Batch) {
        for record in &batch.header.records {
            let Some(location) = record.location else { continue };
            let place = Pointer { location, crc: record.crc };
            if let Ok(at) = self.places.binary_search(&place) {
                self.is_seen[at] = true;
            }
        }
    }

    fn tell_looked(&self, looked: &Looked) {
        let mut wrong = looked.wrong.clone();
        wrong.sort_unstable();
        self.tell_wrong(&wrong);
        looked.lost.iter().for_each(|location| self.tell_lost(*location));
    }

    /// Tells of wrong sectors, of those in a row at once.
    fn tell_wrong(&self, wrong: &[Wrong]) {
        let is_next = |one: &Wrong, next: &Wrong| {
            let same = |of: &Wrong| (of.column, of.kind, of.is_unreadable, of.is_lost);
            same(one) == same(next) && one.row + 1 == next.row
        };
        for run in wrong.chunk_by(is_next) {
            let first = run[0];
            let how = if first.is_unreadable { "cannot be read" } else { "is wrong" };
            let after =
                if first.is_lost { "nothing gives it back" } else { "parity gives it back" };
            let text = format!(
                "{}, row {}, column {}: {} {how}; {after}",
                self.segment.id,
                first.row,
                first.column,
                noun(first.kind)
            );
            let chunk = self.geometry.columns[first.column];
            self.pool.tell(first.kind, chunk, first.row, run.len() as u32, first.is_lost, &text);
        }
    }

    /// Tells of a fragment that no combination of what is there gives back.
    fn tell_lost(&self, location: Location) {
        let is_named = self.places.binary_search_by_key(&location, |place| place.location).is_ok();
        let what = if is_named { "which the maps name" } else { "which nothing names any more" };
        let text = format!("{}, {what}, can neither be read nor restored", shown(location));
        let (chunk, sectors) = (self.geometry.columns[location.column()], location.sectors());
        if self.pool.member(chunk.drive).is_none() {
            let (first, count) = (sectors.start, sectors.len() as u32);
            self.pool.tell(Kind::Fragment, chunk, first, count, true, &text);
        } else if is_named {
            self.pool.findings.add_of_pool(Kind::Fragment, text);
        }
    }

    /// Finds the batch that begins at `row`, in any way that its header can be had.
    fn batch_at(&self, rows: &Rows<'_, D>, row: u32) -> Option<Batch> {
        let ways = self.header_ways(rows, row..row + 1);
        let as_it_is = ways.first_sector(BatchHeader::MAGIC);
        as_it_is.and_then(|first| self.batch_from(rows, first, row)).or_else(|| {
            let firsts = ways.first_sectors(BatchHeader::MAGIC);
            firsts.iter().find_map(|first| self.batch_from(rows, first, row))
        })
    }

    fn batch_from(&self, rows: &Rows<'_, D>, first: &[u8], row: u32) -> Option<Batch> {
        let prelude = BatchHeader::prelude(first)?;
        let is_of_it = (prelude.segment, prelude.row) == (self.segment.id, row)
            && prelude.first_lsn >= self.segment.first_lsn;
        let rest = row + 1..row + prelude.sectors as u32;
        if !is_of_it || rest.end > self.pool.rows {
            return None;
        }
        let mut found = None;
        let mut accept = |rest: &[u8]| {
            let bytes = [first, rest].concat();
            let header = BatchHeader::decode(&self.pool.secret, &bytes).ok();
            let header = header.filter(|header| header.fits(self.geometry.data(), self.pool.rows));
            found = header.map(|header| {
                let header_bytes = bytes[..header.bytes()].to_vec();
                Batch { header, header_bytes }
            });
            found.is_some()
        };
        if rest.is_empty() {
            accept(&[]);
        } else {
            self.header_ways(rows, rest).find(accept);
        }
        found
    }

    /// Every way to have the sectors of the column of headers.
    fn header_ways<'s>(&'s self, rows: &'s Rows<'_, D>, span: Range<u32>) -> Ways<'s> {
        let mut ways = Ways::new(&self.recipes);
        for row in span {
            let columns = 0..self.geometry.columns.len();
            ways.add_row(columns.map(|column| rows.sector(column, row).unwrap_or_default()));
        }
        ways
    }

    // --- what the maps name ----------------------------------------------------------------------

    /// What no header has that was looked at: it has to be there all the same.
    async fn check_unseen(&self) {
        let unseen = self.places.iter().zip(&self.is_seen).filter(|(_, is_seen)| !**is_seen);
        let unseen: BTreeSet<Pointer> = unseen.map(|(place, _)| *place).collect();
        for place in unseen {
            self.pool.findings.count(|seen| {
                seen.bytes += (place.location.sectors().len() * SECTOR_BYTES) as u64;
            });
            let what = "what the maps name";
            let had = self.pool.fragment(self.geometry, place, Kind::Fragment, what).await;
            let is_there = !matches!(had, crate::pool::Had::Not);
            if is_there && self.is_walked() && self.is_settled() {
                let text =
                    format!("{} is named, and no header of it says that", shown(place.location));
                self.pool.findings.add_of_pool(Kind::NoRecord, text);
            }
        }
    }
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Header => "a header",
        Kind::Parity => "parity",
        Kind::Padding => "what should be zeros",
        _ => "a fragment",
    }
}
