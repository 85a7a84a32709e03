//! Rebuild: what lives on lost drives is restored on others, until the pool is as safe as its level says; and what lives on
//! drives that are leaving is moved there in the same way.
//!
//! Only rows that hold batches of segments in which something lives are read. Each batch is checked by its header's and
//! its fragments' checksums before anything is made of it, so that what a drive lies about is never copied. A restored
//! column is in no root until it is whole: after a crash before that, it is restored again.

mod latency;
pub(crate) mod policy;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use ashlar_block::{AlignedBuf, DriveId, Nanos, SECTOR_BYTES, World};

use crate::format::location::SegmentId;
use crate::format::root::{MemberRecord, MemberState};
use crate::format::table::SegmentState;
use crate::gc::Collected;
use crate::pages::AppendError;
use crate::pool::Pool;
use crate::scan::{Expected, Image};
use crate::segments::{NewPlace, Segments, pin};
use crate::types::Lsn;
use latency::Holding;
use policy::{Damaged, RebuildTask, most_endangered, pause_after};

/// Rows that are restored before somebody else has a turn; fewer where chunks are small.
const STEP_ROWS_MAX: u32 = 256;

/// Columns that are restored until a root says where they are: what no root knows is restored again after a crash, and until
/// then it does not count as restored when another drive is lost.
const UNSETTLED_COLUMNS_MAX: usize = 64;

/// When it is looked again whether there is room.
const ROOM_RETRY: Duration = Duration::from_secs(1);

/// When what could not be read is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// How often it is looked whether a segment that was still being written may be restored.
const READY_POLL: Duration = Duration::from_millis(200);

/// The columns of a segment that are being restored.
struct Moving {
    segment: SegmentId,
    /// Of its first batch: the number may come round to another segment meanwhile.
    first_lsn: Lsn,
    places: Vec<NewPlace>,
    /// Rows below it are done.
    next_row: u32,
}

impl Moving {
    /// Whether the segment is still the one that was begun.
    fn is_there(&self, segments: &Segments) -> bool {
        segments.get(self.segment).is_some_and(|segment| segment.first_lsn == self.first_lsn)
    }
}

/// What is known of the rebuild between two steps.
#[derive(Default)]
pub(crate) struct Rebuild {
    moving: RefCell<Option<Moving>>,
    /// Columns that were restored and that no root knows yet.
    unsettled_columns: Cell<usize>,
    /// Segments that could not be read, and when they are tried again.
    postponed: RefCell<BTreeMap<SegmentId, Nanos>>,
    /// When the next step may begin: the others' share of the time is until then.
    next_step_at: Cell<Nanos>,
    /// What hosts wait for their answers, where that decides how much of the time a rebuild may have.
    holding: Holding,
    bytes_done: Cell<u64>,
    since: Cell<Option<Nanos>>,
}

impl Rebuild {
    /// Bytes that are restored of columns which are not yet whole.
    pub fn bytes_begun(&self) -> u64 {
        let moving = self.moving.borrow();
        let bytes =
            |moving: &Moving| u64::from(moving.next_row) * (moving.places.len() * SECTOR_BYTES) as u64;
        moving.as_ref().map_or(0, bytes)
    }

    /// Bytes that have been restored since the first loss that is not made good, and how long that took.
    pub fn done(&self, now: Nanos) -> (u64, Duration) {
        (self.bytes_done.get(), self.since.get().map_or(Duration::ZERO, |since| now.since(since)))
    }
}

/// How a step ended.
enum Step {
    /// All rows are restored.
    Whole,
    /// There are more.
    More,
    /// A batch cannot be had from what is left.
    Unreadable,
    /// A drive that columns were to go to has failed.
    TargetLost,
}

impl<W: World> Pool<W> {
    /// Drives that segments still lie on and are not to: those that are lost, and those that are leaving.
    pub fn unreleased(&self) -> Vec<DriveId> {
        let (root, leaving) = (self.root.borrow(), self.leaving.borrow());
        let is_to_go =
            |member: &&MemberRecord| member.state == MemberState::Absent || leaving.contains(&member.drive);
        root.members.iter().filter(is_to_go).map(|member| member.drive).collect()
    }

    /// Whether enough drives are left for the redundancy of the pool's level. With fewer, what is on lost drives would only
    /// lose the chance that they come back.
    pub fn could_restore(&self) -> bool {
        self.homes_count() > self.identity.level.parity()
    }

    fn damaged<'a>(
        &'a self,
        segments: &'a Segments,
        unreleased: &'a [DriveId],
        floor: Lsn,
    ) -> impl Iterator<Item = Damaged> + 'a {
        let now = self.world.now();
        let parity = self.identity.level.parity();
        let postponed = self.rebuild.postponed.borrow().clone();
        segments.iter().filter_map(move |(id, segment)| {
            let (columns, own_parity) = (segment.columns_on(unreleased), segment.geometry.parity());
            let is_thin = own_parity < parity;
            let waits = segment.last_lsn >= floor || postponed.get(&id).is_some_and(|until| *until > now);
            let is_ready = segment.state == SegmentState::Sealed && !segment.is_empty() && !waits;
            let is_empty = segment.is_reclaimable(floor);
            let spare = own_parity.saturating_sub(self.array.missing(&segment.geometry).count());
            (columns > 0 || is_thin).then_some(Damaged { id, spare, columns, is_thin, is_empty, is_ready })
        })
    }

    /// What is to be done about drives that are lost or leaving. `drives`: where to it may be moved.
    pub fn next_rebuild(&self, segments: &Segments, floor: Lsn, drives: &[DriveId]) -> Option<RebuildTask> {
        let unreleased = self.unreleased();
        let waits = self.world.now() < self.rebuild.next_step_at.get();
        if unreleased.is_empty() || waits || !self.could_restore() {
            return None;
        }
        if self.rebuild.unsettled_columns.get() >= UNSETTLED_COLUMNS_MAX {
            return Some(RebuildTask::Settle);
        }
        let moving = self.rebuild.moving.borrow();
        if moving.as_ref().is_some_and(|moving| !moving.is_there(segments)) {
            return Some(RebuildTask::Settle);
        }
        let begun = moving.as_ref().map(|moving| moving.segment);
        let unmovable = self.unmovable.borrow();
        let could_move = |segment: &Damaged| {
            let has_room = || segments.could_move(segment.id, segment.columns, drives);
            !segment.is_thin && (begun == Some(segment.id) || has_room())
        };
        // One of which something cannot be read must not keep the others waiting.
        let could_be_restored = |segment: &Damaged| !unmovable.contains(&segment.id) || could_move(segment);
        let candidates = self.damaged(segments, &unreleased, floor).filter(could_be_restored);
        if let Some(next) = most_endangered(candidates, begun) {
            let moves = could_move(&next);
            return Some(if moves { RebuildTask::Move(next.id) } else { RebuildTask::Collect(next.id) });
        }
        let is_settled = self.rebuild.unsettled_columns.get() == 0
            && !self.damaged(segments, &unreleased, floor).any(|segment| segment.is_empty)
            && !self.could_release(segments, &unreleased);
        (!is_settled).then_some(RebuildTask::Settle)
    }

    /// Whether the next root releases one of these drives.
    fn could_release(&self, segments: &Segments, unreleased: &[DriveId]) -> bool {
        unreleased.iter().any(|drive| !segments.is_used(*drive))
            && !segments.iter().any(|(_, segment)| segment.geometry.parity() < self.identity.level.parity())
    }

    /// When to look again at what of lost drives cannot be restored yet, for a reason that passes.
    pub fn rebuild_waits(&self) -> Option<Duration> {
        let unreleased = self.unreleased();
        if unreleased.is_empty() || !self.could_restore() {
            return None;
        }
        let pause = self.rebuild.next_step_at.get().since(self.world.now());
        if !pause.is_zero() {
            return Some(pause);
        }
        let segments = self.segments.borrow();
        let waits = self.damaged(&segments, &unreleased, self.log.floor()).any(|segment| !segment.is_ready);
        waits.then_some(READY_POLL)
    }

    /// Does a part of what is to be done about lost drives, and leaves the others their share of the time.
    pub async fn rebuild_step(&self, task: RebuildTask) -> Result<(), AppendError> {
        let begun = self.world.now();
        let done = self.perform_rebuild(task).await;
        let ended = self.world.now();
        let pause = pause_after(ended.since(begun), self.rebuild_share(ended));
        let paused = Nanos(ended.0 + pause.as_nanos() as u64);
        self.rebuild.next_step_at.set(self.rebuild.next_step_at.get().max(paused));
        done
    }

    /// Part of the time that the rebuild may have, in percent.
    fn rebuild_share(&self, now: Nanos) -> u8 {
        let settings = self.catalog.borrow().settings;
        settings.recon_p99.map_or(settings.recon_prio, |target| self.rebuild.holding.share(target, now))
    }

    /// Does what a host has asked for, and counts how long it waits if a rebuild is held to that.
    pub async fn answer<T>(&self, work: impl Future<Output = T>) -> T {
        if self.rebuild.since.get().is_none() || self.catalog.borrow().settings.recon_p99.is_none() {
            return work.await;
        }
        let begun = self.world.now();
        let done = work.await;
        self.rebuild.holding.answered(self.world.now().since(begun));
        done
    }

    async fn perform_rebuild(&self, task: RebuildTask) -> Result<(), AppendError> {
        match task {
            RebuildTask::Move(id) => {
                self.move_step(id).await;
                Ok(())
            }
            RebuildTask::Collect(id) => {
                self.abandon_move();
                let rows = self.segments.borrow().get(id).map_or(0, |segment| segment.rows);
                match self.collect(id).await? {
                    Collected::Unmovable => return Ok(()),
                    Collected::LeftToCheckpoint => self.ordered_checkpoint().await,
                    Collected::Emptied => {}
                }
                self.restored(rows, 1);
                Ok(())
            }
            RebuildTask::Settle => {
                self.abandon_move();
                self.rebuild.unsettled_columns.set(0);
                self.ordered_checkpoint().await;
                Ok(())
            }
        }
    }

    /// Restores some rows of the segment's lost columns.
    async fn move_step(&self, id: SegmentId) {
        let Some(mut moving) = self.begin_or_resume(id) else { return self.postpone_rebuild() };
        let step = self.restore_rows(&mut moving).await;
        match step {
            Step::More => {
                self.rebuild.moving.replace(Some(moving));
            }
            Step::Whole => {
                self.segments.borrow_mut().move_columns(id, &moving.places);
                let unsettled = self.rebuild.unsettled_columns.get() + moving.places.len();
                self.rebuild.unsettled_columns.set(unsettled);
                self.count(|counters| counters.columns_restored += moving.places.len() as u64);
                tracing::debug!("{id}: {:?} restored", moving.places);
            }
            Step::TargetLost => self.give_back(moving),
            Step::Unreadable => {
                tracing::warn!("{id} cannot be restored from what is left of it; it is tried again later");
                let until = Nanos(self.world.now().0 + RETRY.as_nanos() as u64);
                self.rebuild.postponed.borrow_mut().insert(id, until);
                self.give_back(moving);
            }
        }
    }

    fn begin_or_resume(&self, id: SegmentId) -> Option<Moving> {
        if let Some(moving) = self.rebuild.moving.take() {
            if moving.segment == id && moving.is_there(&self.segments.borrow()) {
                return Some(moving);
            }
            self.give_back(moving);
        }
        let mut segments = self.segments.borrow_mut();
        let (geometry, first_lsn) =
            segments.get(id).map(|segment| (segment.geometry.clone(), segment.first_lsn))?;
        let homes = self.homes();
        let is_off = |column: &usize| !homes.contains(&geometry.columns[*column].drive);
        let columns: Vec<usize> = (0..geometry.columns.len()).filter(is_off).collect();
        let places = segments.reserve_columns(id, &columns, &homes)?;
        Some(Moving { segment: id, first_lsn, places, next_row: 0 })
    }

    /// What was being restored is left as it is: nothing is restored any more, or not to `drive`.
    pub fn abandon_move_to(&self, drive: DriveId) {
        let goes_there = |moving: &Moving| moving.places.iter().any(|place| place.chunk.drive == drive);
        if self.rebuild.moving.borrow().as_ref().is_some_and(goes_there) {
            self.abandon_move();
        }
    }

    fn abandon_move(&self) {
        if let Some(moving) = self.rebuild.moving.take() {
            self.give_back(moving);
        }
    }

    fn give_back(&self, moving: Moving) {
        self.segments.borrow_mut().give_back(moving.places.into_iter().map(|place| place.chunk));
    }

    fn restored(&self, rows: u32, columns: usize) {
        let bytes = u64::from(rows) * (columns * SECTOR_BYTES) as u64;
        self.rebuild.bytes_done.set(self.rebuild.bytes_done.get() + bytes);
        if self.rebuild.since.get().is_none() {
            self.rebuild.since.set(Some(self.world.now()));
        }
    }

    async fn restore_rows(&self, moving: &mut Moving) -> Step {
        let id = moving.segment;
        let Some((_pin, geometry)) = pin(&self.segments, id) else { return Step::TargetLost };
        let extents = self.segments.borrow().get(id).expect("pinned").accepted_rows();
        let end_of_step = moving.next_row + (self.identity.segment_rows / 4).min(STEP_ROWS_MAX);
        let mut image = Image::while_serving(self, &geometry);
        for extent in extents {
            let mut row = extent.row.max(moving.next_row);
            while row < extent.row + extent.rows {
                if row >= end_of_step {
                    // Behind a hole it is not where the last batch ended.
                    moving.next_row = row;
                    return Step::More;
                }
                match self.restore_batch(&mut image, moving, row).await {
                    Ok(rows) => row += rows,
                    Err(step) => return step,
                }
                moving.next_row = row;
            }
        }
        Step::Whole
    }

    /// Restores what the lost columns hold of the batch at `row`. Returns its rows.
    async fn restore_batch(&self, image: &mut Image<'_, W>, moving: &Moving, row: u32) -> Result<u32, Step> {
        let generation = self.generation(moving.segment);
        let expected = Expected { segment: moving.segment, generation, secret: &self.identity.secret };
        let found = image.batch_at(&expected, row).await.ok_or(Step::Unreadable)?;
        let examined = image.examine(&found).await.ok_or(Step::Unreadable)?;
        let rows = found.header.rows;
        for place in &moving.places {
            let bytes = AlignedBuf::copy_of(examined.column(place.column)).freeze();
            if !self.array.write_chunk(place.chunk, row, bytes).await {
                return Err(Step::TargetLost);
            }
        }
        self.restored(rows, moving.places.len());
        Ok(rows)
    }

    /// The rebuild's share of the time has changed: what was to be waited for by the old one is not.
    pub fn rebuild_at_once(&self) {
        self.rebuild.next_step_at.set(self.world.now());
        self.orders.ring();
    }

    /// There is no room to rebuild to: it is looked again later.
    pub fn postpone_rebuild(&self) {
        self.rebuild.next_step_at.set(Nanos(self.world.now().0 + ROOM_RETRY.as_nanos() as u64));
    }

    /// Nothing is to be rebuilt any more: the next loss is counted anew.
    pub fn rebuild_ended(&self) {
        self.abandon_move();
        self.rebuild.bytes_done.set(0);
        self.rebuild.since.set(None);
        self.rebuild.postponed.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests;
