//! Who must ring the doorbell: a reactor that may sleep and threads that bring it work.

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering};

/// The agreement by which a sleeper is always woken, and a reactor that is awake costs its callers no
/// system call.
///
/// Each side first says what it does and then looks at the other's word, all sequentially consistent: so
/// at least one of them sees the other's.
pub(crate) struct Gate {
    pending: AtomicBool,
    asleep: AtomicBool,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Gate { pending: AtomicBool::new(false), asleep: AtomicBool::new(false) }
    }

    /// Says that work was left. Returns whether the caller, and no other, has to ring.
    #[must_use]
    pub(crate) fn announce(&self) -> bool {
        self.pending.store(true, Ordering::SeqCst);
        self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst)
    }

    /// Says that the reactor is about to sleep. False: it must not, there is work.
    #[must_use]
    pub(crate) fn try_sleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        let may_sleep = !self.pending.load(Ordering::SeqCst);
        if !may_sleep {
            self.wake_up();
        }
        may_sleep
    }

    /// Says that the reactor is awake.
    pub(crate) fn wake_up(&self) {
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Whether work was left. A glance that changes nothing.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire)
    }

    /// Takes note of the work left so far: the reactor fetches it next.
    pub(crate) fn take_pending(&self) -> bool {
        self.is_pending() && self.pending.swap(false, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests;
