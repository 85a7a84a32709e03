//! What hosts do, counted without a lock: by controller, and by the host's name.
//!
//! The sending side of a connection adds up what it answers at once, and adds that to counters that
//! the host's other connections share: a few atomic additions for each system call that sends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ashlar_block::latency::OpKind;
use ashlar_volume::HostNqn;

/// Hosts that are not connected any more and are remembered: those that have gone last. Whoever
/// connects under one name after the other makes us remember no more.
pub const GONE_HOSTS_MAX: usize = 64;

/// Commands of one kind that were answered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Answered {
    /// How many.
    pub commands: u64,
    /// Bytes that they were for.
    pub bytes: u64,
}

/// Commands that were answered, in the order of [`OpKind::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostCounts(pub [Answered; OpKind::ALL.len()]);

impl HostCounts {
    /// Those of a kind.
    pub fn of(&self, kind: OpKind) -> Answered {
        self.0[kind as usize]
    }

    /// One more was answered.
    pub(super) fn note(&mut self, kind: OpKind, bytes: u64) {
        let answered = &mut self.0[kind as usize];
        answered.commands += 1;
        answered.bytes += bytes;
    }
}

/// Counts for several connections, on whatever reactors they are.
#[derive(Default, Debug)]
pub(super) struct HostMeter([Shared; OpKind::ALL.len()]);

#[derive(Default, Debug)]
struct Shared {
    commands: AtomicU64,
    bytes: AtomicU64,
}

impl HostMeter {
    /// These were answered, too.
    pub(super) fn add(&self, more: &HostCounts) {
        for (sum, more) in self.0.iter().zip(more.0).filter(|(_, more)| more.commands > 0) {
            sum.commands.fetch_add(more.commands, Ordering::Relaxed);
            sum.bytes.fetch_add(more.bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn counts(&self) -> HostCounts {
        HostCounts(self.0.each_ref().map(|sum| Answered {
            commands: sum.commands.load(Ordering::Relaxed),
            bytes: sum.bytes.load(Ordering::Relaxed),
        }))
    }
}

/// The meters of hosts by name: of those that are connected, and of some that were.
#[derive(Default)]
pub(super) struct HostMeters {
    all: BTreeMap<HostNqn, Arc<HostMeter>>,
    /// Those that are not connected, who has gone first comes first.
    gone: VecDeque<HostNqn>,
}

impl HostMeters {
    /// A host has connected. It goes on where it was, if that is known.
    pub(super) fn connected(&mut self, nqn: &HostNqn) -> Arc<HostMeter> {
        self.gone.retain(|gone| gone != nqn);
        self.all.entry(nqn.clone()).or_default().clone()
    }

    /// A host has no controller any more.
    pub(super) fn gone(&mut self, nqn: &HostNqn) {
        self.gone.push_back(nqn.clone());
        if self.gone.len() > GONE_HOSTS_MAX
            && let Some(first) = self.gone.pop_front()
        {
            self.all.remove(&first);
        }
    }

    pub(super) fn counts(&self) -> Vec<(HostNqn, HostCounts)> {
        self.all.iter().map(|(nqn, meter)| (nqn.clone(), meter.counts())).collect()
    }
}

#[cfg(test)]
mod tests;
