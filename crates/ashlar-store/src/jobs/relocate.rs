//! Relocation moves columns of a segment to other drives while the segment stays.
//!
//! Each segment whose columns move is a *lane*, a task of its own beside upkeep: several lanes run
//! at a time, so that all drives have something to do. A lane reads a column from its drive, or
//! restores it from the others if that drive is lost. It reads only rows that hold batches. It
//! checks each batch by the checksums of its header and of its fragments before it uses the batch,
//! so that it never copies corrupt data.
//!
//! 1. A column is in no root at its new place until it is whole there: after a crash before that,
//!    it is where it was.
//! 2. A lane ends its move only while no checkpoint is on its way. So a root names either place of
//!    a column, and what it says of drives fits what it says of segments.
//! 3. A lane reads only a segment of which something lives, and keeps it pinned for each step: a
//!    checkpoint never frees what a lane has in hand. Between two steps the segment may be emptied
//!    or freed, and its number be another's. The lane then gives up.
//! 4. Upkeep ends only after all lanes: nothing is written behind a pool's last root.
//! 5. Columns that no root knows at their new place yet are bounded: after a crash they are copied
//!    again.
//! 6. What a lane writes is on stable media before a root names it: every checkpoint flushes all
//!    drives before its root. To a drive that seeks a flush for each step would cost a turn.
//! 7. Nothing that a lane has begun to write is on its way when its chunks are given back.
//!
//! Where hosts are to have no share of the time, a lane reads ahead, and writes a step while it
//! works on the next one: drives and processor do not wait for each other.

pub(crate) mod policy;

use std::cell::Cell;
use std::mem::take;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, DriveId, Durability, SECTOR_BYTES, World};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::RowExtent;
use ashlar_raid::{ChunkAddr, Geometry};
use bytes::Bytes;
use futures_util::future::{join_all, select};
use tokio::sync::{Notify, oneshot};

use crate::base::activity::Activity;
use crate::jobs::share::TimeShare;
use crate::pool::Pool;
use crate::reader::scan::{Ahead, Expected, Image, Pieces};
use crate::space::segments::{NewPlace, Segment, Segments, pin};
use policy::{Conditions, Pacing, pacing, unsettled_columns_max};

/// Why columns go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// They lie on drives that are lost or leaving.
    Restore,
    /// Their drives are fuller than others.
    Spread,
}

/// The columns of a segment that are on their way.
pub(crate) struct Lane {
    pub segment: SegmentId,
    /// Of its first batch: the number may come round to another segment meanwhile.
    pub first_lsn: Lsn,
    pub purpose: Purpose,
    places: Vec<NewPlace>,
    /// Rows below it are done.
    next_row: u32,
    /// What has been read beyond that, by a step of so many rows.
    pieces: Pieces,
    pacing: Option<Pacing>,
    /// What the step before has read is being written: whether all columns have been.
    writing: Option<oneshot::Receiver<bool>>,
    bytes_written: u64,
}

impl Lane {
    /// How many columns go.
    pub fn columns(&self) -> usize {
        self.places.len()
    }
}

/// How a relocation stands after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relocated {
    /// There are more rows.
    Part,
    /// All columns are where they are to be.
    Whole,
    /// A batch cannot be had from what is left.
    Unreadable,
    /// There is no point in it any more, or a drive that columns were to go to has failed.
    GivenUp,
}

/// The lanes of a pool.
#[derive(Default)]
pub(crate) struct Relocation {
    lanes: Cell<usize>,
    /// Bytes that have been written of columns which are not yet whole.
    bytes_begun: Cell<u64>,
    /// Columns that have been relocated and that no root knows there yet.
    unsettled_columns: Cell<usize>,
    /// Notified when lanes are to look again whether they may go on, and how fast.
    changed: Notify,
}

impl Relocation {
    /// Lanes under way.
    pub fn lanes(&self) -> usize {
        self.lanes.get()
    }

    /// Bytes that have been written of columns which are not yet whole.
    pub fn bytes_begun(&self) -> u64 {
        self.bytes_begun.get()
    }

    /// Columns that no root knows where they are yet.
    pub fn unsettled_columns(&self) -> usize {
        self.unsettled_columns.get()
    }

    /// So many columns are elsewhere, or are another drive's, since the newest root.
    pub fn moved(&self, columns: usize) {
        self.unsettled_columns.set(self.unsettled_columns.get() + columns);
    }

    /// A root says where so many of them are.
    pub fn settled(&self, columns: usize) {
        self.unsettled_columns.set(self.unsettled_columns.get() - columns);
    }

    /// A root says where all columns are.
    pub fn is_settled(&self) -> bool {
        self.unsettled_columns.get() == 0
    }

    /// Lanes look again whether they may go on, and how fast.
    pub fn look_again(&self) {
        self.changed.notify_waiters();
    }

    #[cfg(test)]
    pub fn pretend_unsettled(&self, columns: usize) {
        self.unsettled_columns.set(columns);
    }
}

impl<W: World> Pool<W> {
    /// A root has to say where columns are before more of them go.
    pub fn relocations_must_settle(&self, segments: &Segments) -> bool {
        let max = unsettled_columns_max(
            segments.chunks_total(),
            self.identity.chunk_bytes(),
            segments.moved_at_a_time(),
        );
        self.jobs.relocation.unsettled_columns() >= max
    }

    /// Whether another lane may begin.
    pub fn may_begin_lane(&self) -> bool {
        self.jobs.relocation.lanes() < self.lane_pacing().lanes_max
    }

    fn lane_pacing(&self) -> Pacing {
        let drives = self.allocation_targets();
        pacing(&Conditions {
            drives: drives.len(),
            columns: self.identity.level.columns_on(drives.len()),
            is_spinning: drives.iter().any(|drive| self.array.is_rotational(*drive)),
            share: self.rebuild_share(self.world.now()),
            segment_rows: self.identity.segment_rows,
            memory_bytes: self.options.map_memory_bytes / 2,
        })
    }

    /// Lets these columns of the segment go to some of `drives`. `None`: there is no room.
    pub fn begin_lane(
        &self,
        segment: SegmentId,
        columns: &[usize],
        drives: &[DriveId],
        purpose: Purpose,
    ) -> Option<Lane> {
        let mut segments = self.space.segments.borrow_mut();
        let first_lsn = segments.get(segment)?.first_lsn;
        let places = segments.begin_move(segment, columns, drives)?;
        self.jobs.relocation.lanes.set(self.jobs.relocation.lanes() + 1);
        Some(Lane {
            segment,
            first_lsn,
            purpose,
            places,
            next_row: 0,
            pieces: Pieces::default(),
            pacing: None,
            writing: None,
            bytes_written: 0,
        })
    }

    /// Copies what the lane is for, in a task of its own.
    pub fn start_lane(self: &Rc<Self>, lane: Lane) {
        let activity = match lane.purpose {
            Purpose::Restore => Activity::Rebuild,
            Purpose::Spread => Activity::Rebalance,
        };
        self.begin_beside(activity, self.clone().run_lane(lane));
    }

    /// Copies it step by step, each after the others' share of the time. The last step has its
    /// pause, too, before another lane may begin.
    async fn run_lane(self: Rc<Self>, mut lane: Lane) {
        let share = TimeShare::default();
        let mut stands = Relocated::Part;
        while stands == Relocated::Part {
            let begun = self.world.now();
            stands = self.lane_step(&mut lane).await;
            if stands != Relocated::Part {
                self.lane_has_done(&lane, stands);
            }
            let ended = self.world.now();
            share.stepped(begun, ended, self.rebuild_share(ended));
            self.pause_lane(&share).await;
        }
        self.next_lane_may_begin();
    }

    /// Leaves the drives to others until the next step may begin. What has changed meanwhile, the
    /// next step finds out.
    async fn pause_lane(&self, share: &TimeShare) {
        let pause = share.wait(self.world.now());
        if pause.is_zero() {
            return self.world.yield_now().await;
        }
        let changed = self.jobs.relocation.changed.notified();
        select(pin!(self.world.sleep(pause)), select(pin!(changed), pin!(self.halt.wait()))).await;
    }

    /// Copies some rows, and moves the columns after the last of them.
    pub async fn lane_step(self: &Rc<Self>, lane: &mut Lane) -> Relocated {
        let stands = self.try_lane_step(lane).await;
        if stands != Relocated::Part {
            // Its chunks may be another segment's from now on.
            let _ = self.written(lane).await;
        }
        stands
    }

    async fn try_lane_step(self: &Rc<Self>, lane: &mut Lane) -> Relocated {
        if lane.next_row == 0 {
            let chunks: Vec<ChunkAddr> = lane.places.iter().map(|place| place.chunk).collect();
            self.chunks_are_back(chunks).await;
        }
        // Not before: meanwhile the segment may have been freed, and another one have its number.
        if !self.lane_may_go_on(lane) {
            return Relocated::GivenUp;
        }
        match self.copy_rows(lane).await {
            Ok(Relocated::Whole) => self.arrive(lane).await,
            Ok(stands) | Err(stands) => stands,
        }
    }

    /// Whether there is still a point in it.
    fn lane_may_go_on(&self, lane: &Lane) -> bool {
        let is_wanted = match lane.purpose {
            Purpose::Restore => true,
            Purpose::Spread => self.is_rebalancing() && self.unreleased().is_empty(),
        };
        let targets = self.allocation_targets();
        let are_there = || lane.places.iter().all(|place| targets.contains(&place.chunk.drive));
        let is_there =
            |segment: &Segment| segment.first_lsn == lane.first_lsn && !segment.is_empty();
        let may_write = self.halt.why().is_none() && !self.upkeep.is_to_stop();
        may_write
            && is_wanted
            && are_there()
            && self.space.segments.borrow().get(lane.segment).is_some_and(is_there)
    }

    /// All rows are where they are to be: the columns are as well, once no checkpoint is on its
    /// way.
    async fn arrive(&self, lane: &Lane) -> Relocated {
        while self.space.segments.borrow().is_noted() && self.halt.why().is_none() {
            select(pin!(self.checkpoint.roots.changes()), pin!(self.halt.wait())).await;
        }
        if !self.lane_may_go_on(lane) {
            return Relocated::GivenUp;
        }
        self.space.segments.borrow_mut().end_move(lane.segment, self.writer.lsns.next());
        self.jobs.relocation.moved(lane.columns());
        tracing::debug!("{}: {:?} relocated", lane.segment, lane.places);
        Relocated::Whole
    }

    /// Nothing more is done for the lane's segment.
    fn lane_has_done(&self, lane: &Lane, stands: Relocated) {
        if stands != Relocated::Whole {
            self.space.segments.borrow_mut().give_up_move(lane.segment);
        }
        let bytes_begun = &self.jobs.relocation.bytes_begun;
        bytes_begun.set(bytes_begun.get() - lane.bytes_written);
        match lane.purpose {
            Purpose::Restore => self.restored(lane, stands),
            Purpose::Spread => self.spread(lane, stands),
        }
    }

    fn next_lane_may_begin(&self) {
        let relocation = &self.jobs.relocation;
        relocation.lanes.set(relocation.lanes() - 1);
    }

    /// The lane is over.
    #[cfg(test)]
    pub fn lane_ended(&self, lane: Lane, stands: Relocated) {
        self.lane_has_done(&lane, stands);
        self.next_lane_may_begin();
    }

    async fn copy_rows(self: &Rc<Self>, lane: &mut Lane) -> Result<Relocated, Relocated> {
        let (_pin, geometry) = pin(&self.space.segments, lane.segment).ok_or(Relocated::GivenUp)?;
        let extents =
            self.space.segments.borrow().get(lane.segment).expect("pinned").accepted_rows();
        let step_rows = self.pace_lane(lane, &geometry, &extents);
        let end = lane.next_row + step_rows;
        let mut image = Image::in_steps(self, &geometry, step_rows, take(&mut lane.pieces));
        let mut copied = Copied::new(&lane.places);
        for extent in extents {
            let mut row = extent.row.max(lane.next_row);
            while row < extent.row + extent.rows {
                if row >= end {
                    self.write_copied(lane, &mut copied).await?;
                    // Behind a hole it is not where the last batch ended.
                    lane.next_row = row;
                    lane.pieces = image.into_pieces();
                    return Ok(Relocated::Part);
                }
                if copied.next_row() != row {
                    self.write_copied(lane, &mut copied).await?;
                }
                row += self.copy_batch(&mut image, lane, row, &mut copied).await?;
                self.world.yield_now().await;
            }
        }
        self.write_copied(lane, &mut copied).await?;
        self.written(lane).await?;
        Ok(Relocated::Whole)
    }

    /// Lets the lane go on at the pace that is now right. Returns the rows of a step. What has been
    /// read at another pace is read again.
    fn pace_lane(
        self: &Rc<Self>,
        lane: &mut Lane,
        geometry: &Rc<Geometry>,
        extents: &[RowExtent],
    ) -> u32 {
        let pacing = self.lane_pacing();
        let Pacing { step_rows, steps_ahead, .. } = pacing;
        let before = lane.pacing.replace(pacing);
        if before
            .is_none_or(|before| (before.step_rows, before.steps_ahead) != (step_rows, steps_ahead))
        {
            // Nothing is read behind the step with the last batch.
            let end = extents.last().map_or(0, |extent| extent.row + extent.rows);
            let rows = end.next_multiple_of(step_rows).min(self.identity.segment_rows);
            let ahead = || Ahead::new(self, geometry, rows, step_rows, steps_ahead);
            lane.pieces = if steps_ahead > 0 { Pieces::ahead(ahead()) } else { Pieces::default() };
        }
        step_rows
    }

    /// Reads what the columns hold of the batch at `row`. Returns its rows.
    async fn copy_batch(
        &self,
        image: &mut Image<'_, W>,
        lane: &Lane,
        row: u32,
        copied: &mut Copied,
    ) -> Result<u32, Relocated> {
        let generation = self.generation(lane.segment);
        let expected =
            Expected { segment: lane.segment, generation, secret: &self.identity.secret };
        let found = image.batch_at(&expected, row).await.ok_or(Relocated::Unreadable)?;
        let wanted: Vec<usize> = lane.places.iter().map(|place| place.column).collect();
        let columns = image.columns_of(&found, &wanted).await.ok_or(Relocated::Unreadable)?;
        copied.add(row, &columns);
        Ok(found.header.rows)
    }

    /// Writes what has been copied to where the columns go, all at once; where the lane reads ahead
    /// the next step goes on meanwhile.
    async fn write_copied(
        self: &Rc<Self>,
        lane: &mut Lane,
        copied: &mut Copied,
    ) -> Result<(), Relocated> {
        let (rows, columns) = copied.take();
        if rows.is_empty() {
            return Ok(());
        }
        self.written(lane).await?;
        let bytes = columns.iter().map(Vec::len).sum::<usize>() as u64;
        let chunks = lane.places.iter().map(|place| place.chunk);
        let writes: Vec<(ChunkAddr, Bytes)> =
            chunks.zip(columns.iter().map(|column| AlignedBuf::copy_of(column).freeze())).collect();
        let (pool, (answer, writing)) = (self.clone(), oneshot::channel());
        // A task of its own: an answer that nobody takes looks like a drive that is silent.
        self.spawn(async move {
            let write = |(chunk, bytes)| {
                pool.array.write_chunk(chunk, rows.start, bytes, Durability::Cached)
            };
            let written = join_all(writes.into_iter().map(write)).await;
            // The lane may have gone, because the pool is closed.
            let _ = answer.send(written.into_iter().all(|is_written| is_written));
        });
        lane.writing = Some(writing);
        lane.bytes_written += bytes;
        self.jobs.relocation.bytes_begun.set(self.jobs.relocation.bytes_begun.get() + bytes);
        self.relocated_bytes(lane.purpose, bytes);
        if lane.pacing.is_some_and(|pacing| pacing.steps_ahead > 0) {
            Ok(())
        } else {
            self.written(lane).await
        }
    }

    /// What the step before has read is written, if drives have taken it.
    async fn written(&self, lane: &mut Lane) -> Result<(), Relocated> {
        let Some(writing) = lane.writing.take() else { return Ok(()) };
        if writing.await.unwrap_or(false) { Ok(()) } else { Err(Relocated::GivenUp) }
    }

    fn relocated_bytes(&self, purpose: Purpose, bytes: u64) {
        match purpose {
            Purpose::Restore => self.jobs.rebuild.done.add(bytes, self.world.now()),
            Purpose::Spread => self.rebalanced(bytes),
        }
    }
}

/// Neighbouring rows of the columns that go, which are to be written.
struct Copied {
    first_row: u32,
    columns: Vec<Vec<u8>>,
}

impl Copied {
    fn new(places: &[NewPlace]) -> Self {
        Copied { first_row: 0, columns: vec![Vec::new(); places.len()] }
    }

    fn rows(&self) -> Range<u32> {
        let rows = self.columns.first().map_or(0, |column| column.len() / SECTOR_BYTES);
        self.first_row..self.first_row + rows as u32
    }

    fn next_row(&self) -> u32 {
        self.rows().end
    }

    fn add(&mut self, row: u32, columns: &[impl AsRef<[u8]>]) {
        if self.rows().is_empty() {
            self.first_row = row;
        }
        assert_eq!(self.next_row(), row, "rows that are written at once follow each other");
        self.columns
            .iter_mut()
            .zip(columns)
            .for_each(|(all, more)| all.extend_from_slice(more.as_ref()));
    }

    fn take(&mut self) -> (Range<u32>, Vec<Vec<u8>>) {
        let rows = self.rows();
        self.first_row = rows.end;
        (rows, self.columns.iter_mut().map(take).collect())
    }
}
