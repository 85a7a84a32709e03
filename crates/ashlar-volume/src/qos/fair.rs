//! Who goes first where volumes want more than their pool can do.
//!
//! As long as one volume alone is in use, all of its commands begin at once. Where several are, the
//! bytes of commands that the store has at a time are bounded, and beyond the bound volumes take
//! turns by their weights (start-time fair queueing, Goyal and others 1996). A volume whose own
//! commands in the store are within its part of the bound never waits for a turn.
//!
//! A command that takes its time, because it waits for room or for a drive that hangs, is counted
//! for [`EPOCH`] and up to as long again. So it keeps nobody from what can be done meanwhile.
//!
//! One pool's, on the reactor that it lives on.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use ashlar_block::{Clock, Nanos, within};

use super::policy::WEIGHT_DEFAULT;

/// Bytes of commands that the store has at a time while several volumes are in use: as little as
/// keeps it busy, for whoever comes next waits for what is there.
const DEPTH: u64 = 256 << 10;
/// What a command costs beside its bytes, in bytes.
const COMMAND: u64 = 12 << 10;
/// For how long a command counts at least, and a volume is in use after its last one.
const EPOCH: Duration = Duration::from_millis(50);
/// Commands after which it is looked whether an epoch has ended. Most need no clock.
const LOOK_EVERY: u32 = 32;
/// Parts of a byte that turns are reckoned in, at the weight 1.
const TURN_SCALE: u64 = 1 << 10;

/// The volumes of a pool that take turns.
pub(crate) struct FairShare<C> {
    clock: C,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Those in use. Few of a pool's are at a time.
    active: Vec<Rc<VolumeShare>>,
    active_weight: u64,
    in_store: Counted,
    /// Volumes of which commands wait, by the turn of the first of them.
    waiting: BTreeMap<(u64, u64), Rc<VolumeShare>>,
    /// The turn that has come.
    turn: u64,
    epoch: u64,
    epoch_began: Nanos,
    until_look: u32,
    next_number: u64,
}

/// Bytes of commands in the store: of those that began in this epoch, and in the one before.
#[derive(Clone, Copy, Default)]
struct Counted([u64; 2]);

impl Counted {
    fn sum(self) -> u64 {
        self.0[0] + self.0[1]
    }

    /// An epoch has ended: what began before it counts no longer.
    fn age(&mut self) {
        self.0 = [0, self.0[0]];
    }

    /// A command ends that began `ago` epochs before.
    fn end(&mut self, cost: u64, ago: u64) {
        if let Some(counted) = usize::try_from(ago).ok().and_then(|ago| self.0.get_mut(ago)) {
            *counted -= cost;
        }
    }
}

/// A volume's part.
pub(crate) struct VolumeShare {
    number: u64,
    weight: Cell<u16>,
    in_store: Cell<Counted>,
    /// The turn of its next command, unless others have come further.
    next_turn: Cell<u64>,
    is_active: Cell<bool>,
    used_in: Cell<u64>,
    queue: RefCell<VecDeque<Rc<Seat>>>,
}

/// A command that waits.
struct Seat {
    turn: u64,
    cost: u64,
    /// The epoch that it was called in.
    called: Cell<Option<u64>>,
    waker: RefCell<Option<Waker>>,
}

/// A command that the store has, until dropped.
pub(crate) struct InStore<'a, C> {
    share: &'a FairShare<C>,
    volume: &'a Rc<VolumeShare>,
    cost: u64,
    epoch: u64,
}

impl VolumeShare {
    /// Changes its weight, from the next command on.
    pub(crate) fn set_weight(&self, weight: u16) {
        self.weight.set(weight.max(1));
    }

    fn change_in_store(&self, change: impl FnOnce(&mut Counted)) {
        let mut counted = self.in_store.get();
        change(&mut counted);
        self.in_store.set(counted);
    }

    /// The turn of a command that comes now; the next one is later by what it costs.
    fn take_turn(&self, turn_now: u64, cost: u64) -> u64 {
        let turn = self.next_turn.get().max(turn_now);
        self.next_turn.set(turn + cost * TURN_SCALE / u64::from(self.weight.get()));
        turn
    }
}

impl State {
    /// Notes that a volume is used.
    fn touch(&mut self, volume: &Rc<VolumeShare>) {
        volume.used_in.set(self.epoch);
        if !volume.is_active.replace(true) {
            self.active_weight += u64::from(volume.weight.get());
            self.active.push(volume.clone());
        }
    }

    /// Ends the epoch once it has lasted: old commands count no longer, and volumes that rest are
    /// not in use.
    fn end_epoch(&mut self, now: Nanos) {
        if now.since(self.epoch_began) < EPOCH {
            return;
        }
        (self.epoch, self.epoch_began) = (self.epoch + 1, now);
        self.in_store.age();
        let epoch = self.epoch;
        self.active.retain(|volume| {
            volume.change_in_store(Counted::age);
            let rests = volume.used_in.get() + 1 < epoch && volume.queue.borrow().is_empty();
            volume.is_active.set(!rests);
            !rests
        });
        // Weights may have been changed.
        self.active_weight = self.active.iter().map(|it| u64::from(it.weight.get())).sum();
    }

    /// Whether the volume's commands are within its part of the bound with one more.
    fn is_within_part(&self, volume: &VolumeShare, cost: u64) -> bool {
        let own = volume.in_store.get().sum();
        let weight = u64::from(volume.weight.get());
        let part = DEPTH * weight / self.active_weight.max(weight);
        // One at a time is not too much where there are not a great many.
        own + cost <= part || own == 0 && self.in_store.sum() < 2 * DEPTH
    }

    fn may_begin(&self, volume: &VolumeShare, cost: u64) -> bool {
        self.active.len() < 2
            || self.waiting.is_empty() && self.in_store.sum() < DEPTH
            || volume.queue.borrow().is_empty() && self.is_within_part(volume, cost)
    }

    fn begin(&mut self, volume: &VolumeShare, cost: u64) {
        self.in_store.0[0] += cost;
        volume.change_in_store(|counted| counted.0[0] += cost);
    }

    /// Lets the first of a volume's commands begin.
    fn call_first(&mut self, volume: &Rc<VolumeShare>) {
        let mut queue = volume.queue.borrow_mut();
        let Some(seat) = queue.pop_front() else { return };
        self.waiting.remove(&(seat.turn, volume.number));
        let next = queue.front().map(|next| (next.turn, volume.number));
        self.waiting.extend(next.map(|next| (next, volume.clone())));
        self.turn = self.turn.max(seat.turn);
        self.begin(volume, seat.cost);
        seat.called.set(Some(self.epoch));
        seat.waker.take().into_iter().for_each(Waker::wake);
    }

    /// The volume whose turn it is, and what its command costs.
    fn next(&self) -> Option<(Rc<VolumeShare>, u64)> {
        let volume = self.waiting.first_key_value()?.1.clone();
        let cost = volume.queue.borrow().front()?.cost;
        Some((volume, cost))
    }

    /// Lets commands begin as far as there is room.
    fn call(&mut self) {
        while let Some((volume, cost)) = self.next() {
            let has_room = self.active.len() < 2 || self.in_store.sum() < DEPTH;
            if !has_room && !self.is_within_part(&volume, cost) {
                return;
            }
            self.call_first(&volume);
        }
    }

    /// A command that waits gives up.
    fn leave(&mut self, volume: &Rc<VolumeShare>, seat: &Rc<Seat>) {
        let mut queue = volume.queue.borrow_mut();
        let first = queue.front().map(|first| (first.turn, volume.number));
        queue.retain(|waiting| !Rc::ptr_eq(waiting, seat));
        first.into_iter().for_each(|first| drop(self.waiting.remove(&first)));
        let first = queue.front().map(|first| (first.turn, volume.number));
        self.waiting.extend(first.map(|first| (first, volume.clone())));
    }

    fn ends(&mut self, volume: &Rc<VolumeShare>, cost: u64, epoch: u64) {
        let ago = self.epoch - epoch;
        self.in_store.end(cost, ago);
        volume.change_in_store(|counted| counted.end(cost, ago));
        if self.waiting.is_empty() {
            return;
        }
        self.call();
        let first = volume.queue.borrow().front().map(|seat| seat.cost);
        if first.is_some_and(|cost| self.is_within_part(volume, cost)) {
            self.call_first(volume);
        }
    }
}

impl<C: Clock> FairShare<C> {
    /// Of a pool of which no volume is in use.
    pub(crate) fn new(clock: C) -> Rc<Self> {
        Rc::new(FairShare { clock, state: RefCell::default() })
    }

    /// The part of one more volume.
    pub(crate) fn volume(&self) -> Rc<VolumeShare> {
        let mut state = self.state.borrow_mut();
        state.next_number += 1;
        Rc::new(VolumeShare {
            number: state.next_number,
            weight: Cell::new(WEIGHT_DEFAULT),
            in_store: Cell::default(),
            next_turn: Cell::new(0),
            is_active: Cell::new(false),
            used_in: Cell::new(0),
            queue: RefCell::default(),
        })
    }

    /// Returns when a command for so many bytes of a volume may begin. It ends when the result is
    /// dropped.
    pub(crate) async fn enter<'a>(
        &'a self,
        volume: &'a Rc<VolumeShare>,
        bytes: u64,
    ) -> InStore<'a, C> {
        let cost = COMMAND + bytes;
        let (seat, epoch) = self.begin_or_queue(volume, cost);
        let in_store = |epoch| InStore { share: self, volume, cost, epoch };
        let Some(seat) = seat else { return in_store(epoch) };
        let mut waits = Waits { share: self, volume, seat, is_over: false };
        let epoch = waits.until_called().await;
        waits.is_over = true;
        in_store(epoch)
    }

    fn begin_or_queue(&self, volume: &Rc<VolumeShare>, cost: u64) -> (Option<Rc<Seat>>, u64) {
        let mut state = self.state.borrow_mut();
        state.until_look = match state.until_look {
            0 => {
                state.end_epoch(self.clock.now());
                LOOK_EVERY
            }
            left => left - 1,
        };
        state.touch(volume);
        let turn = volume.take_turn(state.turn, cost);
        if state.may_begin(volume, cost) {
            state.turn = state.turn.max(turn);
            state.begin(volume, cost);
            return (None, state.epoch);
        }
        let seat = Rc::new(Seat { turn, cost, called: Cell::default(), waker: RefCell::default() });
        let mut queue = volume.queue.borrow_mut();
        queue.push_back(seat.clone());
        if queue.len() == 1 {
            state.waiting.insert((turn, volume.number), volume.clone());
        }
        (Some(seat), state.epoch)
    }

    fn look(&self) {
        let mut state = self.state.borrow_mut();
        state.end_epoch(self.clock.now());
        state.call();
    }
}

/// Waits for a turn.
struct Waits<'a, C: Clock> {
    share: &'a FairShare<C>,
    volume: &'a Rc<VolumeShare>,
    seat: Rc<Seat>,
    is_over: bool,
}

impl<C: Clock> Waits<'_, C> {
    /// Returns the epoch in which it was called.
    async fn until_called(&self) -> u64 {
        loop {
            let called = std::future::poll_fn(|cx| match self.seat.called.get() {
                Some(epoch) => Poll::Ready(epoch),
                None => {
                    self.seat.waker.replace(Some(cx.waker().clone()));
                    Poll::Pending
                }
            });
            if let Some(epoch) = within(&self.share.clock, EPOCH, called).await {
                return epoch;
            }
            // Nothing may have ended that counts no longer.
            self.share.look();
        }
    }
}

impl<C: Clock> Drop for Waits<'_, C> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.share.state.borrow_mut();
        match self.seat.called.get() {
            None => state.leave(self.volume, &self.seat),
            Some(epoch) => state.ends(self.volume, self.seat.cost, epoch),
        }
    }
}

impl<C> Drop for InStore<'_, C> {
    fn drop(&mut self) {
        self.share.state.borrow_mut().ends(self.volume, self.cost, self.epoch);
    }
}

#[cfg(test)]
mod tests;
