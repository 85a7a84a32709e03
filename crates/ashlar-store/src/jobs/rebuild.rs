//! Rebuild restores on other drives what lives on lost drives, until the pool is as safe as its
//! level says. It moves what lives on drives that are being removed in the same way.
//!
//! A segment stays while other drives have room for its columns
//! ([`relocate`](crate::jobs::relocate)): a rebuild restores those of several segments at a time,
//! beside whatever upkeep does. Otherwise upkeep writes what lives of the segment anew, in narrower
//! stripes, one segment after the other.

mod latency;
pub(crate) mod policy;
mod scan_backoff;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{DriveId, IoError, Nanos, World};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::root::{MemberRecord, MemberState};
use ashlar_format::table::SegmentState;

use crate::jobs::collect::emptying::{InParts, Part};
use crate::jobs::collect::{Collected, Rest};
use crate::jobs::progress::{Done, Obstacle};
use crate::jobs::relocate::{Lane, Purpose, Relocated};
use crate::jobs::share::{TimeShare, thousandths};
use crate::pool::Pool;
use crate::space::capacity::CHECKPOINT_MIN;
use crate::space::segments::{Segment, Segments};
use crate::writer::pages::AppendError;
use latency::Holding;
use policy::{Damaged, Next, Part as SearchedPart, Queue, RebuildNeed, RebuildTask};
use scan_backoff::{READY_POLL, ScanBackoff};

/// When it is looked again whether there is room.
const ROOM_RETRY: Duration = Duration::from_secs(1);

/// Segments that are looked at in one turn.
const SEARCHED_AT_A_TIME: usize = 2048;

/// When what could not be read is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// What is known of the rebuild between two steps.
#[derive(Default)]
pub(crate) struct Rebuild {
    /// Segments to restore.
    queue: RefCell<Queue>,
    scan_backoff: ScanBackoff,
    /// The segment that is written anew.
    collecting: InParts,
    /// Segments of which something could not be read, and when they are tried again.
    postponed: RefCell<BTreeMap<SegmentId, Nanos>>,
    /// Segments that cannot be restored as a whole. What can be read of them is written anew.
    not_whole: RefCell<BTreeSet<SegmentId>>,
    share: TimeShare,
    /// What hosts wait for their answers, where that decides how much of the time a rebuild may
    /// have.
    holding: Holding,
    /// What has been restored since the first loss that is not made good.
    pub done: Done,
}

impl<W: World> Pool<W> {
    /// Drives that segments still lie on and are not to: those that are lost, and those that are
    /// leaving.
    pub fn unreleased(&self) -> Vec<DriveId> {
        let (root, leaving) = (self.checkpoint.roots.newest(), self.membership.leaving.borrow());
        let is_to_go = |member: &&MemberRecord| {
            member.state == MemberState::Absent || leaving.contains(&member.drive)
        };
        root.members.iter().filter(is_to_go).map(|member| member.drive).collect()
    }

    /// Whether enough drives are left for the redundancy of the pool's level. With fewer, what is
    /// on lost drives would only lose the chance that they come back.
    pub fn could_restore(&self) -> bool {
        self.allocation_target_count() > self.identity.level.parity()
    }

    /// Of some segments from that number on those that lack something.
    fn damaged_from(
        &self,
        segments: &Segments,
        from: SegmentId,
        unreleased: &[DriveId],
        floor: Lsn,
    ) -> SearchedPart {
        let mut all = segments.iter_from(from);
        let part = all.by_ref().take(SEARCHED_AT_A_TIME);
        let damaged =
            part.filter_map(|segment| self.damage(segments, segment, unreleased, floor)).collect();
        SearchedPart { damaged, next: all.next().map(|(id, _)| id) }
    }

    /// What a segment lacks, if it does.
    fn damage(
        &self,
        segments: &Segments,
        (id, segment): (SegmentId, &Segment),
        unreleased: &[DriveId],
        floor: Lsn,
    ) -> Option<Damaged> {
        let (columns, own_parity) = (segment.columns_on(unreleased), segment.geometry.parity());
        let is_thin = own_parity < self.identity.level.parity();
        if columns == 0 && !is_thin {
            return None;
        }
        let is_postponed = || {
            self.jobs
                .rebuild
                .postponed
                .borrow()
                .get(&id)
                .is_some_and(|until| *until > self.world.now())
        };
        let waits = segment.last_lsn >= floor || segments.is_moving(id) || is_postponed();
        let is_ready = segment.state == SegmentState::Sealed && !segment.is_empty() && !waits;
        let is_empty = segment.is_reclaimable(floor);
        let spare = own_parity.saturating_sub(self.array.missing(&segment.geometry).count());
        Some(Damaged { id, spare, columns, is_thin, is_empty, is_ready })
    }

    /// What is to be done about drives that are lost or leaving, and what that may take. `drives`:
    /// where to it may be moved.
    pub fn rebuild_need(&self, segments: &Segments, drives: &[DriveId]) -> RebuildNeed {
        RebuildNeed {
            task: self.next_rebuild(segments, self.writer.lsns.floor(), drives),
            is_overfull: self.space.over_limit.is_over()
                || segments.live().bytes() > self.space.limit_bytes.get(),
            only_columns_fit: segments.placeable(drives) == 0
                && segments.usable_striped() > CHECKPOINT_MIN
                && segments.most_free(drives) > self.marks().reserve,
        }
    }

    /// What is to be done next, whatever it takes.
    pub fn next_rebuild(
        &self,
        segments: &Segments,
        floor: Lsn,
        drives: &[DriveId],
    ) -> Option<RebuildTask> {
        let unreleased = self.unreleased();
        if unreleased.is_empty()
            || !self.jobs.rebuild.share.has_come(self.world.now())
            || !self.could_restore()
        {
            return None;
        }
        if self.relocations_must_settle(segments) {
            self.jobs.rebuild.scan_backoff.at_once(self.world.now());
            return Some(RebuildTask::Settle);
        }
        // When a lane ends it is looked again.
        if !self.may_begin_lane() {
            return None;
        }
        if !self.jobs.rebuild.scan_backoff.is_due(&unreleased, drives, self.world.now()) {
            return None;
        }
        let next = self.look_for_rebuild(segments, floor, drives, &unreleased);
        if next.is_some() {
            self.jobs.rebuild.scan_backoff.at_once(self.world.now());
        } else {
            let waits = self.jobs.rebuild.queue.borrow().found_unready();
            self.jobs.rebuild.scan_backoff.in_vain(
                &unreleased,
                drives,
                self.world.now(),
                waits,
                segments.count(),
            );
        }
        next
    }

    /// The same by a look at all segments, unless what the last one has found is not restored yet.
    fn look_for_rebuild(
        &self,
        segments: &Segments,
        floor: Lsn,
        drives: &[DriveId],
        unreleased: &[DriveId],
    ) -> Option<RebuildTask> {
        let could_move = |segment: &Damaged| {
            let is_whole =
                !segment.is_thin && !self.jobs.rebuild.not_whole.borrow().contains(&segment.id);
            is_whole && segments.could_move(segment.id, segment.columns, drives)
        };
        // One of which something cannot be read must not keep the others waiting.
        let is_due =
            |segment: &Damaged| self.jobs.rebuild.postponed.borrow().contains_key(&segment.id);
        let is_movable =
            |segment: &Damaged| segments.get(segment.id).is_some_and(|it| !it.is_unmovable());
        let could_be_restored =
            |segment: &Damaged| is_movable(segment) || could_move(segment) || is_due(segment);
        let next = self.jobs.rebuild.queue.borrow_mut().next(
            unreleased,
            |id| {
                let segment = (id, segments.get(id)?);
                self.damage(segments, segment, unreleased, floor).filter(could_be_restored)
            },
            |from| self.damaged_from(segments, from, unreleased, floor),
        );
        match next {
            Next::Segment(next) if could_move(&next) => Some(RebuildTask::Move(next.id)),
            Next::Segment(next) => Some(RebuildTask::Collect(next.id)),
            Next::Searching => Some(RebuildTask::Search),
            // What is on its way may be what a root is to say.
            Next::Nothing if self.jobs.relocation.lanes() > 0 => None,
            Next::Nothing => {
                self.has_to_settle(segments, unreleased).then_some(RebuildTask::Settle)
            }
        }
    }

    /// Whether the next root has news of the rebuild: where columns are, that a segment is free, or
    /// that a drive is released.
    fn has_to_settle(&self, segments: &Segments, unreleased: &[DriveId]) -> bool {
        !self.jobs.relocation.is_settled()
            || self.jobs.rebuild.queue.borrow().found_empty()
            || could_release(segments, unreleased)
    }

    /// When to look again at what of lost drives cannot be restored yet, for a reason that passes.
    /// `is_held_back`: something could have been restored a moment ago, and was not.
    pub fn rebuild_waits(&self, is_held_back: bool) -> Option<Duration> {
        let unreleased = self.unreleased();
        if unreleased.is_empty() || !self.could_restore() {
            return None;
        }
        if !self.may_begin_lane() {
            return None;
        }
        let pause = self.jobs.rebuild.share.wait(self.world.now());
        if !pause.is_zero() {
            return Some(pause);
        }
        let backoff = &self.jobs.rebuild.scan_backoff;
        if !backoff.last_was_in_vain(self.world.now()) {
            if !is_held_back {
                // Its turn has come since: nobody else would say so.
                return Some(Duration::ZERO);
            }
            return self.jobs.rebuild.queue.borrow().found_unready().then_some(READY_POLL);
        }
        backoff.wait(self.world.now())
    }

    /// Does a part of what is to be done about lost drives, and leaves the others their share of
    /// the time.
    pub async fn rebuild_step(self: &Rc<Self>, task: RebuildTask) -> Result<(), AppendError> {
        let begun = self.world.now();
        let done = self.perform_rebuild(task).await;
        let ended = self.world.now();
        self.jobs.rebuild.share.stepped(begun, ended, self.rebuild_share(ended));
        done
    }

    /// Part of the time that rebuild and rebalance may have, in thousandths.
    pub fn rebuild_share(&self, now: Nanos) -> u16 {
        let settings = self.catalog.borrow().settings;
        let by_priority = thousandths(settings.recon_prio);
        settings
            .recon_p99
            .map_or(by_priority, |target| self.jobs.rebuild.holding.share(target, now))
    }

    /// Does what a host has asked for, and counts how long it waits if a rebuild is held to that.
    pub async fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, IoError>>,
    ) -> Result<T, IoError> {
        let done = self.timed(work).await;
        // An error, too: what cannot be read here may be because of what another machine has done
        // since.
        if done.is_ok() || self.halt.why().is_none() || self.membership.lease.is_lost() {
            self.holds().await?;
        }
        done
    }

    async fn timed<T>(&self, work: impl Future<Output = T>) -> T {
        let moves = self.jobs.rebuild.done.has_begun() || self.jobs.rebalance.done.has_begun();
        if !moves || self.catalog.borrow().settings.recon_p99.is_none() {
            return work.await;
        }
        let begun = self.world.now();
        let done = work.await;
        self.jobs.rebuild.holding.answered(self.world.now().since(begun));
        done
    }

    async fn perform_rebuild(self: &Rc<Self>, task: RebuildTask) -> Result<(), AppendError> {
        match task {
            RebuildTask::Move(id) => {
                match self.begin_to_restore(id) {
                    Some(lane) => self.start_lane(lane),
                    None => self.postpone_rebuild(),
                }
                Ok(())
            }
            RebuildTask::Search => Ok(()),
            RebuildTask::Collect(id) => {
                let unreleased = self.unreleased();
                let to_restore = |segment| self.bytes_to_restore(segment, &unreleased);
                let bytes = self.space.segments.borrow().get(id).map_or(0, to_restore);
                // From now on it counts what hosts wait for.
                self.jobs.rebuild.done.begins(self.world.now());
                let collecting = &self.jobs.rebuild.collecting;
                let Part::Done(collected) =
                    self.collect_in_parts(collecting, id, Rest::Moves).await?
                else {
                    return Ok(());
                };
                self.jobs.rebuild.not_whole.borrow_mut().remove(&id);
                if matches!(collected, Collected::Unmovable) {
                    self.postpone_unreadable(id);
                    return Ok(());
                }
                // Before the checkpoint, which may end the rebuild and what is counted of it.
                self.jobs.rebuild.done.add(bytes, self.world.now());
                if matches!(collected, Collected::LeftToCheckpoint) {
                    self.ordered_checkpoint().await;
                }
                Ok(())
            }
            RebuildTask::Settle => {
                self.ordered_checkpoint().await;
                Ok(())
            }
        }
    }

    /// Lets the segment's columns that lie on lost or leaving drives go to others.
    fn begin_to_restore(&self, id: SegmentId) -> Option<Lane> {
        let drives = self.allocation_targets();
        let geometry = self.space.segments.borrow().get(id)?.geometry.clone();
        let is_off = |column: &usize| !drives.contains(&geometry.columns[*column].drive);
        let columns: Vec<usize> = (0..geometry.columns.len()).filter(is_off).collect();
        // From now on it counts what hosts wait for.
        self.jobs.rebuild.done.begins(self.world.now());
        self.begin_lane(id, &columns, &drives, Purpose::Restore)
    }

    /// A lane that was to restore columns has ended.
    pub fn restored(&self, lane: &Lane, ended: Relocated) {
        match ended {
            Relocated::Part | Relocated::GivenUp => {}
            Relocated::Whole => {
                self.count(|counters| counters.jobs.columns_restored += lane.columns() as u64);
            }
            Relocated::Unreadable => {
                let id = lane.segment;
                tracing::warn!(
                    "{id} cannot be restored as a whole: the rebuild appends what is readable of \
                     it elsewhere"
                );
                self.space.segments.borrow_mut().set_unmovable(id, false);
                self.jobs.rebuild.not_whole.borrow_mut().insert(id);
            }
        }
        self.jobs.rebuild.scan_backoff.at_once(self.world.now());
    }

    /// Something of it cannot be read from what is left. It may be later: a drive may read it after
    /// all, or come back.
    fn postpone_unreadable(&self, id: SegmentId) {
        self.jobs.rebuild.done.meets(Obstacle::Unreadable);
        let until = Nanos(self.world.now().0 + RETRY.as_nanos() as u64);
        self.jobs.rebuild.postponed.borrow_mut().insert(id, until);
    }

    /// What a rebuild has to write for a segment: columns that lie where they are not to, and
    /// parity that it lacks.
    pub fn bytes_to_restore(&self, segment: &Segment, unreleased: &[DriveId]) -> u64 {
        let lacking = self.identity.level.parity().saturating_sub(segment.geometry.parity());
        segment.bytes_of_columns(segment.columns_on(unreleased) + lacking)
    }

    /// The rebuild's share of the time has changed: what was to be waited for by the old one is
    /// not.
    pub fn rebuild_at_once(&self) {
        self.jobs.rebuild.share.at_once(self.world.now());
        self.jobs.rebuild.scan_backoff.at_once(self.world.now());
        self.jobs.relocation.look_again();
        self.requests.notify();
    }

    /// There is no room to rebuild to: it is looked again later.
    pub fn postpone_rebuild(&self) {
        self.jobs.rebuild.done.meets(Obstacle::NoRoom);
        self.jobs.rebuild.share.pause(self.world.now(), ROOM_RETRY);
    }

    /// A rebuild or a rebalance is over: hosts may be others by the next one.
    pub fn forget_waits(&self) {
        self.jobs.rebuild.holding.forget();
    }

    /// Nothing is to be rebuilt any more: the next loss is counted anew.
    pub fn rebuild_ended(&self) {
        self.jobs.rebuild.done.forget();
        self.jobs.rebuild.collecting.forget();
        // A rebalance that goes on has hosts of its own to answer.
        if !self.is_rebalancing() {
            self.forget_waits();
        }
        self.jobs.rebuild.postponed.borrow_mut().clear();
        self.jobs.rebuild.not_whole.borrow_mut().clear();
    }
}

/// Whether the next root releases one of these drives.
fn could_release(segments: &Segments, unreleased: &[DriveId]) -> bool {
    let is_free =
        |drive: &DriveId| !segments.summary().is_used(*drive) && !segments.is_target(*drive);
    unreleased.iter().any(is_free) && !segments.summary().has_thin()
}

#[cfg(test)]
mod tests;
