//! What connections leave behind: connections that end badly, and a target that has come to rest.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ashlar_reactor::{WhenIdle, when_idle};

use super::{PATIENCE, Queue, Rig, eventually};

/// Longer than a reactor waits that is made to rest in tests. One that takes longer is asked again.
const REST: Duration = Duration::from_millis(100);

/// Counts [`Rig::await_jobs`]: one rig of a process may rest at a time.
static JOBS_AWAITED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Of the target's thread: what says that it rests.
    static RESTING: RefCell<Option<WhenIdle>> = const { RefCell::new(None) };
}

/// Closes with a reset instead of an orderly end.
pub fn reset(queue: Queue) {
    rustix::net::sockopt::set_socket_linger(&queue.stream, Some(Duration::ZERO)).unwrap();
}

/// Files that this process has open.
pub fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

impl Rig {
    /// Waits until the target's reactor has had nothing to do, and has given back what it kept for
    /// use again.
    pub fn rest(&mut self) {
        let (tell, told) = mpsc::channel();
        let hook = move || {
            let _ = tell.send(());
        };
        self.have_done(|| RESTING.set(Some(when_idle(hook))));
        let start = Instant::now();
        while told.recv_timeout(REST).is_err() {
            assert!(start.elapsed() < PATIENCE, "it does not come to rest");
            // A reactor that has done next to nothing has nothing to give back, and does not say
            // that it rests.
            (0..2000).for_each(|_| _ = self.stats());
        }
        self.have_done(|| RESTING.set(None));
        (0..2).for_each(|_| self.await_jobs());
    }

    /// Waits until the target's thread has done all that it was told, and dropped it. Allocates
    /// nothing, on neither thread: an answer by a channel would leave the channel for a moment.
    fn await_jobs(&mut self) {
        let before = JOBS_AWAITED.load(Ordering::Acquire);
        self.have_done(|| _ = JOBS_AWAITED.fetch_add(1, Ordering::AcqRel));
        eventually("the target's thread goes on", || {
            JOBS_AWAITED.load(Ordering::Acquire) != before
        });
    }
}
