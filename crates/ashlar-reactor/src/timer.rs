//! Timers of one reactor.
//!
//! A timer mostly says that somebody else has been silent for too long. A reactor that stood still
//! itself, because its process was stopped or got no processor, has not heard what they said:
//! timers that it finds overdue are held back once, while it reads what has arrived and lets others
//! answer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ashlar_block::Nanos;
use rustix::time::{ClockId, clock_gettime};

use crate::reactor::{self, Reactor};

/// Monotonic time, which goes on while the machine is suspended: what a lease allows has ended by
/// then. The same on every thread; works without a reactor.
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Boottime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// From this lateness on the reactor is held to have stood still, and not to have been busy.
const STANDSTILL_MIN: Duration = Duration::from_millis(10);
/// How long overdue timers are held back: as long as they are late, at most this long.
const HOLD_MAX: Duration = Duration::from_secs(1);

/// Deadline first; the serial number keeps equal deadlines apart.
type TimerKey = (Nanos, u64);

#[derive(Default)]
pub(crate) struct Timers {
    waiting: RefCell<BTreeMap<TimerKey, Waker>>,
    serial: Cell<u64>,
    /// Nothing fires before, after the reactor has stood still.
    hold_until: Cell<Option<Nanos>>,
}

impl Timers {
    fn insert(&self, deadline: Nanos, waker: Waker) -> TimerKey {
        self.serial.set(self.serial.get() + 1);
        let key = (deadline, self.serial.get());
        self.waiting.borrow_mut().insert(key, waker);
        key
    }

    /// Whether a timer has not fired yet; then it wakes `waker`.
    fn is_waiting(&self, key: TimerKey, waker: &Waker) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let Some(place) = waiting.get_mut(&key) else { return false };
        if !place.will_wake(waker) {
            *place = waker.clone();
        }
        true
    }

    fn remove(&self, key: TimerKey) {
        let removed = self.waiting.borrow_mut().remove(&key);
        drop(removed);
    }

    fn first_deadline(&self) -> Option<Nanos> {
        self.waiting.borrow().first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// When the next one fires.
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.first_deadline()
            .map(|deadline| deadline.max(self.hold_until.get().unwrap_or_default()))
    }

    /// Wakes those that are due, unless they are held back.
    pub(crate) fn fire(&self, now: Nanos) {
        if self.holds(now) {
            return;
        }
        while let Some(waker) = self.take_due(now) {
            waker.wake();
        }
    }

    /// Whether overdue timers are held back now. Once for every standstill: a reactor that is late
    /// all the time fires its timers all the same.
    fn holds(&self, now: Nanos) -> bool {
        if let Some(end) = self.hold_until.get() {
            self.hold_until.set(Some(end).filter(|end| now < *end));
            return now < end;
        }
        let lateness = self.first_deadline().map_or(Duration::ZERO, |deadline| now.since(deadline));
        if lateness < STANDSTILL_MIN {
            return false;
        }
        let hold = lateness.min(HOLD_MAX);
        self.hold_until.set(Some(Nanos(now.0 + hold.as_nanos() as u64)));
        true
    }

    fn take_due(&self, now: Nanos) -> Option<Waker> {
        let mut waiting = self.waiting.borrow_mut();
        let first = waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    pub(crate) fn clear(&self) {
        drop(self.waiting.take());
    }
}

/// Ends at its deadline. Made by [`sleep`] and [`sleep_until`].
pub struct Sleep {
    deadline: Nanos,
    timer: Option<(Rc<Reactor>, TimerKey)>,
}

/// Ends no sooner than `duration` from now.
pub fn sleep(duration: Duration) -> Sleep {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    sleep_until(Nanos(now().0.saturating_add(nanos)))
}

/// Ends no sooner than `deadline`.
pub fn sleep_until(deadline: Nanos) -> Sleep {
    Sleep { deadline, timer: None }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some((reactor, key)) = &self.timer {
            let waits = reactor.timers.is_waiting(*key, cx.waker());
            return if waits { Poll::Pending } else { Poll::Ready(()) };
        }
        if now() >= self.deadline {
            return Poll::Ready(());
        }
        let reactor = reactor::current();
        let key = reactor.timers.insert(self.deadline, cx.waker().clone());
        self.timer = Some((reactor, key));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((reactor, key)) = &self.timer {
            reactor.timers.remove(*key);
        }
    }
}

/// The time allowed has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("timed out")]
pub struct TimedOut;

/// The output of `future`, if it comes within `duration`; otherwise the future is dropped.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Result<F::Output, TimedOut> {
    let mut future = std::pin::pin!(future);
    let mut sleep = sleep(duration);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(&mut sleep).poll(cx).map(|()| Err(TimedOut))
    })
    .await
}
