//! Until when the drives may be written to: others may reach them as well, and who shares them says
//! so.

use std::cell::Cell;

use ashlar_block::{Device, Nanos, wait_for};
use tokio::sync::Notify;

use super::Array;

/// Unlimited, until somebody limits it.
pub(super) struct Permit {
    until: Cell<Nanos>,
    changed: Notify,
}

impl Default for Permit {
    fn default() -> Self {
        Permit { until: Cell::new(Nanos(u64::MAX)), changed: Notify::new() }
    }
}

impl<D: Device> Array<D> {
    /// Writes wait from this time on, until a later one is set. Of an array that has a clock.
    pub fn permit_until(&self, until: Nanos) {
        self.permit.until.set(until);
        self.permit.changed.notify_waiters();
    }

    /// Whether writes begin now. A process may be stopped at any instruction, for as long as it
    /// likes; so this is asked by the clock, as late as can be, and not told by a timer, which may
    /// ring after what it should have kept back.
    pub fn is_permitted(&self) -> bool {
        let until = self.permit.until.get();
        until == Nanos(u64::MAX) || self.clock.as_ref().is_none_or(|clock| clock() < until)
    }

    /// Returns once writes may begin.
    pub async fn permitted(&self) {
        wait_for(&self.permit.changed, || self.is_permitted().then_some(())).await;
    }
}
