//! Emptying a segment, part by part.
//!
//! A segment of some MiB that was emptied at once would hold hosts up for as long as many of their
//! operations take. Checkpoints, collection for space and hosts go on between two parts; a part
//! moves only fragments that the map still names there. Nothing of this is durable: after a crash,
//! or after the job has given the segment up, the job reads the segment again from its beginning,
//! and finds nothing in it that it has moved.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

use ashlar_block::{Cause, IoError, SECTOR_BYTES, World};
use ashlar_format::header::{
    BatchHeader, HEADER_SECTORS_MAX, PageKind, RECORDS_MAX, Record, RecordKind,
};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::SegmentKind;
use futures_util::future::{OptionFuture, join};

use crate::pool::Pool;
use crate::reader::scan::{Expected, Image};
use crate::space::segments::{Claim, Segments};
use crate::writer::append::{Appended, BatchRoom, StreamId};
use crate::writer::batch::Item;
use crate::writer::moves::Moved;
use crate::writer::pages::AppendError;

use super::{Collected, Rest, Stop, Unread};

/// Fragments that are looked up and read at a time: as many as a batch has, which lie in all of a
/// stripe's columns.
const RECORDS_AT_A_TIME: usize = RECORDS_MAX;

/// Bytes of fragments in a batch of moves: it is made in one turn, for whose end hosts' operations
/// wait. More where stripes are so wide that its header would be a large part of its rows.
const MOVED_BYTES_MAX: usize = 512 << 10;
const MOVED_ROWS_MIN: usize = 16;

/// Behind a batch of no more rows others are as small: their headers are read together.
const SMALL_BATCH_ROWS_MAX: u32 = 8;

/// Rows that are read at once then.
const ROWS_OF_SMALL_BATCHES: u32 = 32;

/// Rows that are looked through at a time for a header: each of its sectors is tried from whatever
/// drives there are.
const ROWS_SOUGHT_AT_A_TIME: u32 = 8;

/// A segment that is being emptied: what is known of it between two parts.
pub(super) struct Emptying {
    pub(super) victim: SegmentId,
    /// Of its first batch. Where the number has come round to another segment, rows below
    /// `next_row` would be taken for empty, and what lives there for garbage.
    first_lsn: Lsn,
    to: StreamId,
    claim: Claim,
    /// Where the next batch begins.
    next_row: u32,
    /// Rows of the one before.
    rows_before: u32,
    /// It begins somewhere behind that: how long the one before is, only its header would say,
    /// which cannot be read.
    seeks_header: bool,
    /// What is left of the batches before it.
    pub(super) records: VecDeque<Record>,
    /// What has been read, but does not fill a batch yet.
    items: Vec<Item>,
    pub(super) unread: Unread,
    /// What lives in it is cold: it is compressed anew.
    is_cold: bool,
}

impl Emptying {
    /// The next batch has this header.
    fn comes_to(&mut self, header: BatchHeader) {
        (self.next_row, self.seeks_header) = (header.row + header.rows, false);
        self.rows_before = header.rows;
        let is_movable = |record: &Record| match record.kind {
            RecordKind::Write | RecordKind::Move { .. } | RecordKind::Recode { .. } => true,
            RecordKind::Page(kind) => matches!(kind, PageKind::Map | PageKind::IndexLeaf),
            RecordKind::ZeroRange { .. } => false,
        };
        self.records.extend(header.records.into_iter().filter(is_movable));
    }

    /// What is read at once of these rows, which begin with a header.
    fn rows_of_headers(&self, rows: Range<u32>) -> Range<u32> {
        let is_among_small = (1..=SMALL_BATCH_ROWS_MAX).contains(&self.rows_before);
        let count =
            if is_among_small { ROWS_OF_SMALL_BATCHES.min(rows.end - rows.start) } else { 0 };
        rows.start..rows.start + count.max(HEADER_SECTORS_MAX as u32)
    }

    /// The next batch has none that can be read. Returns the error if that is the end of the work.
    fn has_no_header(&mut self, error: IoError) -> Result<(), IoError> {
        (self.next_row, self.seeks_header) = (self.next_row + 1, true);
        self.unread.meets(vec![error])
    }
}

/// A segment that is emptied in parts.
#[derive(Default)]
pub(crate) struct InParts {
    emptying: RefCell<Option<Emptying>>,
}

impl InParts {
    /// The segment that has begun, if it is still the one that has this number.
    pub fn segment(&self, segments: &Segments) -> Option<SegmentId> {
        let emptying = self.emptying.borrow();
        let is_it = |emptying: &&Emptying| {
            segments
                .get(emptying.victim)
                .is_some_and(|segment| segment.first_lsn == emptying.first_lsn)
        };
        emptying.as_ref().filter(is_it).map(|emptying| emptying.victim)
    }

    /// Forgets what has begun.
    pub fn forget(&self) {
        self.emptying.take();
    }

    fn resume(&self, victim: SegmentId, segments: &Segments) -> Option<Emptying> {
        let is_it = self.segment(segments) == Some(victim);
        self.emptying.take().filter(|_| is_it)
    }
}

/// How a part of the work ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// There is more.
    More,
    /// That was all.
    Done(Collected),
}

impl<W: World> Pool<W> {
    /// Moves what lives in the segment elsewhere.
    pub async fn collect(&self, victim: SegmentId) -> Result<Collected, AppendError> {
        let parts = InParts::default();
        loop {
            match self.collect_part(&parts, victim, Rest::Stays).await? {
                Part::More => self.world.yield_now().await,
                Part::Done(collected) => return Ok(collected),
            }
        }
    }

    /// The same in parts, to be repeated until it is done. With the last segments it is done at
    /// once: what collection gives back has to come before others, too, take one.
    pub async fn collect_in_parts(
        &self,
        parts: &InParts,
        victim: SegmentId,
        rest: Rest,
    ) -> Result<Part, AppendError> {
        if self.claim_for_collecting(victim) == Claim::LastResort {
            parts.forget();
            return self.collect(victim).await.map(Part::Done);
        }
        self.collect_part(parts, victim, rest).await
    }

    async fn collect_part(
        &self,
        parts: &InParts,
        victim: SegmentId,
        rest: Rest,
    ) -> Result<Part, AppendError> {
        // A checkpoint on the way, for a drive that is lost, must not free what has become empty.
        let _pin = self.pinned(victim);
        let kind = self.space.segments.borrow().get(victim).expect("a victim exists").kind;
        let part = match kind {
            SegmentKind::Metadata | SegmentKind::Table => {
                let emptying = self.begin_emptying(victim, kind, rest);
                let relocated = self.relocate_pages(emptying, rest).await;
                relocated.map(|()| Part::Done(Collected::LeftToCheckpoint))
            }
            SegmentKind::Data | SegmentKind::Moved | SegmentKind::Journal => {
                let resumed = parts.resume(victim, &self.space.segments.borrow());
                let emptying = resumed.unwrap_or_else(|| self.begin_emptying(victim, kind, rest));
                self.go_on_emptying(parts, emptying).await
            }
        };
        match part {
            Ok(Part::More) => Ok(Part::More),
            Ok(Part::Done(collected)) => {
                self.count(|counters| counters.jobs.segments_collected += 1);
                if collected == Collected::Emptied {
                    self.space.segments.borrow_mut().condemn(victim);
                }
                Ok(Part::Done(collected))
            }
            Err(Stop::Append(error)) => Err(error),
            Err(Stop::Unreadable(error)) => {
                tracing::warn!(
                    "{victim} has data that cannot be read, so collection keeps it: {error}"
                );
                self.space.segments.borrow_mut().set_unmovable(victim, true);
                Ok(Part::Done(Collected::Unmovable))
            }
        }
    }

    fn begin_emptying(&self, victim: SegmentId, kind: SegmentKind, rest: Rest) -> Emptying {
        let segments = self.space.segments.borrow();
        let segment = segments.get(victim).expect("a victim exists");
        let (first_lsn, sealed_at) = (segment.first_lsn, segment.sealed_at);
        drop(segments);
        // Where redundancy is lacking nothing comes before that.
        let is_cold =
            rest == Rest::Stays && self.identity.features.has_zstd() && self.is_cold(sealed_at);
        Emptying {
            victim,
            first_lsn,
            to: self.writer.heat.stream_of_survivors(kind),
            claim: self.claim_for_collecting(victim),
            next_row: 0,
            rows_before: 0,
            seeks_header: false,
            records: VecDeque::new(),
            items: Vec::new(),
            unread: Unread::none(rest),
            is_cold,
        }
    }

    async fn go_on_emptying(&self, parts: &InParts, mut emptying: Emptying) -> Result<Part, Stop> {
        let part = self.empty_part(&mut emptying).await;
        // Where there was no room nothing has been taken of what is to be moved.
        if matches!(part, Ok(Part::More) | Err(Stop::Append(AppendError::WindowEmpty))) {
            parts.emptying.replace(Some(emptying));
        }
        part
    }

    /// Moves a batch of what has been read, if there is a full one or nothing more to be read, and
    /// reads more meanwhile.
    async fn empty_part(&self, emptying: &mut Emptying) -> Result<Part, Stop> {
        let is_read =
            |emptying: &Emptying| emptying.records.is_empty() && self.next_rows(emptying).is_none();
        let data = self.fresh_batch_room(emptying.to).data;
        let has_batch = |emptying: &Emptying| {
            let fills_one = of_a_batch(&emptying.items, data) < emptying.items.len();
            fills_one || !emptying.items.is_empty() && is_read(emptying)
        };
        let appended =
            if has_batch(emptying) { Some(self.append_batch(emptying).await?) } else { None };
        let reads = !has_batch(emptying) && !is_read(emptying);
        let moved = OptionFuture::from(appended.map(|appended| async {
            // To copy a batch is enough for a turn.
            self.world.yield_now().await;
            self.guarding(self.finish_move(appended)).await
        }));
        let read = OptionFuture::from(reads.then(|| self.read_live_records(emptying)));
        let (moved, read) = join(moved, read).await;
        if let Some(moved) = moved {
            self.note_moved(emptying, moved.ok_or(AppendError::Halted)?)?;
        }
        read.transpose()?;
        // Known at once: a segment in which nothing lives any more is not asked for again.
        if !emptying.items.is_empty() || !is_read(emptying) {
            return Ok(Part::More);
        }
        emptying.unread.is_all()?;
        Ok(Part::Done(Collected::Emptied))
    }

    async fn read_live_records(&self, emptying: &mut Emptying) -> Result<(), IoError> {
        self.read_records(emptying, RECORDS_AT_A_TIME).await?;
        let count = emptying.records.len().min(RECORDS_AT_A_TIME);
        let records: Vec<Record> = emptying.records.drain(..count).collect();
        let (items, errors) = self.live_items(&records).await;
        // Where hosts wait for room it comes first.
        let is_compressed_anew = emptying.is_cold && !self.requests.hosts_want_segment();
        let items = if is_compressed_anew { self.recompressed(items).await } else { items };
        emptying.items.extend(items);
        emptying.unread.meets(errors)
    }

    /// Reads which fragments the next batches have, until there are enough for a part.
    pub(super) async fn read_records(
        &self,
        emptying: &mut Emptying,
        count: usize,
    ) -> Result<(), IoError> {
        while emptying.records.len() < count {
            let Some(rows) = self.next_rows(emptying) else { break };
            emptying.next_row = rows.start;
            if emptying.seeks_header {
                let sought = rows.start..rows.end.min(rows.start + ROWS_SOUGHT_AT_A_TIME);
                emptying.next_row = sought.end;
                if let Some(header) = self.find_header(emptying.victim, sought).await {
                    emptying.comes_to(header);
                }
                // Where it is may be a long way.
                break;
            }
            match self.read_headers(emptying.victim, emptying.rows_of_headers(rows.clone())).await {
                Ok(headers) => {
                    // What lies behind a hole was not accepted.
                    let accepted = headers.into_iter().take_while(|header| header.row < rows.end);
                    accepted.for_each(|header| emptying.comes_to(header));
                }
                Err(error) => {
                    match self.find_header(emptying.victim, rows.start..rows.start + 1).await {
                        Some(header) => emptying.comes_to(header),
                        None => emptying.has_no_header(error)?,
                    }
                }
            }
            self.world.yield_now().await;
        }
        Ok(())
    }

    /// The first header that begins in these rows and can be had in any way: each of its sectors by
    /// itself, from whatever drives.
    async fn find_header(&self, victim: SegmentId, rows: Range<u32>) -> Option<BatchHeader> {
        let (_pin, geometry) = self.pinned(victim);
        let generation = self.generation(victim);
        let expected = Expected { segment: victim, generation, secret: &self.identity.secret };
        let mut image = Image::while_serving(self, &geometry);
        for row in rows {
            if let Some(found) = image.batch_at(&expected, row).await {
                return Some(found.header);
            }
            self.world.yield_now().await;
        }
        None
    }

    /// Accepted rows from the one on to which it is emptied, as far as they go on without a hole.
    pub(super) fn next_rows(&self, emptying: &Emptying) -> Option<Range<u32>> {
        let extents = self
            .space
            .segments
            .borrow()
            .get(emptying.victim)
            .expect("a victim exists")
            .accepted_rows();
        let next = extents.into_iter().find(|extent| emptying.next_row < extent.row + extent.rows);
        next.map(|extent| extent.row.max(emptying.next_row)..extent.row + extent.rows)
    }

    /// A batch of what has been read, that has its place.
    async fn append_batch(&self, emptying: &mut Emptying) -> Result<Appended, AppendError> {
        let items = &mut emptying.items;
        let take = |room: BatchRoom, taken: &mut Vec<Item>| {
            let some = &items[..of_a_batch(items, room.data)];
            taken.extend(items.drain(..room.fitting(some)));
        };
        Ok(self.try_append(emptying.to, emptying.claim, take).await?)
    }

    fn note_moved(&self, emptying: &mut Emptying, moved: Moved) -> Result<(), IoError> {
        self.count(|counters| counters.jobs.fragments_moved += moved.applied);
        let unknown = || IoError::new(Cause::Unrecovered, "a part of the map cannot be read");
        emptying.unread.meets((moved.unknown > 0).then(unknown).into_iter().collect())
    }
}

/// How many of the first items a batch of moves takes that has so many columns for data.
fn of_a_batch(items: &[Item], data: usize) -> usize {
    let bytes_max = MOVED_BYTES_MAX.max(MOVED_ROWS_MIN * data * SECTOR_BYTES);
    let mut bytes = 0;
    let fits = |item: &&Item| {
        bytes += item.fragment.as_ref().map_or(0, |fragment| fragment.bytes.len());
        bytes <= bytes_max
    };
    items.iter().take(RECORDS_MAX).take_while(fits).count()
}

#[cfg(test)]
mod tests;
