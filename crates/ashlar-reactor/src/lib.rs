//! The thread-per-core executor over io_uring.
//!
//! A **reactor** is a thread with a ring of its own: tasks, timers, sockets and files, all driven
//! by one system call per **turn** that submits what the tasks began and waits for what completes.
//! Nothing of a reactor is shared with another thread, except its [`Handle`] and the [`mailbox`]es
//! between threads.
//!
//! What holds everywhere:
//! - Memory lent to the kernel belongs to the ring until its last completion. Dropping a future
//!   frees nothing that the kernel may still touch.
//! - Futures belong to the thread that made them; a waker may go anywhere.
//! - A reactor without work sleeps in the kernel and costs nothing.
//!
//! This crate knows nothing of what flows through it: no commands, no drives, no volumes.

pub mod allocations;
mod config;
mod doorbell;
mod error;
pub mod fs;
mod gate;
mod handle;
mod idle;
mod inbox;
mod join;
mod lent;
pub mod mailbox;
pub mod net;
mod op;
mod ops;
pub mod passthrough;
mod pool;
mod reactor;
mod reply;
mod ring;
mod run;
mod spin;
mod stats;
mod task;
mod timer;
mod turn;
mod waker;

use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};

use ashlar_block::Nanos;

pub use config::Config;
pub use error::StartError;
pub use handle::Handle;
pub use idle::WhenIdle;
pub use inbox::ReactorGone;
pub use join::JoinHandle;
pub use reply::Reply;
pub use run::run;
pub use stats::Stats;
pub use timer::{Sleep, TimedOut, now, sleep, sleep_until, timeout};

/// Stack of a thread that serves as a reactor; what it does not touch takes no memory. A build
/// without optimisation does not merge the states of async functions: it overflows the 2 MiB that
/// threads have otherwise.
pub const STACK_BYTES: usize = 8 << 20;

/// Runs `future` on this thread's reactor, beside the caller.
///
/// # Panics
/// If no reactor runs on this thread.
pub fn spawn(future: impl Future<Output = ()> + 'static) {
    reactor::current().spawn(Box::pin(future));
}

/// As [`spawn`], and its output can be awaited.
///
/// # Panics
/// If no reactor runs on this thread.
pub fn spawn_joined<F: Future + 'static>(future: F) -> JoinHandle<F::Output> {
    reactor::current().spawn_joined(future)
}

/// Wakes a task, and polls it before this returns if it is one of this thread's reactor that is not
/// running: what it was woken for is done while it is in the caches, and without a place in the
/// queue. It must not lead back here without end. Such a poll is one of its turn's
/// ([`polls_per_turn_max`](Config::polls_per_turn_max)); once they are used up, the task has its
/// place in the queue.
pub fn wake_at_once(waker: Waker) {
    if !reactor::try_current().is_some_and(|reactor| reactor.poll_at_once(&waker)) {
        waker.wake();
    }
}

/// When this turn of this thread's reactor began: what it has received came no later. Costs no look
/// at the clock.
///
/// # Panics
/// If no reactor runs on this thread.
pub fn turn_began() -> Nanos {
    reactor::turn_began().expect("this needs a reactor, and none runs on this thread")
}

/// Lets every other task that is ready run first. A task that yields again before it is done also
/// lets the ring be looked at.
pub fn yield_now() -> impl Future<Output = ()> + 'static {
    let mut yielded = false;
    poll_fn(move |cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        reactor::current().tasks.yield_until_later(cx.waker().clone());
        Poll::Pending
    })
}

/// Calls `hook` each time that this thread's reactor has nothing to do any more, after it had: to
/// give back what is kept for use again. As long as what is returned lives.
///
/// # Panics
/// If no reactor runs on this thread.
pub fn when_idle(hook: impl Fn() + 'static) -> WhenIdle {
    WhenIdle::new(reactor::current(), std::rc::Rc::new(hook))
}

/// The way to this thread's reactor from other threads.
///
/// # Panics
/// If no reactor runs on this thread.
pub fn handle() -> Handle {
    Handle::new(reactor::current().inbox.clone())
}

/// What this thread's reactor has done so far.
///
/// # Panics
/// If no reactor runs on this thread.
pub fn stats() -> Stats {
    reactor::current().stats()
}

#[cfg(test)]
mod tests;
