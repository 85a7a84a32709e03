//! Who waits at one reactor for the limits of a volume.
//!
//! Commands of one kind wait in the order in which their hosts first sent them: one that was sent
//! back and comes again stands before those that came meanwhile. Only one of them has taken what it
//! needs, and sleeps until it may begin: so one that is given up gives back what one command takes,
//! and a host that leaves a thousand behind holds up nobody.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use ashlar_block::latency::OpKind;
use ashlar_block::{Clock, Nanos};
use futures_util::future::{Either, select};

use super::throttle::Throttle;

/// What the first of those who wait sleeps longer than it would have to. Those behind it that might
/// begin meanwhile then begin with it, instead of each with a timer of its own. It costs nothing of
/// the rate: the shortest burst is forty times as long.
const SLACK: Duration = Duration::from_micros(250);

/// The door of one volume at one reactor.
pub(crate) struct Gate<C> {
    clock: C,
    throttle: Arc<Throttle>,
    /// Reads, and all else: where reads alone are limited, nothing else waits behind them.
    lines: [Line; 2],
}

/// Commands of one kind that wait.
#[derive(Default)]
struct Line {
    /// By when each was first sent, and the order in which they came. Those that nobody has to
    /// wake have none.
    places: RefCell<BTreeMap<(Nanos, u64), Option<Waker>>>,
    next_number: Cell<u64>,
    /// One of them has taken what it needs.
    has_taker: Cell<bool>,
}

impl Line {
    /// Whether the command in that place is the next that may take what it needs.
    fn is_next(&self, place: (Nanos, u64)) -> bool {
        let places = self.places.borrow();
        !self.has_taker.get() && places.first_key_value().is_some_and(|(first, _)| *first == place)
    }

    fn wake_first(&self) {
        let mut places = self.places.borrow_mut();
        let waker = places.first_entry().and_then(|mut first| first.get_mut().take());
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A command's place in its line, until dropped.
struct Place<'a> {
    line: &'a Line,
    key: (Nanos, u64),
    is_taker: Cell<bool>,
}

impl<'a> Place<'a> {
    fn take(line: &'a Line, since: Nanos) -> Self {
        let key = (since, line.next_number.replace(line.next_number.get() + 1));
        line.places.borrow_mut().insert(key, None);
        Place { line, key, is_taker: Cell::new(false) }
    }

    /// Waits until it is the next one, and no other has what it needs.
    async fn until_next(&self) {
        poll_fn(|cx| {
            if self.line.is_next(self.key) {
                return Poll::Ready(());
            }
            let mut places = self.line.places.borrow_mut();
            places.insert(self.key, Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
        self.is_taker.set(true);
        self.line.has_taker.set(true);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.line.places.borrow_mut().remove(&self.key);
        if self.is_taker.get() {
            self.line.has_taker.set(false);
        }
        if !self.line.has_taker.get() {
            self.line.wake_first();
        }
    }
}

impl<C: Clock> Gate<C> {
    /// Of a volume that nobody waits for at this reactor.
    pub(crate) fn new(clock: C, throttle: Arc<Throttle>) -> Self {
        Gate { clock, throttle, lines: Default::default() }
    }

    /// Whether it is for these limits.
    pub(crate) fn is_of(&self, throttle: &Arc<Throttle>) -> bool {
        Arc::ptr_eq(&self.throttle, throttle)
    }

    fn line(&self, kind: OpKind) -> &Line {
        &self.lines[usize::from(kind != OpKind::Read)]
    }

    /// Lets a command begin if the limits allow it now, and none waits.
    #[inline]
    pub(crate) fn try_pass(&self, kind: OpKind, bytes: u64) -> bool {
        !self.throttle.is_limited() || self.try_pass_limits(kind, bytes)
    }

    fn try_pass_limits(&self, kind: OpKind, bytes: u64) -> bool {
        let nobody_waits = self.line(kind).places.borrow().is_empty();
        nobody_waits && self.throttle.try_take(kind, bytes, self.clock.now())
    }

    /// Lets a command begin that was first sent at `since`, once the limits allow it and its turn
    /// has come. Whoever drops this has taken nothing.
    pub(crate) async fn pass(&self, kind: OpKind, bytes: u64, since: Nanos) {
        let _wait = Wait::begin(self);
        let place = Place::take(self.line(kind), since);
        place.until_next().await;
        loop {
            let (seen, now) = (self.throttle.generation(), self.clock.now());
            let taken =
                Taken { throttle: &self.throttle, kind, bytes, seen, begins: Cell::default() };
            let at = self.throttle.take(kind, bytes, now);
            if at > now {
                let sleep = self.clock.sleep(at.since(now) + SLACK);
                let changed = self.throttle.changed(seen);
                if let Either::Right(_) = select(pin!(sleep), pin!(changed)).await {
                    continue;
                }
            }
            taken.begins.set(true);
            return;
        }
    }
}

/// What the command has taken that waits first. It goes back if the command does not begin.
struct Taken<'a> {
    throttle: &'a Throttle,
    kind: OpKind,
    bytes: u64,
    seen: u64,
    begins: Cell<bool>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // What it took of other limits is not known any more.
        if !self.begins.get() && self.throttle.generation() == self.seen {
            self.throttle.give_back(self.kind, self.bytes);
        }
    }
}

/// A command that waits.
struct Wait<'a, C: Clock> {
    gate: &'a Gate<C>,
    began: Nanos,
}

impl<'a, C: Clock> Wait<'a, C> {
    fn begin(gate: &'a Gate<C>) -> Self {
        gate.throttle.begins_to_wait();
        Wait { gate, began: gate.clock.now() }
    }
}

impl<C: Clock> Drop for Wait<'_, C> {
    fn drop(&mut self) {
        self.gate.throttle.has_waited(self.gate.clock.now().since(self.began));
    }
}

#[cfg(test)]
mod tests;
