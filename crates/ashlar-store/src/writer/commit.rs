//! Group commit: what hosts write, from admission to the answer.

use std::pin::pin;
use std::rc::Rc;

use crate::base::limits::IN_FLIGHT_MAX;
use crate::base::recycle::Recycled;
use crate::pool::Pool;
use crate::space::capacity::Request;
use crate::space::segments::Claim;
use crate::writer::append::{Appended, BatchRoom, StreamId, WindowEmpty};
use crate::writer::batch::{Item, Room};
use crate::writer::zeroing::Admitted;
use ashlar_block::{Cause, IoError, Lba, Nanos, World};
use ashlar_format::header::{RECORDS_MAX, RecordKind};
use ashlar_format::ids::{Key, RANGE_BLOCKS, SHARD_COUNT, ShardId};
use ashlar_format::location::Pointer;
use futures_util::future::select;

mod answers;
mod queue;

use queue::{Answer, Submitted, Unit, Waiters, stored_bytes};
pub(crate) use queue::{CommitQueue, Waiter, occupancy};

/// Batches of hosts that may be in flight: one of each stream is for what leaves the journal.
const HOST_IN_FLIGHT_MAX: usize = IN_FLIGHT_MAX - 1;

/// Part of a striped batch that may be header and padding; beyond it the batch goes to the journal.
const STRIPED_WASTE_MAX: f64 = 0.25;

/// Turns that what hosts write may wait for company.
const GATHER_TURNS_MAX: usize = 8;

/// Which stream a batch of `room` goes to, if a striped one has `data` data columns.
fn choose_stream(room: Room, hot: bool, data: usize) -> StreamId {
    // With one data column the journal has nothing to save.
    let small = data > 1 && room.waste(data) > STRIPED_WASTE_MAX;
    if small { StreamId::Journal } else { StreamId::of_hosts(hot) }
}

impl<W: World> Pool<W> {
    /// Commits `items`, at most [`unit_blocks_max`](crate::writer::batch::unit_blocks_max), as one:
    /// durable and in the maps when it returns. They were `given` to be written at that time.
    /// Zeros among them have been `admitted`.
    pub async fn commit(
        &self,
        items: Recycled<Item>,
        given: Nanos,
        admitted: Option<Admitted>,
    ) -> Answer {
        self.halt.check()?;
        let room = Room::default().with(&items);
        if !room.surely_fits(1, self.identity.segment_rows) {
            return Err(IoError::new(Cause::Internal, "a write has more records than fit a batch"));
        }
        if self.writer.commit.stopping.get() {
            return Err(Cause::NotReady.into());
        }
        self.writer.commit.waiting_room.set(self.writer.commit.waiting_room.get().and(room));
        self.writer
            .commit
            .pending_bytes
            .set(self.writer.commit.pending_bytes.get() + stored_bytes(&items));
        let (ticket, answer) = self.writer.commit.answers.expect();
        let hot = self.is_hot(&items);
        let unit = Unit { items, hot, given, ticket, admitted };
        if unit.stores_nothing() {
            self.writer.commit.giving_back.notify_waiters();
        }
        self.writer.commit.waiting.borrow_mut().push_back(unit);
        self.writer.commit.notify();
        answer.await
    }

    /// Begins to submit what hosts write. A task for each batch that may be in flight: none is
    /// spawned for a batch.
    pub fn start_committing(self: &Rc<Self>) {
        (0..HOST_IN_FLIGHT_MAX).for_each(|_| self.spawn(self.clone().commit_loop()));
    }

    /// Submits a batch whenever one may be, and sees it through, until told to stop.
    async fn commit_loop(self: Rc<Self>) {
        loop {
            self.writer.commit.notify.notified().await;
            self.gather().await;
            if self.may_submit() {
                self.submit().await;
            }
            if self.writer.commit.stopping.get()
                && (self.writer.commit.is_idle() || self.halt.check().is_err())
            {
                break;
            }
        }
        self.writer.commit.stopped.set(true);
        self.writer.commit.ended.notify_one();
        // The next one ends, too.
        self.writer.commit.notify();
    }

    /// Returns at the end of the turn: what other tasks of this turn have to write joins the batch.
    /// What is so little that it would go to the journal waits for further turns, as long as each
    /// of them brings more.
    async fn gather(&self) {
        for _ in 0..GATHER_TURNS_MAX {
            let before = self.writer.commit.waiting_room.get();
            self.world.yield_now().await;
            let room = self.writer.commit.waiting_room.get();
            if room == before || room.waste(self.striped_data_columns()) <= STRIPED_WASTE_MAX {
                return;
            }
        }
    }

    /// A batch is submitted if none is in flight, or if it is full and not too many are.
    fn may_submit(&self) -> bool {
        if self.writer.commit.appending.get() || self.writer.commit.waiting.borrow().is_empty() {
            return false;
        }
        let in_flight = self.writer.commit.in_flight.get();
        let batch = self.fresh_batch_room(StreamId::Cold);
        let room = self.writer.commit.waiting_room.get();
        let full = room.records() >= RECORDS_MAX || room.rows_min(batch.data) >= batch.rows_max;
        in_flight == 0 || (full && in_flight < HOST_IN_FLIGHT_MAX)
    }

    async fn submit(self: &Rc<Self>) {
        self.writer.commit.appending.set(true);
        self.keep_pace().await;
        let next = self.append_next().await;
        self.writer.commit.appending.set(false);
        if let Some((submitted, appended)) = next {
            let units = submitted.waiters.all.len();
            self.writer.commit.submitted.borrow_mut().push_back(submitted);
            self.writer.commit.in_flight.set(self.writer.commit.in_flight.get() + 1);
            self.notify_if_more();
            let begun = self.world.now();
            let under_way = self.writer.commit.busy.begin(begun);
            self.finish_batch(appended).await;
            let ended = self.world.now();
            under_way.end(ended);
            let (took, slowdown) = (ended.since(begun), self.slowdown());
            let waiting = self.writer.commit.batches_waiting(units);
            self.space.throttle.batch_ended(took, slowdown, waiting, ended);
        }
        self.notify_if_more();
    }

    /// While space is short, batches come at the pace of collection, or slower where the pool is
    /// nearly full. That last pause ends as soon as anything that waits gives space back: it goes
    /// with the next batch, as do the writes before it.
    async fn keep_pace(&self) {
        let commit = &self.writer.commit;
        let waits = || commit.claim() == Claim::Host && !commit.is_stopping();
        let pace = self.space.pace.wait(self.world.now());
        if !pace.is_zero() && waits() {
            self.world.sleep(pace).await;
        }
        let throttle = self.space.throttle.wait(self.slowdown(), self.world.now());
        if !throttle.is_zero() && waits() && !commit.gives_back() {
            select(pin!(self.world.sleep(throttle)), pin!(commit.giving_back.notified())).await;
        }
    }

    /// Notifies whoever is to submit the next batch, if it may be.
    fn notify_if_more(&self) {
        if self.writer.commit.stopping.get() || self.may_submit() {
            self.writer.commit.notify();
        }
    }

    /// Appends the next batch of what waits. `None`: nothing waits any more, because it was refused
    /// or done otherwise, or the pool has halted.
    async fn append_next(&self) -> Option<(Submitted, Appended)> {
        loop {
            let window_formed = self.checkpoint.roots.changes();
            let refused = self.writer.commit.refused.notified();
            // What waits may have changed, and with it what comes next.
            let (hot, room) =
                self.writer.commit.next_batch(self.fresh_batch_room(StreamId::Cold))?;
            let claim = self.writer.commit.claim();
            if let Ok((submitted, appended)) = self.append_units(hot, room, claim).await {
                if claim == Claim::Host {
                    self.space.pace.written(appended.bytes(), self.world.now());
                }
                return Some((submitted, appended));
            }
            if claim == Claim::Upkeep {
                self.zero_by_checkpoint().await;
                return None;
            }
            self.halt.check().ok()?;
            self.want_segment(claim);
            select(pin!(window_formed), pin!(refused)).await;
        }
    }

    /// Appends units of one heat, to the journal if they are few.
    async fn append_units(
        &self,
        hot: bool,
        room: Room,
        claim: Claim,
    ) -> Result<(Submitted, Appended), WindowEmpty> {
        let mut waiters = Waiters::new(self.writer.lists.waiters.list());
        let mut take = |room: BatchRoom, items: &mut Vec<Item>| {
            self.writer.commit.take(hot, room, items, &mut waiters)
        };
        let mut stream = choose_stream(room, hot, self.fresh_batch_room(StreamId::Cold).data);
        let mut appended = self.try_append(stream, claim, &mut take).await;
        if appended.is_err() && stream == StreamId::Journal {
            // In a pool that is nearly full there may be no journal: then small batches are
            // striped, too.
            stream = StreamId::of_hosts(hot);
            appended = self.try_append(stream, claim, &mut take).await;
        }
        let appended = appended?;
        Ok((Submitted { lsn: appended.lsn, stream, hot, waiters, done: None }, appended))
    }

    /// Does what waits without a record of its own: a checkpoint makes it durable. A pool in which
    /// there is no segment left for records can be emptied this way.
    async fn zero_by_checkpoint(&self) {
        // What was begun before comes before it, moves included: as long as one of them is on its
        // way, the root's floor lies below what has been published since, and a replay would bring
        // that back over zeros which have no record.
        let halted = self.halt.begins();
        if self.halt.check().is_err() {
            return;
        }
        select(pin!(self.writer.lsns.quiet()), pin!(halted)).await;
        if self.halt.check().is_err() {
            return;
        }
        if let Err(error) = self.admit_request(Request::GivingBack) {
            return self.writer.commit.refuse(Unit::stores_nothing, &error);
        }
        let mut waiting = self.writer.commit.waiting.take();
        let stores =
            waiting.iter().position(|unit| !unit.stores_nothing()).unwrap_or(waiting.len());
        self.writer.commit.wait_with(waiting.split_off(stores));
        self.writer.commit.zeroing.set(true);
        self.writer.lsns.assert_quiet();
        for item in waiting.iter().flat_map(|unit| &*unit.items) {
            self.publish_item(item, None);
        }
        let records = waiting.iter().map(|unit| unit.items.len()).sum();
        self.content_changed(records);
        let done = self.checkpoint_now().await;
        self.writer.commit.zeroing.set(false);
        waiting
            .iter()
            .for_each(|unit| self.writer.commit.answers.answer(unit.ticket, done.clone()));
    }

    async fn finish_batch(self: &Rc<Self>, mut appended: Appended) {
        let durable = self.write_durably(&mut appended).await;
        self.writer.commit.in_flight.set(self.writer.commit.in_flight.get() - 1);
        if durable.is_some() {
            let mut submitted = self.writer.commit.submitted.borrow_mut();
            let batch = submitted.iter_mut().find(|batch| batch.lsn == appended.lsn);
            batch.expect("a submitted batch stays until it is published").done = Some(appended);
            drop(submitted);
            self.publish_ready();
        }
    }

    /// Publishes the durable batches at the head of the queue, in order, and answers who waits.
    fn publish_ready(self: &Rc<Self>) {
        loop {
            let mut submitted = self.writer.commit.submitted.borrow_mut();
            let Some(done) = submitted.front_mut().and_then(|batch| batch.done.take()) else {
                return;
            };
            let batch = submitted.pop_front().expect("just seen");
            drop(submitted);
            self.publish(batch, done);
        }
    }

    fn publish(self: &Rc<Self>, batch: Submitted, mut done: Appended) {
        let records = done.items.len();
        self.writer.commit.done_with(stored_bytes(&done.items));
        let durable_at = self.world.now();
        self.publish_items(&batch, &mut done);
        let noted = self.world.now().since(durable_at);
        self.count(|counters| {
            counters.steps.batch.add(batch.waiters.waited_until(durable_at));
            counters.steps.map.worked(noted);
        });
        self.published(done.lsn);
        self.content_changed(records);
        batch
            .waiters
            .all
            .iter()
            .for_each(|it| self.writer.commit.answers.answer(it.ticket, Ok(())));
        self.destage_if_full();
        self.requests.written(self.fresh_entries());
    }

    /// The maps take what a durable batch says.
    fn publish_items(&self, batch: &Submitted, done: &mut Appended) {
        for (mut item, pointer) in done.items.drain(..).zip(done.pointers.iter().copied()) {
            // Its host did not wait for it, or was told that it failed, and the volume has been
            // deleted since: a purge that has begun looks at no block twice, and after it nobody
            // would ever discard this one.
            if !self.catalog.borrow().serves(item.key.family) {
                continue;
            }
            self.publish_item(&item, pointer);
            if let (StreamId::Journal, Some(pointer)) = (batch.stream, pointer) {
                item.kind = RecordKind::Move { from: pointer.location };
                self.writer.destage.keep(batch.hot, item);
            }
        }
    }

    /// The maps take what a record of a host says.
    pub fn publish_item(&self, item: &Item, pointer: Option<Pointer>) {
        match item.kind {
            RecordKind::Write => {
                let shard = ShardId::of(item.key.family, item.key.lba);
                self.with_shard(shard, |shard| shard.set(item.key, pointer, &self.space.ledger));
            }
            RecordKind::ZeroRange { blocks } => self.set_zero(item.key, blocks),
            RecordKind::Move { .. } | RecordKind::Recode { .. } | RecordKind::Page(_) => {
                unreachable!("hosts write none of these")
            }
        }
    }

    /// The blocks from `key` on read as zeros from now on.
    pub fn set_zero(&self, key: Key, blocks: u64) {
        let range = key.lba..key.lba.plus(blocks);
        let ranges = range.start.0 / RANGE_BLOCKS..(range.end.0 - 1) / RANGE_BLOCKS + 1;
        let touched = (ranges.end - ranges.start).min(SHARD_COUNT as u64);
        for nth in 0..touched {
            let shard = ShardId::of(key.family, Lba((ranges.start + nth) * RANGE_BLOCKS));
            self.with_shard(shard, |shard| {
                shard.set_zero(key.family, key.layer, &range, &self.space.ledger)
            });
        }
        self.requests.notify();
    }
}

#[cfg(test)]
mod tests;
