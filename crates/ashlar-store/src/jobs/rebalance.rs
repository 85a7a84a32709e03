//! Rebalance spreads what was written when the pool had fewer drives over all its drives, in
//! stripes as wide as they allow.
//!
//! New data goes to the drives with most room by itself; old data stays until somebody asks for a
//! rebalance. It empties segments whose stripes are narrower than new ones would be, as collection
//! does, which writes their data anew. Then it moves columns from fuller drives to emptier ones
//! ([`relocate`](crate::jobs::relocate)) until all are equally full. The catalog has the wish, so
//! it survives restarts; the job looks at the segments that there are, not at a list. It yields to
//! hosts, to space and to rebuilds, and has the same share of the time as rebuilds.

pub(crate) mod policy;
mod survey;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{DriveId, IoError, World};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::{SegmentKind, SegmentState};

use crate::jobs::collect::emptying::{InParts, Part};
use crate::jobs::collect::{Collected, Rest};
use crate::jobs::moves::MoveState;
use crate::jobs::progress::{Done, Obstacle, Progress};
use crate::jobs::relocate::{Lane, Purpose, Relocated};
use crate::jobs::share::TimeShare;
use crate::pool::Pool;
use crate::space::capacity::Request;
use crate::space::segments::{Segment, Segments};
use crate::writer::pages::AppendError;
use policy::{ColumnMove, are_even, best_move, chunks_beyond};
use survey::{Round, Slice, Survey};

/// When it is looked again whether more can be done.
const RETRY: Duration = Duration::from_secs(1);

/// Checkpoints that may replace what is reserved by something wider: they replace most of it each
/// time.
const RENEWALS: u8 = 8;

/// What is to be done next for a rebalance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum RebalanceTask {
    /// Write what lives of a segment anew, in wider stripes.
    Widen(SegmentId),
    /// Let a column of a segment go to a drive that is emptier.
    Move(SegmentId, ColumnMove),
    /// Look among further segments.
    Look,
    /// Have a root say where columns are, and free what nothing needs any more.
    Settle,
    /// Nothing is left to be done.
    End,
}

/// What is known of a rebalance between two steps.
#[derive(Default)]
pub(crate) struct Rebalance {
    share: TimeShare,
    survey: Survey,
    /// The segment that is written anew.
    widening: InParts,
    /// Segments that stay as they are, because something of them cannot be read; with the LSN of
    /// their first batch, for numbers come round.
    stay: RefCell<BTreeSet<(SegmentId, Lsn)>>,
    /// Checkpoints that may yet find that what is reserved could be wider.
    renewals_left: Cell<u8>,
    /// What has been written for it.
    pub done: Done,
}

impl Rebalance {
    /// Whether the next window is to be as wide as drives allow by now.
    pub fn renews_window(&self) -> bool {
        self.renewals_left.get() > 0
    }
}

impl<W: World> Pool<W> {
    /// Begins to spread over all drives what lives by now, also if that goes on already for what
    /// lived before. Durable when it returns.
    pub async fn start_rebalance(&self) -> Result<(), IoError> {
        self.halt.check()?;
        self.admit_request(Request::Change)?;
        if !self.is_rebalancing() {
            self.jobs.rebalance.done.forget();
            self.note_rebalance();
        }
        self.jobs.rebalance.stay.borrow_mut().clear();
        self.jobs.rebalance.renewals_left.set(RENEWALS);
        self.catalog.borrow_mut().rebalance_below = Some(self.writer.lsns.next());
        self.rebalance_at_once();
        self.checkpoint_now().await
    }

    /// What could be wider of the window is being replaced, but for a few. What has been written
    /// into those since the last time is to be spread as well.
    pub fn window_renewed(&self, was_narrow: bool) {
        let left = self.jobs.rebalance.renewals_left.get() - 1;
        self.jobs.rebalance.renewals_left.set(if was_narrow { left } else { 0 });
        self.jobs.rebalance.survey.begin_anew();
        let below = &mut self.catalog.borrow_mut().rebalance_below;
        *below = below.map(|_| self.writer.lsns.next());
    }

    /// Stops what [`Self::start_rebalance`] has begun: everything stays where it is. Durable when
    /// it returns.
    pub async fn stop_rebalance(&self) -> Result<(), IoError> {
        self.halt.check()?;
        self.admit_request(Request::GivingBack)?;
        self.end_rebalance(MoveState::Stopped);
        self.checkpoint_now().await
    }

    fn end_rebalance(&self, state: MoveState) {
        self.note_rebalance_end(state);
        self.catalog.borrow_mut().rebalance_below = None;
        self.jobs.rebalance.renewals_left.set(0);
        self.jobs.rebalance.survey.begin_anew();
        self.jobs.rebalance.widening.forget();
        self.jobs.rebalance.done.forget();
        self.jobs.relocation.look_again();
        self.forget_waits();
    }

    /// Whether somebody wants what lives to be spread over all drives.
    pub fn is_rebalancing(&self) -> bool {
        self.catalog.borrow().rebalance_below.is_some()
    }

    /// How far it is, if one goes on. Segments that were narrow when they were written since it
    /// began count as left, though it does not touch them: the sums do not know when they came.
    pub fn rebalance_progress(&self) -> Option<Progress> {
        self.catalog.borrow().rebalance_below?;
        let (segments, drives) = (self.space.segments.borrow(), self.allocation_targets());
        let width = segments.width_now(&drives);
        let narrow = segments.summary().bytes_narrower(width);
        let bytes_beyond = chunks_beyond(&segments.loads(&drives)) * self.identity.chunk_bytes();
        let bytes_left = narrow.saturating_sub(self.bytes_that_stay_narrow(&segments, width))
            + bytes_beyond.saturating_sub(self.jobs.relocation.bytes_begun());
        Some(self.jobs.rebalance.done.progress(bytes_left, self.world.now()))
    }

    /// Bytes of segments that could be wider and cannot be moved.
    fn bytes_that_stay_narrow(&self, segments: &Segments, width: usize) -> u64 {
        let stay = self.jobs.rebalance.stay.borrow();
        let is_same = |id: SegmentId, first_lsn: Lsn| {
            segments.get(id).is_some_and(|segment| segment.first_lsn == first_lsn)
        };
        let stay =
            stay.iter().filter(|(id, first_lsn)| is_same(*id, *first_lsn)).map(|(id, _)| *id);
        let ids: BTreeSet<SegmentId> = segments.summary().unmovable().chain(stay).collect();
        let narrow =
            ids.iter().filter_map(|id| segments.get(*id)).filter(|it| could_be_wider(it, width));
        narrow.map(Segment::bytes).sum()
    }

    fn stays(&self, id: SegmentId, segment: &Segment) -> bool {
        segment.is_unmovable()
            || self.jobs.rebalance.stay.borrow().contains(&(id, segment.first_lsn))
    }

    /// Whether there may be something to be done for a rebalance now.
    pub fn rebalance_is_ready(&self) -> bool {
        let now = self.world.now();
        self.rebalance_is_wanted()
            && self.jobs.rebalance.share.has_come(now)
            && self.may_begin_lane()
    }

    /// Whether there is one that is not held up by the loss of a drive.
    fn rebalance_is_wanted(&self) -> bool {
        self.is_rebalancing() && self.unreleased().is_empty()
    }

    /// When to look again whether there is.
    pub fn rebalance_waits(&self) -> Option<Duration> {
        // When a lane ends it is looked again.
        let is_wanted =
            self.rebalance_is_wanted() && self.halt.why().is_none() && self.may_begin_lane();
        is_wanted.then(|| self.jobs.rebalance.share.wait(self.world.now()))
    }

    /// The share of the time has changed: what was to be waited for by the old one is not.
    pub fn rebalance_at_once(&self) {
        self.jobs.rebalance.survey.begin_anew();
        self.jobs.rebalance.share.at_once(self.world.now());
        self.jobs.relocation.look_again();
        self.requests.notify();
    }

    /// Does a part of it, and leaves the others their share of the time.
    pub async fn rebalance_step(self: &Rc<Self>) -> Result<(), AppendError> {
        let begun = self.world.now();
        let Some(task) = self.next_rebalance() else {
            self.wait_for_room_or_batches();
            return Ok(());
        };
        let done = self.perform_rebalance(task).await;
        let ended = self.world.now();
        self.jobs.rebalance.share.stepped(begun, ended, self.rebuild_share(ended));
        done
    }

    /// There is no room: it is looked again later.
    pub fn postpone_rebalance(&self) {
        self.jobs.rebalance.done.meets(Obstacle::NoRoom);
        self.jobs.rebalance.share.pause(self.world.now(), RETRY);
    }

    /// When a lane ends it is looked again at once.
    fn wait_for_room_or_batches(&self) {
        if self.jobs.relocation.lanes() == 0 && !self.may_widen() {
            return self.postpone_rebalance();
        }
        self.jobs.rebalance.share.pause(self.world.now(), RETRY);
    }

    /// What is to be done next. `None`: it waits for room, or for batches that are on their way.
    fn next_rebalance(&self) -> Option<RebalanceTask> {
        let segments = self.space.segments.borrow();
        let below = self.catalog.borrow().rebalance_below?;
        if self.relocations_must_settle(&segments) {
            return Some(RebalanceTask::Settle);
        }
        let survey = &self.jobs.rebalance.survey;
        let (floor, drives) = (self.writer.lsns.floor(), self.allocation_targets());
        let slice = survey.slice(&segments, &drives);
        let widen = self.next_to_widen(&segments, &slice, below, floor);
        if let Some((true, id)) = widen.filter(|_| self.may_widen()) {
            survey.works();
            return Some(RebalanceTask::Widen(id));
        }
        let column = self.next_to_move(&segments, &slice, floor, &drives);
        if let Some((true, id, column)) = column {
            survey.works();
            return Some(RebalanceTask::Move(id, column));
        }
        let found = Round {
            widening_lacks_room: widen.is_some_and(|(is_settled, _)| is_settled),
            waits: widen.is_some() || column.is_some(),
            ..Round::default()
        };
        match survey.finds_nothing(&slice, found) {
            None => Some(RebalanceTask::Look),
            Some(round) => self.without_work(round, &segments, floor),
        }
    }

    /// What is to be done where a whole round has found no work.
    fn without_work(&self, round: Round, segments: &Segments, floor: Lsn) -> Option<RebalanceTask> {
        // When a lane ends it is looked again.
        if self.jobs.relocation.lanes() > 0 {
            return None;
        }
        // A root may make room for more.
        let may_gain_room = round.widening_lacks_room && segments.has_reclaimable(floor);
        if !self.jobs.relocation.is_settled() || may_gain_room {
            return Some(RebalanceTask::Settle);
        }
        (!round.waits).then_some(RebalanceTask::End)
    }

    /// Whether there is room to write segments anew; columns need less.
    fn may_widen(&self) -> bool {
        self.free_segments() > self.marks().collect
    }

    /// The segment to be written anew next, and whether it may be now: the one that has begun, or
    /// else that of which least lives, so that it gives its space to the others.
    fn next_to_widen(
        &self,
        segments: &Segments,
        slice: &Slice<'_>,
        below: Lsn,
        floor: Lsn,
    ) -> Option<(bool, SegmentId)> {
        let is_wanted = |id: SegmentId, segment: &Segment| {
            could_be_wider(segment, slice.width)
                && segment.first_lsn < below
                && !self.stays(id, segment)
        };
        let begun = self.jobs.rebalance.widening.segment(segments);
        let begun = begun.and_then(|id| Some((id, segments.get(id)?)));
        let order = |(id, segment): &(SegmentId, &Segment)| {
            let is_begun = begun.is_some_and(|(begun, _)| begun == *id);
            (segment.last_lsn >= floor, !is_begun, segment.live.bytes(), *id)
        };
        let all = slice.segments.iter().copied().chain(begun);
        let next = all.filter(|(id, segment)| is_wanted(*id, segment)).min_by_key(order);
        next.map(|(id, segment)| (segment.last_lsn < floor, id))
    }

    /// The column to go elsewhere next, and whether it may now: the one for which the two drives
    /// differ most, of the oldest segment.
    fn next_to_move(
        &self,
        segments: &Segments,
        slice: &Slice<'_>,
        floor: Lsn,
        drives: &[DriveId],
    ) -> Option<(bool, SegmentId, ColumnMove)> {
        let loads = segments.loads(drives);
        if are_even(&loads) {
            return None;
        }
        let is_movable =
            |id, segment| is_whole(segment) && !segments.is_moving(id) && !self.stays(id, segment);
        let movable = slice.segments.iter().filter(|(id, segment)| is_movable(*id, segment));
        let moves = movable.filter_map(|(id, segment)| {
            Some((segment.last_lsn < floor, *id, best_move(&segment.geometry, &loads)?))
        });
        let order = |(is_settled, id, column): &(bool, SegmentId, ColumnMove)| {
            (*is_settled, column.gain, Reverse(*id))
        };
        moves.max_by(|one, other| order(one).partial_cmp(&order(other)).expect("parts are numbers"))
    }

    async fn perform_rebalance(self: &Rc<Self>, task: RebalanceTask) -> Result<(), AppendError> {
        match task {
            RebalanceTask::Widen(id) => self.widen(id).await?,
            RebalanceTask::Move(id, column) => self.move_column(id, column).await,
            RebalanceTask::Look => {}
            RebalanceTask::Settle => {
                self.ordered_checkpoint().await;
                if !self.may_widen() {
                    self.postpone_rebalance();
                }
            }
            RebalanceTask::End => {
                self.end_rebalance(MoveState::Done);
                self.ordered_checkpoint().await;
            }
        }
        Ok(())
    }

    async fn widen(&self, id: SegmentId) -> Result<(), AppendError> {
        let before = self
            .space
            .segments
            .borrow()
            .get(id)
            .map(|segment| (segment.first_lsn, segment.bytes()));
        let Some((first_lsn, bytes)) = before else { return Ok(()) };
        // From now on it counts what hosts wait for.
        self.jobs.rebalance.done.begins(self.world.now());
        let part = self.collect_in_parts(&self.jobs.rebalance.widening, id, Rest::Stays).await;
        if !self.is_rebalancing() {
            // Somebody has stopped it meanwhile.
            self.jobs.rebalance.widening.forget();
        }
        match part? {
            Part::More => return Ok(()),
            Part::Done(Collected::Unmovable) => return Ok(()),
            Part::Done(Collected::LeftToCheckpoint) => self.ordered_checkpoint().await,
            Part::Done(Collected::Emptied) => {}
        }
        // It would be tried again and again.
        if self
            .space
            .segments
            .borrow()
            .get(id)
            .is_some_and(|segment| segment.first_lsn == first_lsn && is_whole(segment))
        {
            self.jobs.rebalance.stay.borrow_mut().insert((id, first_lsn));
        }
        self.rebalanced(bytes);
        Ok(())
    }

    async fn move_column(
        self: &Rc<Self>,
        id: SegmentId,
        ColumnMove { column, to, .. }: ColumnMove,
    ) {
        // From now on it counts what hosts wait for.
        self.jobs.rebalance.done.begins(self.world.now());
        match self.begin_lane(id, &[column], &[to], Purpose::Spread) {
            Some(lane) => self.start_lane(lane),
            // What columns have left is free once a root says so.
            None if !self.jobs.relocation.is_settled() => self.ordered_checkpoint().await,
            None => self.postpone_rebalance(),
        }
    }

    /// A lane that was to take a column to an emptier drive has ended.
    pub fn spread(&self, lane: &Lane, ended: Relocated) {
        match ended {
            Relocated::Part => {}
            // Its columns are to be moved all the same, later.
            Relocated::GivenUp => self.jobs.rebalance.survey.begin_anew(),
            Relocated::Whole => {
                self.count(|counters| counters.jobs.columns_moved += lane.columns() as u64)
            }
            Relocated::Unreadable => {
                let id = lane.segment;
                tracing::warn!("{id} cannot be read whole: its columns stay where they are");
                self.jobs.rebalance.stay.borrow_mut().insert((id, lane.first_lsn));
            }
        }
        self.jobs.rebalance.share.at_once(self.world.now());
    }

    pub fn rebalanced(&self, bytes: u64) {
        // Somebody may have stopped it meanwhile.
        if bytes > 0 && self.is_rebalancing() {
            self.jobs.rebalance.done.add(bytes, self.world.now());
        }
    }
}

/// Whether it would be wider if it were written now.
fn could_be_wider(segment: &Segment, width: usize) -> bool {
    is_whole(segment)
        && segment.kind != SegmentKind::Journal
        && segment.geometry.columns.len() < width
}

/// All of it has been written, and something of it lives.
fn is_whole(segment: &Segment) -> bool {
    segment.state == SegmentState::Sealed && !segment.is_empty()
}

#[cfg(test)]
mod tests;
