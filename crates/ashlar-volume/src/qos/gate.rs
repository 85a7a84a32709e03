//! Who waits at one reactor for the limits of a volume.
//!
//! Commands of one kind wait in the order in which they came. Only the first of them has taken what
//! it needs, and sleeps until it may begin: so one that is given up gives back what one command
//! takes, and a host that leaves a thousand behind holds up nobody.

use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ashlar_block::latency::OpKind;
use ashlar_block::{Clock, FairMutex, Nanos};
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
    turns: [FairMutex<()>; 2],
}

impl<C: Clock> Gate<C> {
    /// Of a volume that nobody waits for at this reactor.
    pub(crate) fn new(clock: C, throttle: Arc<Throttle>) -> Self {
        Gate { clock, throttle, turns: Default::default() }
    }

    /// Whether it is for these limits.
    pub(crate) fn is_of(&self, throttle: &Arc<Throttle>) -> bool {
        Arc::ptr_eq(&self.throttle, throttle)
    }

    fn turn(&self, kind: OpKind) -> &FairMutex<()> {
        &self.turns[usize::from(kind != OpKind::Read)]
    }

    /// Lets a command begin if the limits allow it now, and none waits.
    #[inline]
    pub(crate) fn try_pass(&self, kind: OpKind, bytes: u64) -> bool {
        !self.throttle.is_limited() || self.try_pass_limits(kind, bytes)
    }

    fn try_pass_limits(&self, kind: OpKind, bytes: u64) -> bool {
        let Ok(_turn) = self.turn(kind).try_lock() else { return false };
        self.throttle.try_take(kind, bytes, self.clock.now())
    }

    /// Lets a command begin once the limits allow it and its turn has come. Whoever drops this has
    /// taken nothing.
    pub(crate) async fn pass(&self, kind: OpKind, bytes: u64) {
        let _wait = Wait::begin(self);
        let _turn = self.turn(kind).lock().await;
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
        // A change of limits has forgotten it.
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
