//! Commands of hosts, counted per reactor without sharing a cache line.

use std::sync::atomic::{AtomicU64, Ordering};

/// One reactor's counters. Written by that reactor, read by any.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Traffic {
    read_commands: AtomicU64,
    write_commands: AtomicU64,
    errors: AtomicU64,
}

/// The sum over reactors.
#[derive(Clone, Copy, Default)]
pub(super) struct TrafficTotals {
    pub(super) read_commands: u64,
    pub(super) write_commands: u64,
    pub(super) errors: u64,
}

/// Only the owner writes: no read-modify-write is needed.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

impl Traffic {
    pub(super) fn count_read(&self) {
        add(&self.read_commands, 1);
    }

    pub(super) fn count_write(&self) {
        add(&self.write_commands, 1);
    }

    pub(super) fn count_error(&self) {
        add(&self.errors, 1);
    }

    pub(super) fn add_to(&self, totals: &mut TrafficTotals) {
        totals.read_commands += self.read_commands.load(Ordering::Relaxed);
        totals.write_commands += self.write_commands.load(Ordering::Relaxed);
        totals.errors += self.errors.load(Ordering::Relaxed);
    }
}
