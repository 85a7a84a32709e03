//! What is under way in a volume: so that a delete, a shrink or a format waits for it, and a flush
//! knows what came before.

use std::cell::RefCell;
use std::collections::VecDeque;

use ashlar_block::{Cause, IoError, Notify, wait_for};

/// Counts operations in and out. One thread's.
///
/// Operations are counted by **epoch**: a flush begins a new one and waits until the earlier ones
/// are empty, so that it never waits for what came after it.
#[derive(Default)]
pub(crate) struct Gate {
    state: RefCell<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// Operations under way, oldest epoch first. Never empty once anything has entered.
    epochs: VecDeque<usize>,
    /// The number of the epoch in front.
    first_epoch: u64,
    /// Somebody has, or waits for, the volume alone.
    exclusive: bool,
    /// What those who would enter are told meanwhile; `None`: they wait.
    refusal: Option<Cause>,
    /// Why nothing enters any more.
    closed: Option<Cause>,
    /// Somebody may wait for a change.
    awaited: bool,
    /// Operations that have entered so far.
    entered: u64,
}

impl State {
    fn is_idle(&self) -> bool {
        self.epochs.iter().all(|count| *count == 0)
    }

    /// Enters the newest epoch.
    fn enter(&mut self) -> u64 {
        if self.epochs.is_empty() {
            self.epochs.push_back(0);
        }
        *self.epochs.back_mut().expect("just filled") += 1;
        self.entered += 1;
        self.first_epoch + self.epochs.len() as u64 - 1
    }

    fn leave(&mut self, epoch: u64) {
        self.epochs[(epoch - self.first_epoch) as usize] -= 1;
        while self.epochs.len() > 1 && self.epochs[0] == 0 {
            self.epochs.pop_front();
            self.first_epoch += 1;
        }
    }
}

/// An operation under way, until dropped.
pub(crate) struct Entry<'a> {
    gate: &'a Gate,
    epoch: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.gate.change(|state| state.leave(self.epoch));
    }
}

/// Nothing else is under way, until dropped.
pub(crate) struct Alone<'a>(&'a Gate);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.change(|state| (state.exclusive, state.refusal) = (false, None));
    }
}

impl Gate {
    /// Changes the state, and tells those who wait, if there are any: mostly there are none.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.borrow_mut();
        change(&mut state);
        let awaited = std::mem::take(&mut state.awaited);
        drop(state);
        if awaited {
            self.changed.notify_waiters();
        }
    }

    /// What `ready` gives, once it gives something.
    async fn wait_for<T>(&self, ready: impl Fn(&mut State) -> Option<T>) -> T {
        wait_for(&self.changed, || {
            let mut state = self.state.borrow_mut();
            let value = ready(&mut state);
            state.awaited |= value.is_none();
            value
        })
        .await
    }

    /// Operations that have entered so far.
    pub fn entered(&self) -> u64 {
        self.state.borrow().entered
    }

    /// Begins an operation, once nobody has the volume alone.
    ///
    /// # Errors
    /// Why the gate is closed, or why it is not to wait.
    pub async fn enter(&self) -> Result<Entry<'_>, IoError> {
        self.wait_for(|state| match state.closed {
            Some(cause) => Some(Err(cause.into())),
            None if state.exclusive => state.refusal.map(|cause| Err(cause.into())),
            None => Some(Ok(Entry { gate: self, epoch: state.enter() })),
        })
        .await
    }

    /// Takes the volume alone: lets nothing in, and returns once everything is out. Also of a
    /// closed gate.
    pub async fn alone(&self) -> Alone<'_> {
        self.take(None).await
    }

    /// The same, where nobody who would enter waits: all are told `cause`.
    pub async fn alone_refusing(&self, cause: Cause) -> Alone<'_> {
        self.take(Some(cause)).await
    }

    /// What those are told who would enter while somebody has the volume alone, or the gate is
    /// closed, if they are not to wait.
    pub fn refusal(&self) -> Option<Cause> {
        let state = self.state.borrow();
        state.closed.or(state.refusal)
    }

    async fn take(&self, refusal: Option<Cause>) -> Alone<'_> {
        let alone = self
            .wait_for(|state| {
                let taken = !std::mem::replace(&mut state.exclusive, true);
                taken.then(|| {
                    state.refusal = refusal;
                    Alone(self)
                })
            })
            .await;
        self.wait_for(|state| state.is_idle().then_some(())).await;
        alone
    }

    /// Returns once everything that is under way now has ended.
    pub async fn settle(&self) {
        let Some(newest) = self.begin_epoch() else { return };
        self.wait_for(|state| (state.first_epoch > newest).then_some(())).await;
    }

    /// The epoch that holds the newest operation under way, which no later one enters; none if all
    /// is quiet.
    fn begin_epoch(&self) -> Option<u64> {
        let mut state = self.state.borrow_mut();
        if state.is_idle() {
            return None;
        }
        if state.epochs.back() != Some(&0) {
            state.epochs.push_back(0);
        }
        Some(state.first_epoch + state.epochs.len() as u64 - 2)
    }

    /// Opens it again where it was closed for `cause` last, and not for another one since.
    pub fn reopen(&self, cause: Cause) {
        self.change(|state| state.closed = state.closed.filter(|closed| *closed != cause));
    }

    /// Lets nothing in from now on; what waits to enter is told `cause`. `None` opens it again.
    pub fn close(&self, cause: Option<Cause>) {
        self.change(|state| state.closed = cause);
    }
}

#[cfg(test)]
mod tests;
