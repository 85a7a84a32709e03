//! How far the opening of a pool is.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// What the opening of a pool does now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum OpeningStage {
    /// It looks for the pool's drives.
    #[default]
    Looking,
    /// It waits for members that the pool counts on, by their names. None: no member is there yet.
    Waiting(Vec<String>),
    /// It reads what is on the drives.
    Reading,
}

/// The opening of a pool, for whoever looks on from another thread. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Opening(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    stage: OpeningStage,
    is_stopped: bool,
    /// Told before what is on the drives is read.
    on_reading: Option<Box<dyn FnOnce() + Send>>,
    /// Told once the pool can be served, before anybody sees that it is open.
    on_opened: Option<Box<dyn FnOnce() + Send>>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Opening {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder of the lock panics")
    }

    /// One that tells once, before what is on the drives is read: the pool's work begins then. And
    /// once before anybody sees that the pool is open; not of one that cannot be opened.
    pub fn telling(
        on_reading: impl FnOnce() + Send + 'static,
        on_opened: impl FnOnce() + Send + 'static,
    ) -> Self {
        let state = State {
            on_reading: Some(Box::new(on_reading)),
            on_opened: Some(Box::new(on_opened)),
            ..State::default()
        };
        Opening(Arc::new(Mutex::new(state)))
    }

    /// What it does now.
    pub fn stage(&self) -> OpeningStage {
        self.state().stage.clone()
    }

    pub(super) fn enter(&self, stage: OpeningStage) {
        let told = {
            let mut state = self.state();
            let told = if stage == OpeningStage::Reading { state.on_reading.take() } else { None };
            state.stage = stage;
            told
        };
        told.into_iter().for_each(|told| told());
    }

    /// The pool can be served: the caller lets others see that next.
    pub(super) fn has_opened(&self) {
        let told = self.state().on_opened.take();
        told.into_iter().for_each(|told| told());
    }

    /// Ends the wait for drives. One that reads what is on them goes on to its end.
    pub fn stop(&self) {
        self.state().is_stopped = true;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }
}
