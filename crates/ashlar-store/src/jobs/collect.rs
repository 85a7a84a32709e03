//! Garbage collection empties segments of which little lives.
//!
//! It empties a segment in parts ([`emptying`]): upkeep does between two of them what is more
//! urgent. Collection for space has no pause between two; for a rebuild or a rebalance hosts have
//! their share of the time there.

pub(crate) mod emptying;
mod pages;
pub(crate) mod policy;
pub(crate) mod worth;

use std::cell::RefCell;
use std::ops::Range;

use ashlar_block::{Cause, DriveId, IoError, SECTOR_BYTES, World};
use ashlar_format::header::{BatchHeader, Record, RecordKind};
use ashlar_format::ids::Key;
use ashlar_format::location::{Pointer, SegmentId};
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use policy::{Candidate, PlacementView};

use crate::pool::Pool;
use crate::reader::neighbours::{Fragments, Stored, groups, range_within};
use crate::reader::scan::Generation;
use crate::space::segments::{Claim, Pin, Segments, pin};
use crate::writer::batch::Item;
use crate::writer::compress::{Fragment, FragmentBytes};
use crate::writer::pages::AppendError;

/// Fragments that are looked up, or that take what was read of them, in one turn: hosts' operations
/// wait for its end.
const RECORDS_IN_A_TURN: usize = 32;

/// Sectors between two fragments that are read along with them: a read more costs a drive more.
const GAP_SECTORS_MAX: u32 = 8;

/// How the collection of a victim ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Collected {
    /// Nothing that counts names it any more.
    Emptied,
    /// The next checkpoint empties it.
    LeftToCheckpoint,
    /// It holds what cannot be read. It stays.
    Unmovable,
}

/// A fragment that is to be moved.
#[derive(Clone, Copy)]
struct Live {
    key: Key,
    pointer: Pointer,
}

impl Stored for Live {
    fn pointer(&self) -> Pointer {
        self.pointer
    }
}

impl Live {
    fn moved(self, bytes: FragmentBytes) -> Item {
        let Pointer { location, crc, .. } = self.pointer;
        let fragment = Fragment { bytes, codec: location.codec(), crc };
        Item { kind: RecordKind::Move { from: location }, key: self.key, fragment: Some(fragment) }
    }
}

/// Why a victim could not be emptied.
enum Stop {
    Append(AppendError),
    Unreadable(IoError),
}

impl From<AppendError> for Stop {
    fn from(error: AppendError) -> Self {
        Stop::Append(error)
    }
}

impl From<IoError> for Stop {
    fn from(error: IoError) -> Self {
        Stop::Unreadable(error)
    }
}

/// What becomes of the rest of a victim where something of it cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// It stays where it is: the victim gives back nothing in any case.
    Stays,
    /// It is moved: where it is it lacks redundancy.
    Moves,
}

/// What of a victim could not be read.
struct Unread {
    rest: Rest,
    error: Option<IoError>,
}

impl Unread {
    fn none(rest: Rest) -> Self {
        Unread { rest, error: None }
    }

    /// Notes an error, behind which the work goes on.
    fn keep(&mut self, error: IoError) {
        self.error.get_or_insert(error);
    }

    /// Notes errors. Returns one if that is the end of the work.
    fn meets(&mut self, errors: Vec<IoError>) -> Result<(), IoError> {
        errors.into_iter().for_each(|error| self.keep(error));
        match self.rest {
            Rest::Stays => self.is_all(),
            Rest::Moves => Ok(()),
        }
    }

    /// Whether everything has been read.
    fn is_all(&mut self) -> Result<(), IoError> {
        self.error.take().map_or(Ok(()), Err)
    }
}

impl<W: World> Pool<W> {
    /// A pool that has lost a drive may have no more room than checkpoints need, and each of them
    /// takes some of that. Were it not for collection, the last would find none, and halt the pool.
    fn claim_for_collecting(&self, victim: SegmentId) -> Claim {
        let is_sparse = self.candidate(victim).is_some_and(|candidate| candidate.is_sparse());
        let is_cornered = || self.space.segments.borrow().is_cornered(&self.allocation_targets());
        if is_sparse && is_cornered() { Claim::LastResort } else { Claim::Upkeep }
    }

    /// Bytes of chunks that there are more when the segment has been collected.
    pub fn gain_of_collecting(&self, victim: SegmentId) -> u64 {
        let gain = self.candidate(victim).map_or(0.0, |candidate| candidate.gain());
        (gain * self.identity.chunk_bytes() as f64) as u64
    }

    fn candidate(&self, id: SegmentId) -> Option<Candidate> {
        let segments = self.space.segments.borrow();
        Candidate::of(id, segments.get(id)?, &self.view(&segments, &self.allocation_targets()))
    }

    /// How things stand for candidates, if segments go to `targets`.
    pub fn view(&self, segments: &Segments, targets: &[DriveId]) -> PlacementView {
        let short = segments.short_of_chunks(targets, self.marks().collect);
        PlacementView {
            rows_max: self.identity.segment_rows,
            floor: self.writer.lsns.floor(),
            chunks_per_column: segments.chunks_per_column(&short, targets),
            columns_max: segments.data_for_moves().max(self.space.narrowest_data.get() as u64),
            short,
        }
    }

    /// The header of the batch that begins with the first of `rows`, and those behind it that lie
    /// in the same rows of the first column: they are read at once.
    pub(crate) async fn read_headers(
        &self,
        id: SegmentId,
        rows: Range<u32>,
    ) -> Result<Vec<BatchHeader>, IoError> {
        let (_pin, geometry) = self.pinned(id);
        let end = rows.end.min(self.identity.segment_rows);
        let (secret, generation) = (&self.identity.secret, self.generation(id));
        let header_at = |sectors: &[u8], row: u32| {
            let at = (row - rows.start) as usize * SECTOR_BYTES;
            let header = BatchHeader::decode(secret, sectors.get(at..)?).ok()?;
            let is_right = (header.segment, header.row) == (id, row)
                && generation.is_of(header.incarnation, header.first_lsn)
                && self.is_of_a_root(header.incarnation);
            is_right.then_some(header)
        };
        let first = RefCell::new(None);
        let right = |sectors: &[u8]| {
            *first.borrow_mut() = header_at(sectors, rows.start);
            first.borrow().is_some()
        };
        let read = self.array.read_checked(&geometry, 0, rows.start..end, right).await;
        let (sectors, _) = read.map_err(|error| {
            let (pool, row) = (self.name(), rows.start);
            let why = format!("header of {id} row {row} of pool '{pool}': {error}");
            IoError::new(Cause::Unrecovered, why)
        })?;
        // What is not right there may be had in another way, when its turn has come.
        let behind = |header: &BatchHeader| header_at(&sectors, header.row + header.rows);
        Ok(std::iter::successors(first.take(), behind).collect())
    }

    /// The use of a segment that its batches are of.
    pub fn generation(&self, id: SegmentId) -> Generation {
        Generation::Since(
            self.space.segments.borrow().get(id).expect("upkeep alone frees segments").first_lsn,
        )
    }

    fn pinned(&self, id: SegmentId) -> (Pin, std::rc::Rc<ashlar_raid::Geometry>) {
        pin(&self.space.segments, id).expect("upkeep alone frees segments")
    }

    /// The records whose fragments the map names, as moves; and why some could not be read. All of
    /// them are read at once, but no turn takes more than some.
    async fn live_items(&self, records: &[Record]) -> (Vec<Item>, Vec<IoError>) {
        let (mut live, mut errors) = (Vec::new(), Vec::new());
        for records in records.chunks(RECORDS_IN_A_TURN) {
            let values = self.lookup_each(records.iter().map(|record| record.key)).await;
            for (record, value) in records.iter().zip(values) {
                match value {
                    Ok(Some(pointer)) if Some(pointer.location) == record.location => {
                        live.push(Live { key: record.key, pointer });
                    }
                    Ok(_) => {}
                    Err(error) => errors.push(error),
                }
            }
            self.world.yield_now().await;
        }
        live.sort_unstable_by_key(|live| live.pointer.location);
        let (mut items, mut in_this_turn) = (Vec::with_capacity(live.len()), 0);
        let groups = groups(&live, GAP_SECTORS_MAX);
        let mut reads: FuturesOrdered<_> = groups.map(|group| self.read_live(group)).collect();
        while let Some(group) = reads.next().await {
            in_this_turn += group.len();
            for item in group {
                item.map_or_else(|error| errors.push(error), |item| items.push(item));
            }
            if in_this_turn >= RECORDS_IN_A_TURN {
                in_this_turn = 0;
                self.world.yield_now().await;
            }
        }
        (items, errors)
    }

    /// Reads neighbours in one column, as moves.
    async fn read_live(&self, group: &[Live]) -> Vec<Result<Item, IoError>> {
        let (_pin, geometry) = self.pinned(group[0].pointer.location.segment());
        match self.read_fragments(&geometry, group).await {
            Ok(Fragments::Together(sectors)) => {
                let sectors = sectors.freeze();
                let bytes = |live: &Live| sectors.slice(range_within(group, live.pointer.location));
                group
                    .iter()
                    .map(|live| Ok(live.moved(FragmentBytes::Shared(bytes(live)))))
                    .collect()
            }
            Ok(Fragments::Each(stored)) => {
                let each = group.iter().zip(stored);
                each.map(|(live, stored)| Ok(live.moved(FragmentBytes::Own(stored?)))).collect()
            }
            Err(error) => vec![Err(error)],
        }
    }
}

#[cfg(test)]
mod tests;
