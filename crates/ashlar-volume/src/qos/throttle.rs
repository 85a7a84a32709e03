//! The limits of one volume, shared by all reactors.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ashlar_block::latency::OpKind;
use ashlar_block::{Nanos, Notify, wait_for};

use super::policy::{Flow, Limits};
use super::rate::Rate;

/// What the limits of a volume have held up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    /// Commands that wait now.
    pub waiting: u64,
    /// Commands that have waited, those included that still do.
    pub commands: u64,
    /// How long those that no longer wait have waited, all together.
    pub total: Duration,
}

/// The limits of a volume, and what of them is spent.
#[derive(Default, Debug)]
pub(crate) struct Throttle {
    /// All that a command of a volume without limits looks at.
    is_limited: AtomicBool,
    iops: [Rate; Flow::ALL.len()],
    bytes: [Rate; Flow::ALL.len()],
    /// Counts the changes of limits.
    generation: AtomicU64,
    changed: Notify,
    waiting: AtomicU64,
    delayed: AtomicU64,
    delayed_nanos: AtomicU64,
}

/// The flows that a command belongs to, and the bytes of it that count.
fn flows(kind: OpKind, bytes: u64) -> ([Flow; 2], u64) {
    match kind {
        OpKind::Read => ([Flow::All, Flow::Read], bytes),
        OpKind::Write => ([Flow::All, Flow::Write], bytes),
        // Nothing is moved.
        OpKind::Trim => ([Flow::All, Flow::Write], 0),
    }
}

impl Throttle {
    /// Changes the limits, to those of a volume of that size. Whoever waits is held to the new ones
    /// at once; what was spent stays spent, see [`Rate::set`].
    pub(crate) fn set(&self, limits: &Limits, size_bytes: u64, now: Nanos) {
        for flow in Flow::ALL {
            let (iops, bytes) =
                (limits.iops_of(flow, size_bytes), *limits.bytes_per_second.of(flow));
            self.iops[flow as usize].set(iops, limits.burst, now);
            self.bytes[flow as usize].set(bytes, limits.burst, now);
        }
        self.is_limited.store(limits.limit_anything(), Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Whether anything is limited.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Relaxed)
    }

    /// Changes of limits so far.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns once there have been more changes than `seen`.
    pub(super) async fn changed(&self, seen: u64) {
        wait_for(&self.changed, || (self.generation() != seen).then_some(())).await;
    }

    fn rates(&self, flows: [Flow; 2], bytes: u64) -> impl Iterator<Item = (&Rate, u64)> {
        flows.into_iter().flat_map(move |flow| {
            [(&self.iops[flow as usize], 1), (&self.bytes[flow as usize], bytes)]
        })
    }

    /// Takes what a command needs if it may begin now.
    pub(super) fn try_take(&self, kind: OpKind, bytes: u64, now: Nanos) -> bool {
        let (flows, bytes) = flows(kind, bytes);
        let refused = self.rates(flows, bytes).position(|(rate, units)| !rate.try_take(units, now));
        let Some(taken) = refused else { return true };
        for (rate, units) in self.rates(flows, bytes).take(taken) {
            rate.give_back(units);
        }
        false
    }

    /// Takes what a command needs, and says when it may begin.
    pub(super) fn take(&self, kind: OpKind, bytes: u64, now: Nanos) -> Nanos {
        let (flows, bytes) = flows(kind, bytes);
        self.rates(flows, bytes).map(|(rate, units)| rate.take(units, now)).max().unwrap_or(now)
    }

    /// Gives back what a command has taken that does not begin.
    pub(super) fn give_back(&self, kind: OpKind, bytes: u64) {
        let (flows, bytes) = flows(kind, bytes);
        self.rates(flows, bytes).for_each(|(rate, units)| rate.give_back(units));
    }

    /// A command begins to wait.
    pub(super) fn begins_to_wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.delayed.fetch_add(1, Ordering::Relaxed);
    }

    /// One waits no longer.
    pub(super) fn has_waited(&self, time: Duration) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.delayed_nanos.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// What the limits have held up so far.
    pub(crate) fn delays(&self) -> Delays {
        Delays {
            waiting: self.waiting.load(Ordering::Relaxed),
            commands: self.delayed.load(Ordering::Relaxed),
            total: Duration::from_nanos(self.delayed_nanos.load(Ordering::Relaxed)),
        }
    }
}
