//! Drives that answer nothing, though they owe answers. A drive that hangs gives no error; that
//! nothing comes is all that tells it from one that works.
//!
//! A drive is silent if it has answered nothing for a while, however many answers it owes: one that
//! has much to do is late with each, but gives some. Reads and writes are looked at apart: one
//! whose writes hang may read on, from its cache for instance. Time is counted in looks, which
//! somebody takes at equal intervals ([`Array::look`](crate::Array::look)), not by a clock: a
//! process that stands still takes none, and blames no drive for it.

use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::Duration;

use slab::Slab;

/// Between two looks.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Looks in a row without an answer that make a drive silent: more than a second and a half. Drives
/// that tidy up, or try again to read what they cannot, take less, but for a few.
const SILENT_LOOKS: u32 = 4;

/// What a drive owes of each sort, and whether it answers.
#[derive(Default)]
pub(crate) struct Silences {
    pub reads: Silence,
    /// And flushes.
    pub writes: Silence,
}

impl Silences {
    fn both(&self) -> [&Silence; 2] {
        [&self.reads, &self.writes]
    }

    /// Whether it owes answers.
    pub fn owes(&self) -> bool {
        self.both().into_iter().any(Silence::owes)
    }

    /// Looks at what it owes. True: it has become silent, to the one or to the other.
    pub fn look(&self) -> bool {
        let [reads, writes] = self.both().map(Silence::look);
        reads || writes
    }

    /// Whether it owes answers of one sort and gives none.
    pub fn is_long(&self) -> bool {
        self.both().into_iter().any(Silence::is_long)
    }

    /// Whether it owed answers at the last look, and had given none since the one before.
    pub fn has_begun(&self) -> bool {
        self.both().into_iter().any(Silence::has_begun)
    }

    /// How long it has given no answer of one sort, at least.
    pub fn lasts(&self) -> Duration {
        self.reads.lasts().max(self.writes.lasts())
    }

    /// Wakes those who wait for answers: they need not any more.
    pub fn wake_all(&self) {
        self.both().into_iter().for_each(Silence::wake_all);
    }
}

/// What a drive owes of one sort.
#[derive(Default)]
pub(crate) struct Silence {
    /// Who waits for answers.
    waiting: RefCell<Slab<Waker>>,
    /// Looks in a row at which it owed answers, without any in between.
    looks: Cell<u32>,
    has_answered: Cell<bool>,
    /// It owed answers at the last look, and had given none since the one before.
    has_begun: Cell<bool>,
}

impl Silence {
    /// It has given an answer.
    pub fn ends(&self) {
        self.looks.set(0);
        self.has_answered.set(true);
        self.has_begun.set(false);
    }

    fn owes(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Looks at what it owes. True: it has become silent.
    fn look(&self) -> bool {
        let (owes, has_answered) = (self.owes(), self.has_answered.take());
        let looks = if owes { self.looks.get() + 1 } else { 0 };
        self.looks.set(looks);
        // One that has much to do owes something at every look.
        self.has_begun.set(owes && !has_answered);
        looks == SILENT_LOOKS
    }

    /// Whether it owes answers and gives none.
    pub fn is_long(&self) -> bool {
        self.looks.get() >= SILENT_LOOKS
    }

    fn has_begun(&self) -> bool {
        self.has_begun.get()
    }

    fn lasts(&self) -> Duration {
        LOOK_INTERVAL * self.looks.get().saturating_sub(1)
    }

    fn wake_all(&self) {
        self.waiting.borrow().iter().for_each(|(_, waker)| waker.wake_by_ref());
    }
}

/// An answer that is waited for. It is not any more once this is dropped.
pub(crate) struct Debt<'a> {
    of: &'a Silence,
    place: Option<usize>,
}

impl<'a> Debt<'a> {
    /// None yet.
    pub fn none(of: &'a Silence) -> Self {
        Debt { of, place: None }
    }

    /// The drive owes it to who is woken by `waker`.
    pub fn is_owed_to(&mut self, waker: &Waker) {
        let mut waiting = self.of.waiting.borrow_mut();
        match self.place {
            Some(place) => waiting[place].clone_from(waker),
            None => self.place = Some(waiting.insert(waker.clone())),
        }
    }
}

impl Drop for Debt<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.of.waiting.borrow_mut().remove(place);
        }
    }
}

#[cfg(test)]
mod tests;
