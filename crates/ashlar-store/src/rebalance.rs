//! Rebalance: what was written when the pool had fewer drives is spread over all that it has, in stripes as wide as they allow.
//!
//! New data goes to the drives with most room by itself; what is there stays until somebody asks for this. Segments whose stripes
//! are narrower than new ones would be are emptied, as by collection, and so are written anew; then columns go from fuller drives
//! to emptier ones ([`relocation`](crate::relocation)) until all are equally full. The wish is in the catalog: it survives
//! restarts, and looks at what is there, not at a list. It yields to hosts, to space and to rebuilds, and has the same share of the
//! time as those.

pub(crate) mod policy;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use ashlar_block::{DriveId, IoError, Nanos, SECTOR_BYTES, World};

use crate::format::location::SegmentId;
use crate::format::table::{SegmentKind, SegmentState};
use crate::gc::Collected;
use crate::pages::AppendError;
use crate::pool::Pool;
use crate::progress::{Done, Progress};
use crate::rebuild::policy::pause_after;
use crate::relocation::Relocated;
use crate::segments::{Segment, Segments, Shape};
use crate::types::Lsn;
use policy::{ColumnMove, best_move, chunks_beyond};

/// When it is looked again whether more can be done.
const RETRY: Duration = Duration::from_secs(1);

/// What is to be done next for a rebalance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum RebalanceTask {
    /// Write what lives of a segment anew, in wider stripes.
    Widen(SegmentId),
    /// Let a column of a segment go to a drive that is emptier.
    Move(SegmentId, ColumnMove),
    /// Go on with columns of a segment that are on their way.
    GoOn(SegmentId),
    /// Have a root say where columns are.
    Settle,
    /// Nothing is left to be done.
    End,
}

/// Whether there is something to be done.
enum ToDo<T> {
    /// This.
    Now(T),
    /// Once batches that are on their way to the drives have come there.
    Later,
    Nothing,
}

impl<T> ToDo<T> {
    /// `next`: whether it may be done now, and what it is.
    fn of(next: Option<(bool, T)>) -> Self {
        match next {
            Some((true, what)) => ToDo::Now(what),
            Some((false, _)) => ToDo::Later,
            None => ToDo::Nothing,
        }
    }

    fn now(self) -> Option<T> {
        match self {
            ToDo::Now(what) => Some(what),
            ToDo::Later | ToDo::Nothing => None,
        }
    }
}

/// What is known of a rebalance between two steps.
#[derive(Default)]
pub(crate) struct Rebalance {
    /// When the next step may begin: the others' share of the time is until then.
    next_step_at: Cell<Nanos>,
    /// Segments of which something cannot be read. They stay as they are.
    unreadable: RefCell<BTreeSet<SegmentId>>,
    /// The next window is to be as wide as drives allow.
    renews_window: Cell<bool>,
    /// What has been written for it.
    pub done: Done,
}

impl Rebalance {
    /// Whether the next window takes the place of a narrower one. True once.
    pub fn takes_new_window(&self) -> bool {
        self.renews_window.take()
    }
}

impl<W: World> Pool<W> {
    /// Begins to spread what lives over all drives, unless that goes on already. Durable when it returns.
    pub async fn start_rebalance(&self) -> Result<(), IoError> {
        self.running()?;
        if self.catalog.borrow().rebalance_below.is_none() {
            self.catalog.borrow_mut().rebalance_below = Some(self.log.next());
            self.rebalance.renews_window.set(true);
            self.rebalance.unreadable.borrow_mut().clear();
            self.rebalance.done.forget();
        }
        self.rebalance_at_once();
        self.checkpoint_now().await
    }

    /// Stops what [`Self::start_rebalance`] has begun: everything stays where it is. Durable when it returns.
    pub async fn stop_rebalance(&self) -> Result<(), IoError> {
        self.running()?;
        self.end_rebalance();
        self.checkpoint_now().await
    }

    fn end_rebalance(&self) {
        self.catalog.borrow_mut().rebalance_below = None;
        self.rebalance.done.forget();
    }

    /// How far it is, if one goes on.
    pub fn rebalance_progress(&self) -> Option<Progress> {
        let below = self.catalog.borrow().rebalance_below?;
        let segments = self.segments.borrow();
        let drives = self.homes();
        let narrow = self.narrow(&segments, below, &drives);
        let to_widen: u64 = narrow.map(|(_, segment)| bytes_of(segment)).sum();
        let to_move = chunks_beyond(&segments.loads(&drives)) * self.identity.chunk_bytes();
        let bytes_left = to_widen + to_move.saturating_sub(self.relocation.bytes_begun());
        Some(self.rebalance.done.progress(bytes_left, self.world.now()))
    }

    /// Segments that were there when it began, and that would be wider if they were written now.
    fn narrow<'a>(
        &self,
        segments: &'a Segments,
        below: Lsn,
        drives: &[DriveId],
    ) -> impl Iterator<Item = (SegmentId, &'a Segment)> {
        let width = segments.width_now(Shape::Striped, drives);
        let is_narrow = move |segment: &Segment| {
            segment.state == SegmentState::Sealed
                && segment.kind != SegmentKind::Journal
                && segment.first_lsn < below
                && segment.geometry.columns.len() < width
                && !segment.is_empty()
        };
        segments.iter().filter(move |(_, segment)| is_narrow(segment))
    }

    /// What is to be done for a rebalance, if one goes on. `may_widen`: there is room to write segments anew; columns need less.
    pub fn next_rebalance(
        &self,
        segments: &Segments,
        floor: Lsn,
        drives: &[DriveId],
        may_widen: bool,
    ) -> Option<RebalanceTask> {
        if !self.unreleased().is_empty() {
            return None;
        }
        let Some(below) = self.catalog.borrow().rebalance_below else {
            return self.relocation.segment().map(|_| RebalanceTask::Settle);
        };
        if self.world.now() < self.rebalance.next_step_at.get() {
            return None;
        }
        if self.relocation.must_settle(segments) {
            return Some(RebalanceTask::Settle);
        }
        if let Some(id) = self.relocation.segment() {
            return Some(RebalanceTask::GoOn(id));
        }
        match self.to_widen(segments, below, floor, drives) {
            ToDo::Now(id) if may_widen => Some(RebalanceTask::Widen(id)),
            ToDo::Now(_) | ToDo::Later => self.to_move(segments, floor, drives).now(),
            ToDo::Nothing => match self.to_move(segments, floor, drives) {
                ToDo::Nothing if self.relocation.is_settled() => Some(RebalanceTask::End),
                ToDo::Nothing => Some(RebalanceTask::Settle),
                column => column.now(),
            },
        }
    }

    /// A segment to be written anew: the one of which least lives, so that it gives its space to the others.
    fn to_widen(&self, segments: &Segments, below: Lsn, floor: Lsn, drives: &[DriveId]) -> ToDo<SegmentId> {
        let unmovable = self.unmovable.borrow();
        let narrow = self.narrow(segments, below, drives).filter(|(id, _)| !unmovable.contains(id));
        // Those that are settled come first, the cheapest of them before the others.
        let next = narrow.min_by_key(|(id, segment)| (segment.last_lsn >= floor, segment.live.bytes(), *id));
        ToDo::of(next.map(|(id, segment)| (segment.last_lsn < floor, id)))
    }

    /// A column to go elsewhere: the one of all for which the two drives differ most.
    fn to_move(&self, segments: &Segments, floor: Lsn, drives: &[DriveId]) -> ToDo<RebalanceTask> {
        let unreadable = self.rebalance.unreadable.borrow();
        let loads = segments.loads(drives);
        let best = segments
            .iter()
            .filter(|(id, segment)| {
                segment.state == SegmentState::Sealed && !segment.is_empty() && !unreadable.contains(id)
            })
            .filter_map(|(id, segment)| Some((id, segment, best_move(&segment.geometry, &loads)?)))
            .max_by(|(_, _, one), (_, _, other)| one.compare(other));
        ToDo::of(
            best.map(|(id, segment, column)| (segment.last_lsn < floor, RebalanceTask::Move(id, column))),
        )
    }

    /// When to look again what can be done for a rebalance.
    pub fn rebalance_waits(&self) -> Option<Duration> {
        self.catalog.borrow().rebalance_below?;
        if self.halted().is_some() || !self.unreleased().is_empty() {
            return None;
        }
        let pause = self.rebalance.next_step_at.get().since(self.world.now());
        Some(if pause.is_zero() { RETRY } else { pause })
    }

    /// The share of the time has changed: what was to be waited for by the old one is not.
    pub fn rebalance_at_once(&self) {
        self.rebalance.next_step_at.set(self.world.now());
        self.orders.ring();
    }

    /// Does a part of it, and leaves the others their share of the time.
    pub async fn rebalance_step(&self, task: RebalanceTask) -> Result<(), AppendError> {
        let begun = self.world.now();
        let done = self.perform_rebalance(task).await;
        let ended = self.world.now();
        let pause = pause_after(ended.since(begun), self.rebuild_share(ended));
        self.pause_rebalance(pause);
        done
    }

    /// There is no room: it is looked again later.
    pub fn postpone_rebalance(&self) {
        self.pause_rebalance(RETRY);
    }

    fn pause_rebalance(&self, pause: Duration) {
        let until = Nanos(self.world.now().0 + pause.as_nanos() as u64);
        self.rebalance.next_step_at.set(self.rebalance.next_step_at.get().max(until));
    }

    async fn perform_rebalance(&self, task: RebalanceTask) -> Result<(), AppendError> {
        match task {
            RebalanceTask::Widen(id) => self.widen(id).await?,
            RebalanceTask::Move(id, column) => self.move_column(id, Some(column)).await,
            RebalanceTask::GoOn(id) => self.move_column(id, None).await,
            RebalanceTask::Settle => self.settle_relocations().await,
            RebalanceTask::End => {
                self.end_rebalance();
                self.ordered_checkpoint().await;
            }
        }
        Ok(())
    }

    async fn widen(&self, id: SegmentId) -> Result<(), AppendError> {
        let bytes = self.segments.borrow().get(id).map_or(0, bytes_of);
        match self.collect(id).await? {
            Collected::Unmovable => return Ok(()),
            Collected::LeftToCheckpoint => self.ordered_checkpoint().await,
            Collected::Emptied => {}
        }
        self.rebalance.done.add(bytes, self.world.now());
        Ok(())
    }

    async fn move_column(&self, id: SegmentId, chosen: Option<ColumnMove>) {
        let choose = |segments: &mut Segments| {
            let ColumnMove { column, to, .. } = chosen?;
            segments.reserve_columns(id, &[column], &[to])
        };
        let (ended, bytes) = self.relocate(id, choose).await;
        if bytes > 0 {
            self.rebalance.done.add(bytes, self.world.now());
        }
        match ended {
            Relocated::Part | Relocated::TargetLost => {}
            Relocated::Whole(columns) => self.count(|counters| counters.columns_moved += columns as u64),
            Relocated::NoRoom => self.postpone_rebalance(),
            Relocated::Unreadable => {
                tracing::warn!("{id} cannot be read whole: its columns stay where they are");
                self.rebalance.unreadable.borrow_mut().insert(id);
            }
        }
    }
}

/// Bytes of all columns of a segment.
fn bytes_of(segment: &Segment) -> u64 {
    u64::from(segment.rows) * (segment.geometry.columns.len() * SECTOR_BYTES) as u64
}

#[cfg(test)]
mod tests;
