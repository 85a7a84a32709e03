//! Timers of one reactor.

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

/// Monotonic time. The same on every thread; works without a reactor.
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Deadline first; the serial number keeps equal deadlines apart.
type TimerKey = (Nanos, u64);

#[derive(Default)]
pub(crate) struct Timers {
    waiting: RefCell<BTreeMap<TimerKey, Waker>>,
    serial: Cell<u64>,
}

impl Timers {
    fn insert(&self, deadline: Nanos, waker: Waker) -> TimerKey {
        self.serial.set(self.serial.get() + 1);
        let key = (deadline, self.serial.get());
        self.waiting.borrow_mut().insert(key, waker);
        key
    }

    fn replace_waker(&self, key: TimerKey, waker: &Waker) {
        let mut waiting = self.waiting.borrow_mut();
        if let Some(place) = waiting.get_mut(&key).filter(|place| !place.will_wake(waker)) {
            *place = waker.clone();
        }
    }

    fn remove(&self, key: TimerKey) {
        let removed = self.waiting.borrow_mut().remove(&key);
        drop(removed);
    }

    /// When the next one is due.
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.waiting.borrow().first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// Wakes those that are due.
    pub(crate) fn fire(&self, now: Nanos) {
        while let Some(waker) = self.take_due(now) {
            waker.wake();
        }
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
        if now() >= self.deadline {
            return Poll::Ready(());
        }
        match &self.timer {
            Some((reactor, key)) => reactor.timers.replace_waker(*key, cx.waker()),
            None => {
                let reactor = reactor::current();
                let key = reactor.timers.insert(self.deadline, cx.waker().clone());
                self.timer = Some((reactor, key));
            }
        }
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
