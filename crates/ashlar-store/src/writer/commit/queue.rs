//! The queue of what hosts write: what waits, what is in flight, who is told.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use ashlar_block::latency::BusyTime;
use ashlar_block::{IoError, Nanos};
use ashlar_format::ids::Lsn;
use ashlar_format::table::Occupancy;
use tokio::sync::Notify;

use super::answers::{Answers, Ticket};
use crate::base::counters::StepCounters;
use crate::base::recycle::Recycled;
use crate::space::segments::Claim;
use crate::writer::append::{Appended, BatchRoom, StreamId};
use crate::writer::batch::{Item, Room};
use crate::writer::zeroing::Admitted;

pub(crate) type Answer = Result<(), IoError>;

/// Records that are written together or not at all, and who waits for them.
pub(super) struct Unit {
    pub(super) items: Recycled<Item>,
    pub(super) hot: bool,
    pub(super) given: Nanos,
    pub(super) ticket: Ticket,
    /// Updates that its zeros may make.
    pub(super) admitted: Option<Admitted>,
}

impl Unit {
    pub(super) fn stores_nothing(&self) -> bool {
        self.items.iter().all(|item| item.fragment.is_none())
    }
}

/// Who waits for a unit, and since when.
pub(crate) struct Waiter {
    pub(super) ticket: Ticket,
    given: Nanos,
}

/// What a batch has of its units beside their items.
pub(super) struct Waiters {
    pub(super) all: Recycled<Waiter>,
    /// Kept until the batch is in the maps.
    admitted: Vec<Admitted>,
}

impl Waiters {
    pub(super) fn new(all: Recycled<Waiter>) -> Self {
        Waiters { all, admitted: Vec::new() }
    }

    /// How many have waited until then, and for how long.
    pub(super) fn waited_until(&self, durable_at: Nanos) -> StepCounters {
        StepCounters {
            operations: self.all.len() as u64,
            latency: self.all.iter().map(|waiter| durable_at.since(waiter.given)).sum(),
            // The queue knows: several batches may be on their way at a time.
            busy: Duration::ZERO,
        }
    }
}

/// A batch of units that has its number. Batches publish in order.
pub(super) struct Submitted {
    pub(super) lsn: Lsn,
    pub(super) stream: StreamId,
    pub(super) hot: bool,
    pub(super) waiters: Waiters,
    /// Here once the batch is durable.
    pub(super) done: Option<Appended>,
}

/// What hosts have written and is not answered yet.
#[derive(Default)]
pub(crate) struct CommitQueue {
    pub(super) answers: Answers,
    pub(super) waiting: RefCell<VecDeque<Unit>>,
    pub(super) waiting_room: Cell<Room>,
    pub(super) submitted: RefCell<VecDeque<Submitted>>,
    /// Units wait for the checkpoint that makes them durable: they are in the maps, and neither
    /// waiting nor submitted.
    pub(super) zeroing: Cell<bool>,
    /// A batch is being appended: one at a time, so that they keep their order.
    pub(super) appending: Cell<bool>,
    pub(super) in_flight: Cell<usize>,
    /// For how long batches were on their way to the drives.
    pub(crate) busy: BusyTime,
    /// Bytes of fragments that wait or are in flight.
    pub(super) pending_bytes: Cell<usize>,
    /// Notified when there is something to submit, or a batch is done.
    pub(super) notify: Notify,
    /// Notified when something waits that gives space back.
    pub(super) giving_back: Notify,
    /// Notified when what waits has been refused.
    pub(super) refused: Notify,
    /// Notified when there are fewer bytes pending.
    uncrowded: Notify,
    pub(super) stopping: Cell<bool>,
    pub(super) stopped: Cell<bool>,
    /// Notified when the tasks are ending.
    pub(super) ended: Notify,
}

impl CommitQueue {
    /// The pool has halted: answers everybody, and forgets what was not submitted. Nothing of what
    /// was gets into the maps any more.
    pub fn fail_all(&self, error: &IoError) {
        self.answer_all(error);
        self.submitted.borrow_mut().iter_mut().for_each(|batch| batch.waiters.admitted.clear());
        self.done_with(self.pending_bytes.get());
    }

    /// Bytes of fragments that wait or are in flight.
    pub fn pending_bytes(&self) -> usize {
        self.pending_bytes.get()
    }

    /// Returns once fewer than `bytes_max` are pending. Thousands may wait: who gets on tells the
    /// next one, instead of all looking whenever a batch is done.
    pub async fn wait_uncrowded(&self, bytes_max: usize) {
        let is_crowded = || self.pending_bytes.get() >= bytes_max && !self.stopping.get();
        if !is_crowded() {
            return;
        }
        while is_crowded() {
            self.uncrowded.notified().await;
        }
        self.uncrowded.notify_one();
    }

    /// So many bytes of fragments wait no more, nor are in flight. Saturating: when the pool has
    /// halted there is nothing pending any more.
    pub(super) fn done_with(&self, bytes: usize) {
        self.pending_bytes.set(self.pending_bytes.get().saturating_sub(bytes));
        self.uncrowded.notify_one();
    }

    /// Answers everybody with an error. What was submitted stays on its way; what was not is
    /// forgotten: later writes to the same blocks may be submitted before it, and it must not come
    /// after them.
    pub fn answer_all(&self, error: &IoError) {
        self.refuse(|_| true, error);
        let mut submitted = self.submitted.borrow_mut();
        for waiter in submitted.iter_mut().flat_map(|batch| batch.waiters.all.drain(..)) {
            self.answers.answer(waiter.ticket, Err(error.clone()));
        }
    }

    /// Answers those whose writes have not been submitted with an error, and forgets the writes.
    /// What only gives space back stays.
    pub fn refuse_waiting(&self, error: &IoError) {
        self.refuse(|unit| !unit.stores_nothing(), error);
    }

    pub(super) fn refuse(&self, which: impl FnMut(&Unit) -> bool, error: &IoError) {
        let (refused, kept): (VecDeque<Unit>, VecDeque<Unit>) =
            self.waiting.take().into_iter().partition(which);
        self.wait_with(kept);
        for unit in refused {
            self.done_with(stored_bytes(&unit.items));
            self.answers.answer(unit.ticket, Err(error.clone()));
        }
        self.refused.notify_waiters();
        self.notify();
    }

    /// There may be something to submit.
    pub(super) fn notify(&self) {
        // Who slept last: its memory is still in the caches.
        self.notify.notify_last();
    }

    /// The heat of the next batch, which is that of who waits longest, and the room that it
    /// wants: if there is more than `batch` has, a little more than that.
    pub(super) fn next_batch(&self, batch: BatchRoom) -> Option<(bool, Room)> {
        let waiting = self.waiting.borrow();
        let hot = waiting.front()?.hot;
        let (mut selection, mut room) = (Selection::of(hot), Room::default());
        for unit in waiting.iter().filter(|unit| selection.takes(unit)) {
            room = room.with(&unit.items);
            if !room.surely_fits(batch.data, batch.rows_max) {
                break;
            }
        }
        Some((hot, room))
    }

    /// Takes as many of the waiting units of one heat as fit a batch: their items and their
    /// waiters.
    pub(super) fn take(
        &self,
        hot: bool,
        batch: BatchRoom,
        items: &mut Vec<Item>,
        waiters: &mut Waiters,
    ) {
        let mut waiting = self.waiting.borrow_mut();
        let (mut selection, mut room) = (Selection::of(hot), Room::default());
        let mut passed_over = Vec::new();
        while let Some(mut unit) = waiting.pop_front() {
            if !selection.takes(&unit) {
                passed_over.push(unit);
                continue;
            }
            let with_it = room.with(&unit.items);
            if !with_it.surely_fits(batch.data, batch.rows_max) {
                waiting.push_front(unit);
                break;
            }
            room = with_it;
            items.append(&mut unit.items);
            waiters.all.push(Waiter { ticket: unit.ticket, given: unit.given });
            waiters.admitted.extend(unit.admitted);
        }
        passed_over.into_iter().rev().for_each(|unit| waiting.push_front(unit));
        self.waiting_room.set(self.waiting_room.get().without(room));
    }

    /// These are what waits from now on.
    pub(super) fn wait_with(&self, waiting: VecDeque<Unit>) {
        let room = waiting.iter().fold(Room::default(), |room, unit| room.with(&unit.items));
        self.waiting_room.set(room);
        *self.waiting.borrow_mut() = waiting;
    }

    /// What waits may take of the window: what only gives space back is upkeep.
    pub(super) fn claim(&self) -> Claim {
        let gives_back = self.waiting.borrow().iter().all(Unit::stores_nothing);
        if gives_back { Claim::Upkeep } else { Claim::Host }
    }

    /// Whether anything of what waits gives space back.
    pub(super) fn gives_back(&self) -> bool {
        self.waiting.borrow().iter().any(Unit::stores_nothing)
    }

    /// Batches that wait, if each has so many units.
    pub(super) fn batches_waiting(&self, units: usize) -> usize {
        self.waiting.borrow().len().div_ceil(units.max(1))
    }

    /// Nothing waits and nothing is in flight: what the maps say is durable.
    pub fn is_idle(&self) -> bool {
        let busy = self.appending.get() || self.zeroing.get();
        !busy && self.waiting.borrow().is_empty() && self.submitted.borrow().is_empty()
    }

    /// Returns when nothing more will be submitted.
    pub async fn stopped(&self) {
        while !self.stopped.get() {
            self.ended.notified().await;
        }
    }

    /// No more batches are wanted.
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// No more batches: the tasks end once all is done.
    pub fn stop(&self) {
        self.stopping.set(true);
        self.notify();
    }
}

/// Which of the waiting units, looked at in their order, may go into the next batch of a
/// heat. What stores nothing is a barrier, whose order among all others stays.
struct Selection {
    hot: bool,
    passed_over: bool,
    barred: bool,
}

impl Selection {
    fn of(hot: bool) -> Self {
        Selection { hot, passed_over: false, barred: false }
    }

    fn takes(&mut self, unit: &Unit) -> bool {
        self.barred |= self.passed_over && unit.stores_nothing();
        let takes = !self.barred && (unit.stores_nothing() || unit.hot == self.hot);
        self.passed_over |= !takes;
        takes
    }
}

/// What the fragments of `items` take of data columns.
pub(crate) fn occupancy(items: &[Item]) -> Occupancy {
    let fragments = items.iter().filter_map(|item| item.fragment.as_ref());
    fragments.fold(Occupancy::default(), |sum, fragment| Occupancy {
        slots: sum.slots + fragment.slots() as u64,
        fragments: sum.fragments + 1,
    })
}

pub(super) fn stored_bytes(items: &[Item]) -> usize {
    occupancy(items).bytes() as usize
}

#[cfg(test)]
mod tests;
