//! A volume's part in the turns of its pool: what of it is in the store or waits, and what it has
//! done. It decides nothing.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use ashlar_block::Nanos;

use super::backlog::Wanted;
use super::depth::Kind;
use super::epoch::{Counted, Ended};
use super::price::{Price, Took, Usual};
use super::stretch::Done;

/// The largest command that is measured to protect such.
const SMALL: u64 = 16 << 10;
/// What a command costs beside its bytes, in bytes.
pub(super) const COMMAND: u64 = 12 << 10;

/// A place in the order of turns.
pub(super) type Turn = u128;

/// A volume's part.
pub(crate) struct VolumeShare {
    pub(super) number: u64,
    pub(super) weight: Cell<u16>,
    pub(super) in_store: Cell<Counted>,
    /// What has ended in this epoch, and since the volume was opened.
    ended: Cell<Ended>,
    ended_bytes: Cell<u64>,
    /// What its commands of each kind take, and what their bytes cost by that.
    took: Cell<[Took; 2]>,
    prices: Cell<[Price; 2]>,
    /// Bytes of commands that wait, and the most that there was in the store and waiting in this
    /// epoch and in the one before.
    queued: Cell<u64>,
    outstanding_most: Cell<[u64; 2]>,
    /// The turn of its next command, unless others have come further.
    pub(super) next_turn: Cell<Turn>,
    /// Where it stands among those that wait.
    pub(super) key: Cell<Turn>,
    pub(super) is_active: Cell<bool>,
    pub(super) used_at: Cell<Nanos>,
    pub(super) queue: RefCell<VecDeque<Rc<Seat>>>,
}

/// What a volume has done in an epoch, and what its commands of each kind take of late.
pub(super) struct EpochOf {
    pub(super) wanted: Wanted,
    pub(super) done: Done,
    pub(super) ended: Ended,
    pub(super) usual: [Option<Usual>; 2],
}

/// A command that waits.
pub(super) struct Seat {
    pub(super) command: Command,
    pub(super) since: Nanos,
    /// It was called, and has begun so.
    pub(super) called: Cell<Option<Begun>>,
    pub(super) has_left: Cell<bool>,
    pub(super) waker: RefCell<Option<Waker>>,
}

/// What is to be known of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Command {
    pub(super) cost: u64,
    pub(super) kind: Option<Kind>,
    /// It is measured, if its volume is to be protected.
    pub(super) is_small: bool,
}

impl Command {
    pub(super) fn new(kind: Option<Kind>, bytes: u64) -> Self {
        Command { cost: COMMAND + bytes, kind, is_small: bytes <= SMALL }
    }
}

/// How a command has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Begun {
    pub(super) epoch: u64,
    /// The epoch and the time since which the store has it. Nobody took the time where the volume
    /// was alone.
    pub(super) stored_epoch: u64,
    pub(super) stored_at: Option<Nanos>,
    /// It was within its volume's part.
    pub(super) is_protected: bool,
}

impl VolumeShare {
    pub(super) fn new(number: u64, weight: u16) -> Self {
        VolumeShare {
            number,
            weight: Cell::new(weight),
            in_store: Cell::default(),
            ended: Cell::default(),
            ended_bytes: Cell::new(0),
            took: Cell::default(),
            prices: Cell::new([Price::USUAL; 2]),
            queued: Cell::new(0),
            outstanding_most: Cell::default(),
            next_turn: Cell::new(0),
            key: Cell::new(0),
            is_active: Cell::new(false),
            used_at: Cell::new(Nanos(0)),
            queue: RefCell::default(),
        }
    }

    /// Changes its weight, from the next command on.
    pub(crate) fn set_weight(&self, weight: u16) {
        self.weight.set(weight.max(1));
    }

    pub(super) fn change_in_store(&self, change: impl FnOnce(&mut Counted)) {
        let mut counted = self.in_store.get();
        change(&mut counted);
        self.in_store.set(counted);
        self.note_outstanding();
    }

    pub(super) fn change_queued(&self, change: impl FnOnce(u64) -> u64) {
        self.queued.set(change(self.queued.get()));
        self.note_outstanding();
    }

    fn note_outstanding(&self) {
        let [most, before] = self.outstanding_most.get();
        let now = self.in_store.get().sum() + self.queued.get();
        self.outstanding_most.set([most.max(now), before]);
    }

    /// The store has done a command that it has had for `ago` epochs.
    pub(super) fn note_ended(&self, cost: u64, ago: u64) {
        let mut ended = self.ended.get();
        ended.add(cost, ago);
        self.ended.set(ended);
        self.ended_bytes.set(self.ended_bytes.get() + cost);
    }

    /// And that took so long.
    pub(super) fn note_took(&self, kind: Kind, cost: u64, took: Duration) {
        let mut all = self.took.get();
        all[kind as usize].ended(cost, took);
        self.took.set(all);
    }

    pub(super) fn age(&self) {
        self.outstanding_most.set([0, self.outstanding_most.get()[0]]);
        self.change_in_store(Counted::age);
    }

    /// What it has done in the epoch that ends.
    pub(super) fn end_epoch(&self, now: Nanos) -> EpochOf {
        let mut took = self.took.get();
        let usual = [took[0].next_epoch(now), took[1].next_epoch(now)];
        self.took.set(took);
        let [most, before] = self.outstanding_most.get();
        let wanted = Wanted { weight: self.weight.get(), bytes: most.max(before) };
        let done =
            Done { volume: self.number, bytes: self.ended_bytes.get(), outstanding: wanted.bytes };
        EpochOf { wanted, done, ended: self.ended.take(), usual }
    }

    /// It is not in use any more: what it did is of no account when it is again.
    pub(super) fn rest(&self) {
        self.is_active.set(false);
        self.ended.take();
        self.took.take();
        self.prices.set([Price::USUAL; 2]);
    }

    pub(super) fn set_prices(&self, prices: [Price; 2]) {
        self.prices.set(prices);
    }

    pub(super) fn price(&self, kind: Option<Kind>) -> Price {
        kind.map_or(Price::USUAL, |kind| self.prices.get()[kind as usize])
    }
}
