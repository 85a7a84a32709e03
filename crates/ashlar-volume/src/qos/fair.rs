//! Who goes first where volumes want more than their pool can do.
//!
//! As long as one volume alone is in use, all of its commands begin at once. Where several are, the
//! bytes of commands that the store has at a time are bounded (`depth`), and beyond the bound
//! volumes take turns by their weights (`state`). A volume whose own commands in the store are
//! within its part of the bound never waits for a turn.
//!
//! A command that takes its time, because it waits for room or for a drive that hangs, is counted
//! for an epoch and the next one (`epoch`). So it keeps nobody from what can be done meanwhile. One
//! of those who wait looks at the time for all of them.
//!
//! A command of many bytes takes its turn before it takes memory and before its host is asked for
//! its data: so turns are kept as well where receiving these is what takes the time.
//!
//! One pool's, on the reactor that it lives on.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use ashlar_block::latency::OpKind;
use ashlar_block::{Clock, within};

use super::policy::WEIGHT_DEFAULT;
use depth::Kind;
pub(crate) use share::VolumeShare;
use share::{Begun, Command, Seat};
use state::State;

mod backlog;
mod depth;
mod epoch;
mod price;
mod share;
mod state;
mod stretch;
mod window;

/// Commands of a volume alone after which the time is taken. Most need none.
const LOOK_EVERY: u32 = 32;
/// How often one of those who wait takes the time for all.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The volumes of a pool that take turns.
pub(crate) struct FairShare<C> {
    clock: C,
    state: RefCell<State>,
    until_look: Cell<u32>,
    /// One of those who wait looks at the time.
    has_watch: Cell<bool>,
    /// Several of the volumes are in use, as other reactors see it.
    is_shared: Arc<AtomicBool>,
}

/// A command whose turn has come: it counts until dropped.
pub(crate) struct Turn<C: Clock> {
    share: Rc<FairShare<C>>,
    volume: Rc<VolumeShare>,
    command: Command,
    begun: Begun,
    /// The store has it.
    is_stored: bool,
}

impl<C: Clock> Turn<C> {
    /// Whether it is one of that volume.
    pub(crate) fn is_of(&self, volume: &Rc<VolumeShare>) -> bool {
        Rc::ptr_eq(&self.volume, volume)
    }

    /// The same, which the store has from now on. One that it never had has taken nothing of it.
    pub(crate) fn stored(mut self) -> Self {
        self.is_stored = true;
        self
    }

    /// The same, whose turn came before its data: what these took to come is not the store's time.
    pub(crate) fn with_data(mut self) -> Self {
        let now = self.share.clock.now();
        self.begun = self.share.state.borrow().stored(self.begun, now);
        self.stored()
    }
}

impl<C: Clock> FairShare<C> {
    /// Of a pool of which no volume is in use.
    pub(crate) fn new(clock: C) -> Rc<Self> {
        Rc::new(FairShare {
            clock,
            state: RefCell::default(),
            until_look: Cell::new(0),
            has_watch: Cell::new(false),
            is_shared: Arc::default(),
        })
    }

    /// Whether several of the volumes are in use: commands have to wait for their turn only then.
    /// Other reactors may look.
    pub(crate) fn is_shared(&self) -> &Arc<AtomicBool> {
        &self.is_shared
    }

    fn tell_whether_shared(&self, state: &State) {
        if self.is_shared.load(Ordering::Relaxed) != state.is_shared() {
            self.is_shared.store(state.is_shared(), Ordering::Relaxed);
        }
    }

    /// The part of one more volume.
    pub(crate) fn volume(&self) -> Rc<VolumeShare> {
        self.state.borrow_mut().volume(WEIGHT_DEFAULT)
    }

    /// Returns when a command for so many bytes of a volume may begin. It ends when the result is
    /// dropped.
    pub(crate) async fn enter(
        self: &Rc<Self>,
        volume: &Rc<VolumeShare>,
        kind: OpKind,
        bytes: u64,
    ) -> Turn<C> {
        let kind = match kind {
            OpKind::Read => Some(Kind::Read),
            OpKind::Write => Some(Kind::Write),
            OpKind::Trim => None,
        };
        let command = Command::new(kind, bytes);
        let turn = |begun| Turn {
            share: self.clone(),
            volume: volume.clone(),
            command,
            begun,
            is_stored: false,
        };
        let seat = match self.begin_or_queue(volume, command) {
            Ok(begun) => return turn(begun),
            Err(seat) => seat,
        };
        let mut waits = Waits { share: self, volume, seat, is_over: false };
        let begun = waits.until_called().await;
        waits.is_over = true;
        turn(begun)
    }

    fn begin_or_queue(
        &self,
        volume: &Rc<VolumeShare>,
        command: Command,
    ) -> Result<Begun, Rc<Seat>> {
        let mut state = self.state.borrow_mut();
        state.touch(volume);
        let left = self.until_look.get();
        if state.is_shared() || left == 0 {
            self.until_look.set(LOOK_EVERY);
            state.look(self.clock.now());
            state.touch(volume);
        } else {
            self.until_look.set(left - 1);
        }
        self.tell_whether_shared(&state);
        state.begin_or_queue(volume, command)
    }

    fn look(&self) {
        let mut state = self.state.borrow_mut();
        state.look(self.clock.now());
        self.tell_whether_shared(&state);
        state.call();
    }

    fn ends(&self, volume: &Rc<VolumeShare>, command: Command, begun: Begun) {
        let now = begun.stored_at.map(|_| self.clock.now());
        self.state.borrow_mut().ends(volume, command, begun, now);
    }

    fn give_back(&self, volume: &Rc<VolumeShare>, command: Command, begun: Begun) {
        self.state.borrow_mut().give_back(volume, command, begun);
    }
}

/// Waits for a turn.
struct Waits<'a, C: Clock> {
    share: &'a FairShare<C>,
    volume: &'a Rc<VolumeShare>,
    seat: Rc<Seat>,
    is_over: bool,
}

/// Who looks at the time for all that wait, until dropped.
struct Watch<'a, C: Clock>(&'a FairShare<C>);

impl<C: Clock> Drop for Watch<'_, C> {
    fn drop(&mut self) {
        self.0.has_watch.set(false);
    }
}

impl<C: Clock> Waits<'_, C> {
    /// Returns how it has begun, once it was called.
    async fn until_called(&self) -> Begun {
        let called = poll_fn(|cx| match self.seat.called.get() {
            Some(begun) => Poll::Ready(Some(begun)),
            // The watch is free.
            None if !self.share.has_watch.get() => Poll::Ready(None),
            None => {
                self.seat.waker.replace(Some(cx.waker().clone()));
                Poll::Pending
            }
        });
        match called.await {
            Some(begun) => begun,
            None => self.watch().await,
        }
    }

    /// The same for who looks at the time meanwhile: nothing may have ended that counts no longer.
    async fn watch(&self) -> Begun {
        self.share.has_watch.set(true);
        let _watch = Watch(self.share);
        loop {
            let called = poll_fn(|cx| match self.seat.called.get() {
                Some(begun) => Poll::Ready(begun),
                None => {
                    self.seat.waker.replace(Some(cx.waker().clone()));
                    Poll::Pending
                }
            });
            if let Some(begun) = within(&self.share.clock, LOOK_AGAIN, called).await {
                return begun;
            }
            self.share.look();
        }
    }
}

impl<C: Clock> Drop for Waits<'_, C> {
    fn drop(&mut self) {
        match self.seat.called.get() {
            _ if self.is_over => {}
            None => self.share.state.borrow_mut().leave(self.volume, &self.seat),
            Some(begun) => self.share.give_back(self.volume, self.seat.command, begun),
        }
        if !self.share.has_watch.get() {
            let next = self.share.state.borrow().first_waker();
            next.into_iter().for_each(Waker::wake);
        }
    }
}

impl<C: Clock> Drop for Turn<C> {
    fn drop(&mut self) {
        if self.is_stored {
            self.share.ends(&self.volume, self.command, self.begun);
        } else {
            self.share.give_back(&self.volume, self.command, self.begun);
        }
    }
}

#[cfg(test)]
mod tests;
