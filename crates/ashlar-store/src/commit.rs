//! Group commit: what hosts write, from admission to the answer.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{Cause, IoError, Lba, World};
use futures_util::future::select;
use tokio::sync::{Notify, oneshot};

use crate::append::{Appended, BatchRoom, StreamId, WindowEmpty};
use crate::batch::{IN_FLIGHT_MAX, Item, Room};
use crate::compress::Fragment;
use crate::format::header::{RECORDS_MAX, RecordKind};
use crate::format::location::{Location, Pointer, SLOT_BYTES};
use crate::pool::Pool;
use crate::segments::Claim;
use crate::types::{Key, Lsn, RANGE_BLOCKS, SHARD_COUNT, ShardId};

/// Batches of hosts that may be in flight: one of each stream is for what leaves the journal.
const HOST_IN_FLIGHT_MAX: usize = IN_FLIGHT_MAX - 1;

/// Part of a striped batch that may be header and padding; beyond it the batch goes to the journal.
const STRIPED_WASTE_MAX: f64 = 0.25;

type Answer = Result<(), IoError>;

/// Records that are written together or not at all, and who waits for them.
struct Unit {
    items: Vec<Item>,
    hot: bool,
    answer: Option<oneshot::Sender<Answer>>,
}

impl Unit {
    fn stores_nothing(&self) -> bool {
        self.items.iter().all(|item| item.fragment.is_none())
    }
}

/// A batch of units that has its number. Batches publish in order.
struct Submitted {
    lsn: Lsn,
    stream: StreamId,
    hot: bool,
    answers: Vec<oneshot::Sender<Answer>>,
    /// Here once the batch is durable.
    done: Option<Appended>,
}

/// A fragment that is in the journal and waits to be striped.
struct Journaled {
    key: Key,
    fragment: Fragment,
    at: Location,
}

/// What is kept of the journal until it makes a full batch.
#[derive(Default)]
struct Kept {
    fragments: Vec<Journaled>,
    room: Room,
}

impl Kept {
    fn add(&mut self, fragment: Journaled) {
        self.room.add(&fragment.item());
        self.fragments.push(fragment);
    }

    fn fills(&self, batch: BatchRoom) -> bool {
        self.room.records() >= RECORDS_MAX || self.room.rows_min(batch.data) + 1 >= batch.rows_max
    }
}

/// What hosts have written and is not answered yet.
#[derive(Default)]
pub(crate) struct CommitQueue {
    waiting: RefCell<VecDeque<Unit>>,
    waiting_room: Cell<Room>,
    submitted: RefCell<VecDeque<Submitted>>,
    in_flight: Cell<usize>,
    /// What is in the journal, by temperature: cold, then hot.
    journaled: [RefCell<Kept>; 2],
    /// A task stripes what was journaled.
    striping: Cell<bool>,
    /// Bytes of fragments that wait or are in flight.
    pending_bytes: Cell<usize>,
    /// Rung when there is something to submit, or a batch is done.
    rung: Notify,
    /// Rung when that task has ended.
    striped: Notify,
    /// Rung when there are fewer bytes pending.
    drained: Notify,
    stopping: Cell<bool>,
    stopped: Cell<bool>,
    /// Rung when the task has ended.
    ended: Notify,
}

impl CommitQueue {
    /// The pool has halted: answers everybody, and forgets what was not submitted.
    pub fn fail_all(&self, error: &IoError) {
        self.answer_all(error);
        self.pending_bytes.set(0);
    }

    /// Bytes of fragments that wait or are in flight.
    pub fn pending_bytes(&self) -> usize {
        self.pending_bytes.get()
    }

    /// Returns once fewer than `bytes_max` are pending.
    pub async fn wait_uncrowded(&self, bytes_max: usize) {
        while self.pending_bytes.get() >= bytes_max && !self.stopping.get() {
            self.drained.notified().await;
        }
    }

    /// Answers everybody with an error. What was submitted stays on its way; what was not is forgotten: later writes to
    /// the same blocks may be submitted before it, and it must not come after them.
    pub fn answer_all(&self, error: &IoError) {
        self.refuse(|_| true, error);
        let mut submitted = self.submitted.borrow_mut();
        for answer in submitted.iter_mut().flat_map(|batch| batch.answers.drain(..)) {
            // The receiver may have gone: its host has.
            let _ = answer.send(Err(error.clone()));
        }
    }

    /// Answers those whose writes have not been submitted with an error, and forgets the writes. What only gives
    /// space back stays.
    pub fn refuse_waiting(&self, error: &IoError) {
        self.refuse(|unit| !unit.stores_nothing(), error);
    }

    fn refuse(&self, which: impl FnMut(&Unit) -> bool, error: &IoError) {
        let (refused, kept): (VecDeque<Unit>, VecDeque<Unit>) =
            self.waiting.take().into_iter().partition(which);
        self.wait_with(kept);
        for unit in refused {
            self.pending_bytes.set(self.pending_bytes.get().saturating_sub(fragment_bytes(&unit.items)));
            // The receiver may have gone: its host has.
            unit.answer.map(|answer| answer.send(Err(error.clone())));
        }
        self.drained.notify_waiters();
        self.rung.notify_one();
    }

    /// The temperature of the next batch, which is that of who waits longest, and the room that it wants.
    fn next_batch(&self) -> Option<(bool, Room)> {
        let waiting = self.waiting.borrow();
        let hot = waiting.front()?.hot;
        let mut room = Room::default();
        let chosen = waiting.iter().zip(selected(&waiting, hot)).filter(|(_, selected)| *selected);
        chosen.flat_map(|(unit, _)| &unit.items).for_each(|item| room.add(item));
        Some((hot, room))
    }

    /// These are what waits from now on.
    fn wait_with(&self, waiting: VecDeque<Unit>) {
        let mut room = Room::default();
        waiting.iter().flat_map(|unit| &unit.items).for_each(|item| room.add(item));
        self.waiting_room.set(room);
        *self.waiting.borrow_mut() = waiting;
    }

    /// What waits may take of the window: what only gives space back is upkeep.
    fn claim(&self) -> Claim {
        let gives_back = self.waiting.borrow().iter().all(Unit::stores_nothing);
        if gives_back { Claim::Upkeep } else { Claim::Host }
    }

    /// Nothing waits and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.waiting.borrow().is_empty() && self.submitted.borrow().is_empty()
    }

    /// Returns when the task has ended.
    pub async fn stopped(&self) {
        while !self.stopped.get() {
            self.ended.notified().await;
        }
    }

    /// No more batches: the task ends once all is done.
    pub fn stop(&self) {
        self.stopping.set(true);
        self.rung.notify_one();
    }
}

/// Which stream a batch of `room` goes to, if a striped one has `data` data columns.
fn choose_stream(room: Room, hot: bool, data: usize) -> StreamId {
    // With one data column the journal has nothing to save.
    let small = data > 1 && room.waste(data) > STRIPED_WASTE_MAX;
    if small { StreamId::Journal } else { StreamId::of_hosts(hot) }
}

impl<W: World> Pool<W> {
    /// Commits `items`, of which at most [`crate::batch::ATOMIC_BLOCKS_MAX`] have a fragment, as one: durable and
    /// in the maps when it returns.
    pub async fn commit(&self, items: Vec<Item>) -> Answer {
        self.running()?;
        if self.commit.stopping.get() {
            return Err(Cause::NotReady.into());
        }
        let mut room = self.commit.waiting_room.get();
        items.iter().for_each(|item| room.add(item));
        self.commit.waiting_room.set(room);
        self.commit.pending_bytes.set(self.commit.pending_bytes.get() + fragment_bytes(&items));
        let (answer, answered) = oneshot::channel();
        let hot = self.is_hot(&items);
        self.commit.waiting.borrow_mut().push_back(Unit { items, hot, answer: Some(answer) });
        self.commit.rung.notify_one();
        answered.await.unwrap_or_else(|_| Err(Cause::NotReady.into()))
    }

    /// Submits what waits, until told to stop.
    pub async fn commit_loop(self: Rc<Self>) {
        loop {
            self.commit.rung.notified().await;
            // The end of the turn: what other tasks of this turn have to write joins the batch.
            self.world.yield_now().await;
            while self.may_submit() {
                if self.submit().await.is_none() {
                    break;
                }
            }
            if self.commit.stopping.get() && (self.commit.is_idle() || self.running().is_err()) {
                break;
            }
        }
        self.commit.stopped.set(true);
        self.commit.ended.notify_one();
    }

    /// A batch is submitted if none is in flight, or if it is full and not too many are.
    fn may_submit(&self) -> bool {
        if self.commit.waiting.borrow().is_empty() {
            return false;
        }
        let in_flight = self.commit.in_flight.get();
        let batch = self.fresh_batch_room(StreamId::Cold);
        let room = self.commit.waiting_room.get();
        let full = room.records() >= RECORDS_MAX || room.rows_min(batch.data) >= batch.rows_max;
        in_flight == 0 || (full && in_flight < HOST_IN_FLIGHT_MAX)
    }

    async fn submit(self: &Rc<Self>) -> Option<()> {
        let (submitted, appended) = self.append_next().await?;
        self.commit.submitted.borrow_mut().push_back(submitted);
        self.commit.in_flight.set(self.commit.in_flight.get() + 1);
        self.world.spawn(self.clone().finish_batch(appended));
        Some(())
    }

    /// Appends the next batch of what waits. `None`: nothing waits any more, because it was refused or done otherwise,
    /// or the pool has halted.
    async fn append_next(&self) -> Option<(Submitted, Appended)> {
        loop {
            let window_formed = self.root_changed.notified();
            let refused = self.commit.drained.notified();
            // What waits may have changed, and with it what comes next.
            let (hot, room) = self.commit.next_batch()?;
            let claim = self.commit.claim();
            if let Ok(appended) = self.append_units(hot, room, claim).await {
                return Some(appended);
            }
            if claim == Claim::Upkeep {
                self.zero_by_checkpoint().await;
                return None;
            }
            self.running().ok()?;
            self.orders.want_window(claim);
            select(pin!(window_formed), pin!(refused)).await;
        }
    }

    /// Appends units of one temperature, to the journal if they are few.
    async fn append_units(
        &self,
        hot: bool,
        room: Room,
        claim: Claim,
    ) -> Result<(Submitted, Appended), WindowEmpty> {
        let mut units = Vec::new();
        let mut stream = choose_stream(room, hot, self.fresh_batch_room(StreamId::Cold).data);
        let mut appended =
            self.try_append(stream, claim, |room| self.take_units(hot, room, &mut units)).await;
        if appended.is_err() && stream == StreamId::Journal {
            // In a pool that is nearly full there may be no journal: then small batches are striped, too.
            stream = StreamId::of_hosts(hot);
            appended = self.try_append(stream, claim, |room| self.take_units(hot, room, &mut units)).await;
        }
        let appended = appended?;
        let answers = units.into_iter().filter_map(|unit| unit.answer).collect();
        Ok((Submitted { lsn: appended.lsn, stream, hot, answers, done: None }, appended))
    }

    /// Does what waits without a record of its own: a checkpoint makes it durable. A pool in which there is no segment
    /// left for records can be emptied this way.
    async fn zero_by_checkpoint(&self) {
        // What was submitted before comes before it.
        loop {
            let published = self.commit.drained.notified();
            if self.running().is_err() {
                return;
            }
            if self.commit.submitted.borrow().is_empty() {
                break;
            }
            published.await;
        }
        let mut waiting = self.commit.waiting.take();
        let stores = waiting.iter().position(|unit| !unit.stores_nothing()).unwrap_or(waiting.len());
        self.commit.wait_with(waiting.split_off(stores));
        for item in waiting.iter().flat_map(|unit| &unit.items) {
            self.publish_item(item, None);
        }
        let done = self.checkpoint_now().await;
        // The receivers may have gone: their hosts have.
        waiting.into_iter().filter_map(|unit| unit.answer).for_each(|answer| drop(answer.send(done.clone())));
    }

    /// Takes as many units of a temperature as fit; returns their items.
    fn take_units(&self, hot: bool, batch: BatchRoom, taken: &mut Vec<Unit>) -> Vec<Item> {
        let waiting = self.commit.waiting.take();
        let chosen = fitting(&waiting, hot, batch);
        let mut left = VecDeque::with_capacity(waiting.len());
        for (unit, chosen) in waiting.into_iter().zip(chosen) {
            if chosen { taken.push(unit) } else { left.push_back(unit) }
        }
        self.commit.wait_with(left);
        taken.iter_mut().flat_map(|unit| std::mem::take(&mut unit.items)).collect()
    }

    async fn finish_batch(self: Rc<Self>, appended: Appended) {
        let durable = self.write_durably(&appended).await;
        self.commit.in_flight.set(self.commit.in_flight.get() - 1);
        if durable.is_some() {
            let mut submitted = self.commit.submitted.borrow_mut();
            let batch = submitted.iter_mut().find(|batch| batch.lsn == appended.lsn);
            batch.expect("a submitted batch stays until it is published").done = Some(appended);
            drop(submitted);
            self.publish_ready();
        }
        self.commit.rung.notify_one();
    }

    /// Publishes the durable batches at the head of the queue, in order, and answers who waits.
    fn publish_ready(self: &Rc<Self>) {
        loop {
            let mut submitted = self.commit.submitted.borrow_mut();
            let Some(done) = submitted.front_mut().and_then(|batch| batch.done.take()) else { return };
            let batch = submitted.pop_front().expect("just seen");
            drop(submitted);
            self.publish(batch, done);
        }
    }

    fn publish(self: &Rc<Self>, batch: Submitted, done: Appended) {
        let records = done.items.len();
        // Saturating: when the pool has halted there is nothing pending any more.
        let pending = self.commit.pending_bytes.get().saturating_sub(fragment_bytes(&done.items));
        self.commit.pending_bytes.set(pending);
        self.commit.drained.notify_waiters();
        let gone = self.catalog.borrow().gone();
        for (item, pointer) in done.items.into_iter().zip(done.pointers) {
            // Its host was told that the write failed, and has deleted the volume since: a purge that has begun
            // looks at no block twice.
            if gone.contains(&item.key.family) {
                continue;
            }
            self.publish_item(&item, pointer);
            if let (StreamId::Journal, Some(fragment), Some(pointer)) = (batch.stream, item.fragment, pointer)
            {
                let journaled = Journaled { key: item.key, fragment, at: pointer.location };
                self.commit.journaled[usize::from(batch.hot)].borrow_mut().add(journaled);
            }
        }
        self.log.published(done.lsn);
        self.orders.content_changed(records);
        // The receiver may have gone: its host has.
        batch.answers.into_iter().for_each(|answer| drop(answer.send(Ok(()))));
        self.stripe_if_full();
        self.orders.written(self.fresh_entries());
    }

    /// The maps take what a record of a host says.
    pub fn publish_item(&self, item: &Item, pointer: Option<Pointer>) {
        match item.kind {
            RecordKind::Write => {
                let shard = ShardId::of(item.key.family, item.key.lba);
                self.with_shard(shard, |shard| shard.set(item.key, pointer, &self.ledger));
            }
            RecordKind::ZeroRange { blocks } => self.set_zero(item.key, blocks),
            RecordKind::Move { .. } | RecordKind::Metadata => unreachable!("hosts write neither"),
        }
    }

    /// The blocks from `key` on read as zeros from now on.
    pub fn set_zero(&self, key: Key, blocks: u64) {
        let range = key.lba..key.lba.plus(blocks);
        let ranges = range.start.0 / RANGE_BLOCKS..(range.end.0 - 1) / RANGE_BLOCKS + 1;
        let touched = (ranges.end - ranges.start).min(SHARD_COUNT as u64);
        for nth in 0..touched {
            let shard = ShardId::of(key.family, Lba((ranges.start + nth) * RANGE_BLOCKS));
            self.with_shard(shard, |shard| shard.set_zero(key.family, key.layer, &range, &self.ledger));
        }
        self.orders.ring();
    }

    // --- from the journal into stripes ------------------------------------------------------------------------

    /// Begins to stripe what is kept of the journal once it makes a full batch.
    fn stripe_if_full(self: &Rc<Self>) {
        // One at a time: recovery's search counts on how many batches of a stream may be in flight.
        if !self.commit.striping.get() && self.full_of_journaled().is_some() {
            self.commit.striping.set(true);
            self.world.spawn(self.clone().stripe_full());
        }
    }

    /// The temperature of which a full batch is kept.
    fn full_of_journaled(&self) -> Option<bool> {
        let batch = self.fresh_batch_room(StreamId::Cold);
        [false, true].into_iter().find(|hot| self.commit.journaled[usize::from(*hot)].borrow().fills(batch))
    }

    async fn stripe_full(self: Rc<Self>) {
        while let Some(hot) = self.full_of_journaled() {
            if self.stripe_kept(hot).await.is_none() {
                break;
            }
        }
        self.commit.striping.set(false);
        self.commit.striped.notify_one();
    }

    /// Stripes all that is kept of the journal, and returns when nothing of that is on its way any more.
    pub async fn finish_striping(&self) {
        while self.commit.striping.get() {
            self.commit.striped.notified().await;
        }
        for hot in [false, true] {
            // `None`: the pool has halted, which the checkpoint that follows says.
            let _ = self.stripe_kept(hot).await;
        }
    }

    /// Moves what is kept of the journal into stripes, so that the journal's segments become free. What it
    /// leaves behind stays in the journal, where garbage collection finds it. `None`: the pool has halted.
    async fn stripe_kept(&self, hot: bool) -> Option<()> {
        let kept = self.commit.journaled[usize::from(hot)].take().fragments;
        let current = |fragment: &Journaled| {
            let shard = ShardId::of(fragment.key.family, fragment.key.lba);
            let value = self.with_shard(shard, |shard| shard.buffer.get(&fragment.key));
            value.flatten().is_some_and(|pointer| pointer.location == fragment.at)
        };
        let mut items: Vec<Item> = kept.into_iter().filter(current).map(|fragment| fragment.item()).collect();
        while !items.is_empty() {
            let take = |room: BatchRoom| items.drain(..room.fitting(&items)).collect();
            let appended = self.append(StreamId::of_hosts(hot), Claim::Upkeep, take).await?;
            self.finish_move(appended).await?;
        }
        Some(())
    }

    /// Whether most of what `items` replace was written a short while ago.
    fn is_hot(&self, items: &[Item]) -> bool {
        if !self.temper.sorts() {
            return false;
        }
        let now = self.log.next();
        let stored = items.iter().filter(|item| item.fragment.is_some());
        let (hot, all) = stored.fold((0, 0), |(hot, all), item| {
            let is_hot = self.temper.is_hot(self.born(&item.key), now);
            (hot + usize::from(is_hot), all + 1)
        });
        2 * hot > all
    }

    /// When the version of a block was written that is to be replaced, as far as memory tells.
    fn born(&self, key: &Key) -> Option<Lsn> {
        let shard = ShardId::of(key.family, key.lba);
        let pointer = self.with_shard(shard, |shard| shard.buffer.get(key)).flatten()?;
        self.segments.borrow().get(pointer.location.segment()).map(|segment| segment.first_lsn)
    }
}

impl Journaled {
    fn item(&self) -> Item {
        Item {
            kind: RecordKind::Move { from: self.at },
            key: self.key,
            fragment: Some(self.fragment.clone()),
        }
    }
}

/// Which of the waiting units may go into the next batch of a temperature. What stores nothing is a barrier, whose
/// order among all others stays.
fn selected(waiting: &VecDeque<Unit>, hot: bool) -> impl Iterator<Item = bool> {
    let (mut passed_over, mut barred) = (false, false);
    waiting.iter().map(move |unit| {
        barred |= passed_over && unit.stores_nothing();
        let selected = !barred && (unit.stores_nothing() || unit.hot == hot);
        passed_over |= !selected;
        selected
    })
}

/// Which of the waiting units the next batch of a temperature takes.
fn fitting(waiting: &VecDeque<Unit>, hot: bool, batch: BatchRoom) -> Vec<bool> {
    let (mut room, mut full) = (Room::default(), false);
    let fits = |(unit, selected): (&Unit, bool)| {
        if !selected || full {
            return false;
        }
        unit.items.iter().for_each(|item| room.add(item));
        full = !room.surely_fits(batch.data, batch.rows_max);
        !full
    };
    waiting.iter().zip(selected(waiting, hot)).map(fits).collect()
}

fn fragment_bytes(items: &[Item]) -> usize {
    items.iter().filter_map(|item| item.fragment.as_ref()).map(|fragment| fragment.slots() * SLOT_BYTES).sum()
}
