//! Halt: whether a pool takes writes, and until when its tasks run.
//!
//! 1. A pool that has halted never takes writes again.
//! 2. A pool that has been closed has halted.

use std::cell::{Cell, RefCell};

use ashlar_block::{Cause, IoError, wait_for};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

type Hearer = Box<dyn Fn(&str)>;

/// The latch.
#[derive(Default)]
pub(crate) struct Halt {
    why: RefCell<Option<String>>,
    begun: Notify,
    /// Hears of it when a pool that was not closed takes no writes any more.
    heard: RefCell<Option<Hearer>>,
    is_closed: Cell<bool>,
    closing: Notify,
}

impl Halt {
    /// The pool takes no writes from now on. False: it took none before, for another reason.
    pub fn begin(&self, why: String) -> bool {
        let is_first = self.why.borrow().is_none();
        if is_first {
            self.overrule(why);
        }
        is_first
    }

    /// The same for a reason that comes before any other one.
    pub fn overrule(&self, why: String) {
        *self.why.borrow_mut() = Some(why);
        self.begun.notify_waiters();
    }

    /// From now on `heard` is told the reason when the pool halts.
    pub fn hear(&self, heard: impl Fn(&str) + 'static) {
        *self.heard.borrow_mut() = Some(Box::new(heard));
    }

    /// Tells whoever hears of it.
    pub fn tell(&self, why: &str) {
        if let Some(heard) = &*self.heard.borrow() {
            heard(why);
        }
    }

    /// Why the pool takes no writes, if it takes none.
    pub fn why(&self) -> Option<String> {
        self.why.borrow().clone()
    }

    /// An error if the pool takes no writes.
    pub fn check(&self) -> Result<(), IoError> {
        let error = |why: &String| IoError::new(Cause::WriteFault, why.clone());
        self.why.borrow().as_ref().map(error).map_or(Ok(()), Err)
    }

    /// Ends when the pool halts, or the reason changes.
    pub fn begins(&self) -> Notified<'_> {
        self.begun.notified()
    }

    /// Returns once the pool has halted, with the reason.
    pub async fn wait(&self) -> IoError {
        wait_for(&self.begun, || self.check().err()).await
    }

    /// Returns once `look` finds something: it is asked again whenever the reason changes.
    pub async fn wait_for<T>(&self, look: impl Fn() -> Option<T>) -> T {
        wait_for(&self.begun, look).await
    }

    /// The pool's tasks end where they are.
    pub fn close(&self) {
        self.begin("it has been closed".to_owned());
        self.is_closed.set(true);
        self.closing.notify_waiters();
    }

    /// No task of the pool runs any more.
    pub fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Returns once the pool has been closed.
    pub async fn closed(&self) {
        wait_for(&self.closing, || self.is_closed().then_some(())).await;
    }
}

#[cfg(test)]
mod tests;
