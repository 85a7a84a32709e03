//! Garbage collection: emptying segments of which little lives.

use std::cell::RefCell;

use ashlar_block::{Cause, DriveId, IoError, World};
use futures_util::future::{join_all, try_join_all};

use crate::append::{BatchRoom, StreamId};
use crate::batch::{Item, batch_rows_max, rows_of};
use crate::compress::{Fragment, FragmentBytes};
use crate::format::header::{BatchHeader, HEADER_SECTORS_MAX, RECORDS_MAX, Record, RecordKind};
use crate::format::location::{Pointer, SegmentId};
use crate::format::table::{SegmentKind, SegmentState};
use crate::map::shard::PageOwner;
use crate::neighbours::{Stored, groups, range_within};
use crate::pages::AppendError;
use crate::pool::Pool;
use crate::scan::Generation;
use crate::segments::{Claim, Pin, Segment, Segments, pin};
use crate::types::{Key, Lsn, SHARD_COUNT, ShardId};

/// Fragments that are looked up and read at a time: hosts' operations wait for the end of that turn.
const RECORDS_AT_A_TIME: usize = 32;

/// Pages of the map that are moved at a time.
const PAGES_AT_A_TIME: usize = 128;

/// A segment that could be collected.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Candidate {
    pub id: SegmentId,
    /// Part of it that lives.
    pub live: f64,
    /// Unix seconds.
    pub sealed_at: u64,
    /// Chunks that come back: those on lost drives do not.
    pub chunks: f64,
    /// Chunks that what lives takes elsewhere.
    pub taken: f64,
}

/// How things stand for candidates.
pub(crate) struct Market<'a> {
    /// Rows of a full segment.
    pub rows_max: u32,
    /// What is numbered from here on is not published everywhere.
    pub floor: Lsn,
    /// Where to segments may go.
    pub homes: &'a [DriveId],
    /// Chunks of a segment for each of its data columns, as it is placed now.
    pub chunks_per_column: f64,
}

impl Candidate {
    /// The candidate that a segment is, if it can be collected: sealed, published, and not wholly alive.
    ///
    /// Headers and ends of rows are not garbage: copies need them as well. So what lives is compared by the rows
    /// that it takes when it is written anew.
    pub fn of(id: SegmentId, segment: &Segment, market: &Market) -> Option<Self> {
        let ready = segment.state == SegmentState::Sealed
            && segment.last_lsn < market.floor
            && segment.live.slots > 0;
        let (data, rows_max) = (segment.geometry.data(), market.rows_max);
        let live = rows_of(segment.live, data, batch_rows_max(data, rows_max)) / f64::from(rows_max);
        let chunks = segment.columns_on(market.homes) as f64;
        let taken = live * data as f64 * market.chunks_per_column;
        let sealed_at = segment.sealed_at;
        (ready && taken < LIVE_MAX * chunks).then_some(Candidate { id, live, sealed_at, chunks, taken })
    }

    /// Whether collecting it is sure to gain more than it takes, so that the last segments may be taken for it.
    pub fn is_sparse(&self) -> bool {
        self.taken <= LAST_RESORT_LIVE_MAX * self.chunks
    }

    /// Chunks that there are more when it has been collected.
    fn gain(&self) -> f64 {
        self.chunks - self.taken
    }

    /// Benefit of collecting it over its cost: space gained times age, over reading it all and writing what lives
    /// (Rosenblum and Ousterhout, "The design and implementation of a log-structured file system", section 3.5).
    fn worth(&self, now: u64) -> f64 {
        let age = now.saturating_sub(self.sealed_at) as f64 + 1.0;
        self.gain() * age / (1.0 + self.live)
    }
}

/// Part of a segment's chunks that what lives may take elsewhere: above it, collecting gains too little for what it costs.
const LIVE_MAX: f64 = 0.95;

/// Likewise: above it, collecting may gain less than the checkpoint takes that frees the segment.
const LAST_RESORT_LIVE_MAX: f64 = 0.5;

/// The candidate that is most worth collecting.
pub(crate) fn choose_victim(candidates: impl Iterator<Item = Candidate>, now: u64) -> Option<SegmentId> {
    candidates.max_by(|a, b| a.worth(now).total_cmp(&b.worth(now))).map(|candidate| candidate.id)
}

/// The candidate that gains most, however young it is, if that is surely more than it takes.
pub(crate) fn choose_last_resort(candidates: impl Iterator<Item = Candidate>) -> Option<SegmentId> {
    let sparse = candidates.filter(Candidate::is_sparse);
    sparse.max_by(|a, b| a.gain().total_cmp(&b.gain())).map(|candidate| candidate.id)
}

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

/// A page of the map that is to be moved.
#[derive(Clone, Copy)]
struct MapPage {
    shard: ShardId,
    owner: PageOwner,
    at: Pointer,
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

impl<W: World> Pool<W> {
    /// Moves what lives in the segment elsewhere.
    pub async fn collect(&self, victim: SegmentId) -> Result<Collected, AppendError> {
        // A checkpoint on the way, for a drive that is lost, must not free what has become empty.
        let _pin = self.pinned(victim);
        let kind = self.segments.borrow().get(victim).map(|segment| segment.kind).expect("a victim exists");
        let claim = self.claim_for_collecting(victim);
        let emptied = match kind {
            SegmentKind::Metadata => self.relocate_pages(victim, claim).await,
            SegmentKind::Data | SegmentKind::Moved | SegmentKind::Journal => {
                self.move_live(victim, self.temper.stream_of_survivors(kind), claim).await
            }
        };
        match emptied {
            Ok(()) => {
                self.count(|counters| counters.segments_collected += 1);
                if kind == SegmentKind::Metadata {
                    return Ok(Collected::LeftToCheckpoint);
                }
                self.segments.borrow_mut().condemn(victim);
                Ok(Collected::Emptied)
            }
            Err(Stop::Append(error)) => Err(error),
            Err(Stop::Unreadable(error)) => {
                tracing::warn!("{victim} holds what cannot be read and is kept: {error}");
                self.unmovable.borrow_mut().insert(victim);
                Ok(Collected::Unmovable)
            }
        }
    }

    /// A pool that has lost a drive may have no more room than checkpoints need, and each of them takes some of that. Were it
    /// not for collection, the last would find none, and halt the pool.
    fn claim_for_collecting(&self, victim: SegmentId) -> Claim {
        let is_sparse = self.candidate(victim).is_some_and(|candidate| candidate.is_sparse());
        let is_cornered = || self.segments.borrow().is_cornered(&self.homes());
        if is_sparse && is_cornered() { Claim::LastResort } else { Claim::Upkeep }
    }

    /// Bytes of chunks that there are more when the segment has been collected.
    pub fn gain_of_collecting(&self, victim: SegmentId) -> u64 {
        let gain = self.candidate(victim).map_or(0.0, |candidate| candidate.gain());
        (gain * self.identity.chunk_bytes() as f64) as u64
    }

    fn candidate(&self, id: SegmentId) -> Option<Candidate> {
        let (segments, homes) = (self.segments.borrow(), self.homes());
        Candidate::of(id, segments.get(id)?, &self.market(&segments, &homes))
    }

    /// How things stand for candidates, if segments go to `homes`.
    pub fn market<'a>(&self, segments: &Segments, homes: &'a [DriveId]) -> Market<'a> {
        Market {
            rows_max: self.identity.segment_rows,
            floor: self.log.floor(),
            homes,
            chunks_per_column: segments.chunks_per_column(homes.len()),
        }
    }

    async fn move_live(&self, victim: SegmentId, to: StreamId, claim: Claim) -> Result<(), Stop> {
        let records = self.records_of(victim).await?;
        let mut items = Vec::new();
        for chunk in records.chunks(RECORDS_AT_A_TIME) {
            items.extend(self.live_items(chunk).await?);
            self.move_items(to, claim, &mut items, RECORDS_MAX).await?;
            self.world.yield_now().await;
        }
        self.move_items(to, claim, &mut items, 0).await
    }

    /// The fragments that the segment's headers name.
    async fn records_of(&self, victim: SegmentId) -> Result<Vec<Record>, IoError> {
        let extents = self.segments.borrow().get(victim).expect("a victim exists").accepted_rows();
        let mut records = Vec::new();
        for extent in extents {
            let mut row = extent.row;
            while row < extent.row + extent.rows {
                let header = self.read_header(victim, row).await?;
                self.world.yield_now().await;
                let fragment =
                    |record: &Record| matches!(record.kind, RecordKind::Write | RecordKind::Move { .. });
                records.extend(header.records.into_iter().filter(fragment));
                row += header.rows;
            }
        }
        Ok(records)
    }

    /// The header of the batch that begins at `row`.
    async fn read_header(&self, id: SegmentId, row: u32) -> Result<BatchHeader, IoError> {
        let (_pin, geometry) = self.pinned(id);
        let end = (row + HEADER_SECTORS_MAX as u32).min(self.identity.segment_rows);
        let (secret, generation) = (&self.identity.secret, self.generation(id));
        let is_right = |header: &BatchHeader| {
            (header.segment, header.row) == (id, row)
                && generation.is_of(header)
                && self.is_of_a_root(header.incarnation)
        };
        let found = RefCell::new(None);
        let right = |sectors: &[u8]| {
            let header = BatchHeader::decode(secret, sectors).ok().filter(is_right);
            let is_right = header.is_some();
            *found.borrow_mut() = header;
            is_right
        };
        let read = self.array.read_checked(&geometry, 0, row..end, right).await;
        let unreadable =
            |error| IoError::new(Cause::Unrecovered, format!("header of {id} row {row}: {error}"));
        read.map_err(unreadable)?;
        Ok(found.take().expect("checked"))
    }

    /// The use of a segment that its batches are of.
    pub fn generation(&self, id: SegmentId) -> Generation {
        Generation::Since(self.segments.borrow().get(id).expect("upkeep alone frees segments").first_lsn)
    }

    fn pinned(&self, id: SegmentId) -> (Pin, std::rc::Rc<ashlar_raid::Geometry>) {
        pin(&self.segments, id).expect("upkeep alone frees segments")
    }

    /// The records whose fragments the map names, as moves.
    async fn live_items(&self, records: &[Record]) -> Result<Vec<Item>, IoError> {
        join_all(records.iter().map(|record| self.prefetch(&record.key))).await;
        let mut live = Vec::new();
        for record in records {
            let current = self.lookup(&record.key, |value| {
                value.filter(|pointer| Some(pointer.location) == record.location)
            });
            live.extend(current.await?.map(|pointer| Live { key: record.key, pointer }));
        }
        live.sort_unstable_by_key(|live| live.pointer.location);
        let groups = try_join_all(groups(&live).map(|group| self.read_live(group))).await?;
        Ok(groups.into_iter().flatten().collect())
    }

    /// Reads neighbours in one column, as moves.
    async fn read_live(&self, group: &[Live]) -> Result<Vec<Item>, IoError> {
        let (_pin, geometry) = self.pinned(group[0].pointer.location.segment());
        match self.read_neighbours(&geometry, group).await {
            Ok(sectors) => {
                let sectors = sectors.freeze();
                let bytes = |live: &Live| sectors.slice(range_within(group, live.pointer.location));
                Ok(group.iter().map(|live| live.moved(FragmentBytes::Shared(bytes(live)))).collect())
            }
            // Each may be readable in a way of its own, where all together are not.
            Err(_) if group.len() > 1 => {
                let mut items = Vec::with_capacity(group.len());
                for live in group {
                    items.push(live.moved(FragmentBytes::Own(self.read_fragment(live.pointer).await?)));
                }
                Ok(items)
            }
            Err(error) => {
                Err(IoError::new(Cause::Unrecovered, format!("{:?}: {error}", group[0].pointer.location)))
            }
        }
    }

    /// Moves items in full batches until at most `keep` are left.
    async fn move_items(
        &self,
        to: StreamId,
        claim: Claim,
        items: &mut Vec<Item>,
        keep: usize,
    ) -> Result<(), Stop> {
        while items.len() > keep {
            let take =
                |room: BatchRoom, taken: &mut Vec<Item>| taken.extend(items.drain(..room.fitting(items)));
            let appended = self.try_append(to, claim, take).await.map_err(AppendError::from)?;
            let moved = self.guarding(self.finish_move(appended)).await.ok_or(AppendError::Halted)?;
            self.count(|counters| counters.fragments_moved += moved.applied);
            if moved.unknown > 0 {
                return Err(IoError::new(Cause::Unrecovered, "a part of the map cannot be read").into());
            }
        }
        Ok(())
    }

    // --- metadata ---------------------------------------------------------------------------------------------

    /// Writes the map's pages that lie in the segment elsewhere. Those of the index and the directories of the deltas,
    /// the next checkpoint writes; the catalog, every one does.
    async fn relocate_pages(&self, victim: SegmentId, claim: Claim) -> Result<(), Stop> {
        let mut pages: Vec<MapPage> = Vec::new();
        for shard in (0..SHARD_COUNT as u8).map(ShardId) {
            let inside = self.with_shard(shard, |shard| {
                shard.touch_pages_in(victim);
                shard.pages_in(victim)
            });
            pages.extend(inside.into_iter().map(|(owner, at)| MapPage { shard, owner, at }));
        }
        // Pages of all shards together: each append is whole rows.
        for chunk in pages.chunks(PAGES_AT_A_TIME) {
            self.move_pages(chunk, claim).await?;
        }
        Ok(())
    }

    async fn move_pages(&self, pages: &[MapPage], claim: Claim) -> Result<(), Stop> {
        let read = self.read_pages(pages, async |page| self.read_to_move(page).await).await?;
        let (from, content): (Vec<MapPage>, Vec<Vec<u8>>) =
            pages.iter().zip(read).filter_map(|(page, content)| Some((*page, content?))).unzip();
        let to = self.append_pages(claim, content).await?;
        let moved = from.len();
        for (page, to) in from.into_iter().zip(to) {
            self.with_shard(page.shard, |shard| shard.page_moved(page.owner, page.at, to));
            self.ledger.discard_page(page.at);
        }
        if moved < pages.len() {
            // Chosen again before its shard is distributed, it would take a checkpoint each time.
            return Err(IoError::new(Cause::Unrecovered, "a page of deltas cannot be read").into());
        }
        Ok(())
    }

    /// A page's content. `None`: it is one of deltas and cannot be read; what it says is in memory, and goes into runs.
    async fn read_to_move(&self, page: &MapPage) -> Result<Option<Vec<u8>>, IoError> {
        match (self.read_page(page.at).await, page.owner) {
            (Err(error), PageOwner::Deltas) => {
                self.spoiled(page.shard, &error);
                Ok(None)
            }
            (read, _) => read.map(Some),
        }
    }
}

#[cfg(test)]
mod tests;
