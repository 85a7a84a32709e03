//! Who must ring the doorbell: a reactor that may sleep and threads that bring it work.
//!
//! Checked in every interleaving by loom: `RUSTFLAGS="--cfg ashlar_loom" cargo test -p
//! ashlar-reactor gate`.

#[cfg(ashlar_loom)]
use loom::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(not(ashlar_loom))]
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// The agreement by which a sleeper is always woken, and a reactor that is awake costs its callers
/// no system call.
///
/// Each side first says what it does and then looks at the other's word, with a full fence in
/// between: so at least one of them sees the other's.
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
        self.pending.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::AcqRel)
    }

    /// Says that the reactor is about to sleep. False: it must not, there is work.
    #[must_use]
    pub(crate) fn try_sleep(&self) -> bool {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let may_sleep = !self.is_pending();
        if !may_sleep {
            self.wake_up();
        }
        may_sleep
    }

    /// Says that the reactor is awake.
    pub(crate) fn wake_up(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Whether work was left. A glance that changes nothing.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire)
    }

    /// Takes note of the work left so far: the reactor fetches it next.
    pub(crate) fn take_pending(&self) -> bool {
        self.is_pending() && self.pending.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests;
