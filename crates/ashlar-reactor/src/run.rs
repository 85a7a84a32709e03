//! The life of a reactor on its thread, from its first task to the kernel's last completion.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::Nanos;
use io_uring::{opcode, types};

use crate::config::Config;
use crate::error::StartError;
use crate::reactor::{self, Reactor};
use crate::ring::{Ring, Wait};
use crate::timer::now;
use crate::waker;

/// How long the end of a reactor waits for the kernel to let go of its memory.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Runs `main` and all that it spawns on a reactor of this thread, until `main` ends. Tasks that
/// have not ended then are dropped; what was in flight is cancelled where the kernel still can, and
/// awaited.
///
/// A panic in any task ends the run and goes on in the caller.
///
/// # Errors
/// [`StartError`], before anything has run.
pub fn run<F: Future + 'static>(config: Config, main: F) -> Result<F::Output, StartError> {
    let session = Session::start(config)?;
    let mut main = session.0.spawn_joined(main);
    loop {
        session.0.run_tasks();
        if let Some(output) = main.try_take() {
            return Ok(output);
        }
        session.0.look_at_ring();
    }
}

/// A reactor while it is this thread's.
struct Session(Rc<Reactor>);

impl Session {
    fn start(config: Config) -> Result<Self, StartError> {
        if let Some(fault) = config.fault() {
            return Err(StartError::Config(fault));
        }
        if reactor::try_current().is_some() {
            return Err(StartError::AlreadyRunning);
        }
        let reactor = Rc::new(Reactor::new(config)?);
        reactor::set_current(Some(reactor.clone()));
        Ok(Session(reactor))
    }
}

impl Drop for Session {
    /// In this order: no new work from outside; the tasks, whose futures abandon their operations;
    /// then the operations, because the kernel still writes into their memory; and the ring last.
    fn drop(&mut self) {
        drop(self.0.inbox.close());
        self.0.tasks.clear();
        self.0.timers.clear();
        self.0.drain();
        // What was dropped above may have spawned: nothing of that runs any more.
        self.0.tasks.clear();
        waker::unregister(self.0.id);
        reactor::set_current(None);
    }
}

impl Reactor {
    /// Cancels what is in flight, waits until the kernel is done with it, and closes the ring.
    fn drain(self: &Rc<Self>) {
        let everything = types::CancelBuilder::any();
        self.push_ignored(opcode::AsyncCancel2::new(everything).build());
        let end = Nanos(now().0 + DRAIN_MAX.as_nanos() as u64);
        self.enter_and_reap(Wait::No);
        while self.ops.borrow().in_flight() > 0 && now() < end {
            self.enter_and_reap(Wait::AtMost(end.since(now())));
        }
        let ring = self.ring.take();
        self.final_counts.set(ring.as_ref().map(Ring::counts).unwrap_or_default());
        let stuck = self.ops.borrow().in_flight();
        if stuck > 0 {
            tracing::error!(
                operations = stuck,
                "the kernel did not end all operations in time; their memory is given up"
            );
            std::mem::forget(self.clone());
        }
    }
}
