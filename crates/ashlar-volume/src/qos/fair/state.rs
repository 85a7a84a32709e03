//! The turns of a pool's volumes: start-time fair queueing (Goyal and others 1996). No clock, and
//! nobody who waits: what it is told, and whom it calls.
//!
//! A command's turn is when the one before it of its volume would have ended, had each volume its
//! part of one store; or the turn that has come, if that is later. So a volume that was idle has
//! neither saved anything up nor owes anything but its last command. The turn that has come only
//! moves where the order of turns is kept: whoever passes by those who wait moves it not.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use ashlar_block::Nanos;

use super::backlog::{MUCH, depth_max, much_beside};
use super::depth::Depth;
use super::epoch::{Counted, Epochs};
use super::price::{Price, Usual, prices};
use super::share::{Begun, Command, EpochOf, Seat, Turn, VolumeShare};

/// For how long a volume is in use after its last command.
const IN_USE: Duration = Duration::from_secs(5);
/// Who has waited for so long goes next, whatever his turn: hosts give up what takes too long.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Parts of a byte that turns are reckoned in, at the weight 1.
const TURN_SCALE: u64 = 1 << 10;
/// Turns begin behind all times: those who have waited for too long stand before them.
const TURNS_BEGIN: u128 = 1 << 64;

pub(super) struct State {
    /// Those in use. Few of a pool's are at a time.
    active: Vec<Rc<VolumeShare>>,
    active_weight: u64,
    pub(super) in_store: Counted,
    /// Volumes of which commands wait, by the turn of the first of them.
    waiting: BTreeMap<(Turn, u64), Rc<VolumeShare>>,
    /// The turn that has come, and the latest that any command has had.
    turn: Turn,
    latest: Turn,
    /// The highest price of all.
    highest: Price,
    pub(super) depth: Depth,
    epochs: Epochs,
    /// When the clock was last looked at.
    now: Nanos,
    next_number: u64,
}

impl Default for State {
    fn default() -> Self {
        State {
            active: Vec::new(),
            active_weight: 0,
            in_store: Counted::default(),
            waiting: BTreeMap::new(),
            turn: 0,
            latest: 0,
            highest: Price::USUAL,
            depth: Depth::default(),
            epochs: Epochs::default(),
            now: Nanos(0),
            next_number: 0,
        }
    }
}

impl State {
    /// The part of one more volume.
    pub(super) fn volume(&mut self, weight: u16) -> Rc<VolumeShare> {
        self.next_number += 1;
        Rc::new(VolumeShare::new(self.next_number, weight))
    }

    /// Whether several volumes are in use: only then the time matters.
    pub(super) fn is_shared(&self) -> bool {
        self.active.len() > 1
    }

    /// Notes that a volume is used.
    pub(super) fn touch(&mut self, volume: &Rc<VolumeShare>) {
        volume.used_at.set(self.now);
        if !volume.is_active.replace(true) {
            self.active_weight += u64::from(volume.weight.get());
            self.active.push(volume.clone());
        }
    }

    /// Takes the time. Ends the epoch once it has lasted: old commands count no longer, and volumes
    /// that rest are not in use.
    pub(super) fn look(&mut self, now: Nanos) {
        self.now = now;
        if !self.epochs.is_over(now) {
            return;
        }
        self.in_store.age();
        self.active.retain(|volume| {
            volume.age();
            let rests = now.since(volume.used_at.get()) >= IN_USE
                && volume.queue.borrow().is_empty()
                && volume.in_store.get().sum() == 0;
            if rests {
                volume.rest();
            }
            !rests
        });
        // Weights may have been changed.
        self.active_weight = self.active.iter().map(|it| u64::from(it.weight.get())).sum();
        self.depth.decide(now);
        self.reckon(now);
        self.move_up_the_overdue();
    }

    /// Decides what bytes of each volume cost, for how long commands count, and how much the store
    /// may have, by what the volumes have done in the epoch that ends.
    fn reckon(&mut self, now: Nanos) {
        let mut active: Vec<_> = self.active.iter().map(|it| it.end_epoch(now)).collect();
        self.set_prices(&active);
        let most = active.iter().map(|it| it.wanted.bytes).max();
        active.retain(|it| it.wanted.bytes >= MUCH);
        self.epochs.next(now, &active.iter().map(|it| it.ended).collect::<Vec<_>>());
        let much = much_beside(most.unwrap_or(0));
        active.retain(|it| it.wanted.bytes >= much);
        let wanted: Vec<_> = active.iter().map(|it| it.wanted).collect();
        let mut done: Vec<_> = active.iter().map(|it| it.done).collect();
        done.sort_unstable_by_key(|it| it.volume);
        self.depth.bound(depth_max(&wanted, self.depth.rate()), &done, now);
    }

    /// Sets the prices of the volumes in use, each of which has done that, in their order.
    fn set_prices(&mut self, active: &[EpochOf]) {
        let usual: Vec<Usual> = active.iter().flat_map(|it| it.usual).flatten().collect();
        let mut prices = prices(&usual).into_iter();
        let mut price = |usual: Option<Usual>| usual.and_then(|_| prices.next());
        self.highest = Price::USUAL;
        for (volume, it) in self.active.iter().zip(active) {
            let prices = it.usual.map(|usual| price(usual).unwrap_or(Price::USUAL));
            volume.set_prices(prices);
            self.highest = self.highest.max(prices[0]).max(prices[1]);
        }
    }

    /// Puts those before all others who have waited for too long.
    fn move_up_the_overdue(&mut self) {
        let is_overdue = |volume: &Rc<VolumeShare>| {
            let queue = volume.queue.borrow();
            queue.front().is_some_and(|seat| self.now.since(seat.since) >= WAIT_MAX)
        };
        let not_yet = self.waiting.range((TURNS_BEGIN, 0)..).map(|(_, volume)| volume);
        let overdue: Vec<_> = not_yet.filter(|volume| is_overdue(volume)).cloned().collect();
        for volume in overdue {
            self.waiting.remove(&(volume.key.get(), volume.number));
            self.wait_on(&volume);
        }
    }

    /// The volume waits for the turn of its first command, if there is one.
    fn wait_on(&mut self, volume: &Rc<VolumeShare>) {
        let queue = volume.queue.borrow();
        let Some(seat) = queue.front() else { return };
        let is_overdue = self.now.since(seat.since) >= WAIT_MAX;
        let turn = TURNS_BEGIN + volume.next_turn.get();
        volume.key.set(if is_overdue { seat.since.0.into() } else { turn });
        self.waiting.insert((volume.key.get(), volume.number), volume.clone());
    }

    /// Whether the volume's commands are within its part of the depth with one more, whose turn
    /// this is.
    fn is_within_part(&self, volume: &VolumeShare, cost: u64, turn: Turn) -> bool {
        let own = volume.in_store.get().sum();
        let weight = u64::from(volume.weight.get());
        let depth = self.depth.bytes();
        let all = self.active_weight.max(weight);
        let part = depth * weight / all;
        // It has not done more than others by more than its part is. Else one whose commands take
        // less time would do more with the same part.
        let ahead = u128::from(self.highest.of(depth)) * u128::from(TURN_SCALE) / u128::from(all);
        // One at a time is not too much, if it is its turn, where there are not a great many.
        own + cost <= part && turn <= self.turn + ahead
            || own == 0 && turn <= self.turn && self.in_store.sum() < depth.saturating_mul(2)
    }

    /// Lets a command begin that comes now, or has it wait.
    pub(super) fn begin_or_queue(
        &mut self,
        volume: &Rc<VolumeShare>,
        command: Command,
    ) -> Result<Begun, Rc<Seat>> {
        let is_first = volume.queue.borrow().is_empty();
        let turn = volume.next_turn.get().max(self.turn);
        if is_first {
            let nobody_waits = self.waiting.is_empty();
            let is_within = self.is_within_part(volume, command.cost, turn);
            let has_room = nobody_waits && self.in_store.sum() < self.depth.bytes();
            if !self.is_shared() || has_room || is_within {
                if nobody_waits {
                    self.turn = self.turn.max(turn);
                }
                return Ok(self.begin(volume, command, turn, is_within && self.is_shared()));
            }
            volume.next_turn.set(turn);
        }
        let own = volume.in_store.get().sum();
        let others_wait = self.waiting.len() > usize::from(!is_first);
        self.depth.waits(is_first && own == 0 && turn <= self.turn, others_wait);
        let seat = Rc::new(Seat {
            command,
            since: self.now,
            called: Cell::default(),
            has_left: Cell::default(),
            waker: RefCell::default(),
        });
        volume.queue.borrow_mut().push_back(seat.clone());
        volume.change_queued(|queued| queued + command.cost);
        if is_first {
            self.wait_on(volume);
        }
        Err(seat)
    }

    fn begin(
        &mut self,
        volume: &VolumeShare,
        command: Command,
        turn: Turn,
        is_protected: bool,
    ) -> Begun {
        let price = volume.price(command.kind);
        let step = price.of(command.cost) * TURN_SCALE / u64::from(volume.weight.get());
        volume.next_turn.set(turn + Turn::from(step));
        self.latest = self.latest.max(volume.next_turn.get());
        self.in_store.begin(command.cost);
        volume.change_in_store(|counted| counted.begin(command.cost));
        let epoch = self.epochs.number();
        let stored_at = self.is_shared().then_some(self.now);
        Begun { epoch, stored_epoch: epoch, stored_at, is_protected }
    }

    /// The store has a command only now that has begun before, or `None` if nobody took the time.
    pub(super) fn stored(&self, begun: Begun, now: Nanos) -> Begun {
        Begun {
            stored_epoch: self.epochs.number(),
            stored_at: begun.stored_at.and(Some(now)),
            ..begun
        }
    }

    /// Lets the first of a volume's commands begin. Whether the order of turns is kept by it.
    fn call_first(&mut self, volume: &Rc<VolumeShare>, in_order: bool) {
        let Some(seat) = volume.queue.borrow_mut().pop_front() else { return };
        volume.change_queued(|queued| queued - seat.command.cost);
        self.waiting.remove(&(volume.key.get(), volume.number));
        let mut turn = volume.next_turn.get();
        if volume.key.get() < TURNS_BEGIN {
            // Who is overdue owes nothing for it but this command, as one that was idle.
            turn = turn.min(self.turn);
        } else if in_order {
            self.turn = self.turn.max(turn);
        }
        let begun = self.begin(volume, seat.command, turn, false);
        self.drop_those_who_left(volume);
        self.wait_on(volume);
        seat.called.set(Some(begun));
        seat.waker.take().into_iter().for_each(Waker::wake);
    }

    fn drop_those_who_left(&self, volume: &VolumeShare) {
        let mut queue = volume.queue.borrow_mut();
        while queue.front().is_some_and(|seat| seat.has_left.get()) {
            queue.pop_front();
        }
    }

    /// The volume whose turn it is, and whether its command may begin.
    fn next(&self) -> Option<(Rc<VolumeShare>, bool)> {
        let volume = self.waiting.first_key_value()?.1.clone();
        let cost = volume.queue.borrow().front()?.command.cost;
        let has_room = !self.is_shared() || self.in_store.sum() < self.depth.bytes();
        let may_begin = has_room || self.is_within_part(&volume, cost, volume.next_turn.get());
        Some((volume, may_begin))
    }

    /// Lets commands begin as far as there is room.
    pub(super) fn call(&mut self) {
        while let Some((volume, true)) = self.next() {
            self.call_first(&volume, true);
        }
    }

    /// A command that waits gives up.
    pub(super) fn leave(&mut self, volume: &Rc<VolumeShare>, seat: &Seat) {
        seat.has_left.set(true);
        volume.change_queued(|queued| queued - seat.command.cost);
        self.drop_those_who_left(volume);
        // Who is first now may not be overdue.
        self.waiting.remove(&(volume.key.get(), volume.number));
        self.wait_on(volume);
    }

    /// A command has ended.
    pub(super) fn ends(
        &mut self,
        volume: &Rc<VolumeShare>,
        command: Command,
        begun: Begun,
        now: Option<Nanos>,
    ) {
        self.now = now.unwrap_or(self.now);
        self.note_done(volume, command, begun);
        self.give_back(volume, command, begun);
    }

    /// A command that has begun counts no longer.
    pub(super) fn give_back(&mut self, volume: &Rc<VolumeShare>, command: Command, begun: Begun) {
        let ago = self.epochs.number() - begun.epoch;
        self.in_store.end(command.cost, ago);
        volume.change_in_store(|counted| counted.end(command.cost, ago));
        if self.waiting.is_empty() {
            if self.in_store.sum() == 0 {
                // Nobody waited for anybody: nobody owes anything.
                self.turn = self.latest;
            }
            return;
        }
        self.call();
        let first = volume.queue.borrow().front().map(|seat| seat.command.cost);
        let turn = volume.next_turn.get();
        if first.is_some_and(|cost| self.is_within_part(volume, cost, turn)) {
            self.call_first(volume, false);
        }
    }

    /// The store has done a command.
    fn note_done(&mut self, volume: &VolumeShare, command: Command, begun: Begun) {
        self.depth.ended(command.cost, self.in_store.sum());
        volume.note_ended(command.cost, self.epochs.number() - begun.stored_epoch);
        let (Some(kind), Some(since)) = (command.kind, begun.stored_at) else { return };
        let took = self.now.since(since);
        volume.note_took(kind, command.cost, took);
        if begun.is_protected && command.is_small {
            self.depth.took(kind, took, self.now);
        }
    }

    /// Who stands before all others that wait.
    pub(super) fn first_waker(&self) -> Option<Waker> {
        let volume = self.waiting.first_key_value()?.1;
        let queue = volume.queue.borrow();
        queue.front().and_then(|seat| seat.waker.take())
    }

    #[cfg(test)]
    pub(super) fn nobody_waits(&self) -> bool {
        self.waiting.is_empty()
    }
}
