//! Pools that faults in Ashlar itself have stopped, from the reactors to the control plane.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ashlar_block::{Notify, wait_for};
use ashlar_node::StopListener;
use ashlar_volume::StoppedPool;

/// Pools that have been stopped and that nobody has taken note of yet. Clones are the same.
#[derive(Clone, Default)]
pub struct Stops(Arc<Inner>);

#[derive(Default)]
struct Inner {
    pools: Mutex<Vec<StoppedPool>>,
    changed: Notify,
}

impl Stops {
    /// What tells of pools to come.
    pub fn listener(&self) -> StopListener {
        let stops = self.clone();
        Arc::new(move |stopped| stops.tell(stopped))
    }

    /// A pool has been stopped, or let go of since.
    pub fn tell(&self, stopped: StoppedPool) {
        let mut pools = self.pools();
        pools.retain(|known| known.uuid != stopped.uuid);
        pools.push(stopped);
        drop(pools);
        self.0.changed.notify_waiters();
    }

    /// The pool of this UUID, if it has been stopped.
    pub fn get(&self, uuid: &str) -> Option<StoppedPool> {
        self.pools().iter().find(|pool| pool.uuid.to_string() == uuid).cloned()
    }

    /// Everybody knows of all that have been stopped.
    pub fn is_empty(&self) -> bool {
        self.pools().is_empty()
    }

    /// Waits for one that has been let go of.
    pub async fn next(&self) -> StoppedPool {
        let let_go = || self.pools().iter().find(|pool| pool.is_let_go).cloned();
        wait_for(&self.0.changed, let_go).await
    }

    /// Whoever is asked for it knows it now.
    pub fn forget(&self, pool: &StoppedPool) {
        self.pools().retain(|known| known != pool);
    }

    fn pools(&self) -> MutexGuard<'_, Vec<StoppedPool>> {
        // A panic may have come while it was held, and has left it whole.
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
