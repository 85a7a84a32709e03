//! What other threads bring to a reactor: wakes of its tasks, and functions to run.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use crate::gate::Gate;
use crate::task::TaskKey;

/// Something brought from another thread.
pub(crate) enum Letter {
    Wake(TaskKey),
    Run(Box<dyn FnOnce() + Send>),
    /// A shared receive buffer that another thread is done with.
    GiveBack(u16),
}

/// A queue with a doorbell. The lock is held for a push or a swap, never while anything runs.
pub(crate) struct Inbox {
    letters: Mutex<Letters>,
    gate: Gate,
    doorbell: OwnedFd,
}

#[derive(Default)]
struct Letters {
    queue: VecDeque<Letter>,
    closed: bool,
}

/// The reactor has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the reactor has ended")]
pub struct ReactorGone;

impl Inbox {
    /// `doorbell` is an eventfd that the reactor reads while it sleeps.
    pub(crate) fn new(doorbell: OwnedFd) -> Self {
        Inbox { letters: Mutex::default(), gate: Gate::new(), doorbell }
    }

    pub(crate) fn doorbell(&self) -> &OwnedFd {
        &self.doorbell
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Wakes a task; nothing if the reactor has ended.
    pub(crate) fn wake(&self, key: TaskKey) {
        let _ = self.post(Letter::Wake(key));
    }

    pub(crate) fn post(&self, letter: Letter) -> Result<(), ReactorGone> {
        {
            let mut letters = self.letters.lock().expect("no holder panics");
            if letters.closed {
                return Err(ReactorGone);
            }
            letters.queue.push_back(letter);
        }
        if self.gate.announce() {
            // It can fail only by overflow, and then the doorbell is ringing already.
            let _ = rustix::io::write(&self.doorbell, &1u64.to_ne_bytes());
        }
        Ok(())
    }

    /// Swaps what has come with `emptied`, whose memory is used for what comes next.
    pub(crate) fn take(&self, emptied: &mut VecDeque<Letter>) {
        std::mem::swap(&mut self.letters.lock().expect("no holder panics").queue, emptied);
    }

    /// Takes nothing more. Returns what nobody will read, to be dropped by the caller.
    pub(crate) fn close(&self) -> VecDeque<Letter> {
        let mut letters = self.letters.lock().expect("no holder panics");
        letters.closed = true;
        std::mem::take(&mut letters.queue)
    }
}
