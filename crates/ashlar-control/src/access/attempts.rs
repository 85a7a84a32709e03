//! How often somebody may fail to say who they are.
//!
//! Random secrets cannot be guessed; the bound keeps those who try from filling the log and the
//! processor.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::network_of;

/// Failures of one address within [`INTERVAL`].
const FAILURES_MAX: u32 = 10;
const INTERVAL: Duration = Duration::from_secs(60);
/// Addresses that are known at a time.
const ADDRESSES_MAX: usize = 4096;

/// Failures of late, by address.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<BTreeMap<IpAddr, Failures>>);

struct Failures {
    since: Instant,
    count: u32,
}

impl Attempts {
    /// Whether whoever asks from there may try now. While so many addresses fail that no more can
    /// be known, those that are not known may not: they may be others of whoever fails.
    pub fn may_try(&self, from: IpAddr, now: Instant) -> bool {
        let from = network_of(from);
        let failures = self.with_room_for(from, now);
        let has_room = failures.len() < ADDRESSES_MAX;
        let is_recent = |it: &&Failures| now.saturating_duration_since(it.since) < INTERVAL;
        match failures.get(&from) {
            Some(known) => Some(known).filter(is_recent).is_none_or(|it| it.count < FAILURES_MAX),
            None => has_room,
        }
    }

    /// The failures, without those that are over if there is no room for that address.
    fn with_room_for(
        &self,
        from: IpAddr,
        now: Instant,
    ) -> MutexGuard<'_, BTreeMap<IpAddr, Failures>> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= ADDRESSES_MAX && !failures.contains_key(&from) {
            failures.retain(|_, it| now.saturating_duration_since(it.since) < INTERVAL);
        }
        failures
    }

    /// It has failed. Returns whether that was the last time that it may for now.
    pub fn has_failed(&self, from: IpAddr, now: Instant) -> bool {
        let from = network_of(from);
        let mut failures = self.with_room_for(from, now);
        if failures.len() >= ADDRESSES_MAX && !failures.contains_key(&from) {
            return false;
        }
        let of_address = failures.entry(from).or_insert(Failures { since: now, count: 0 });
        if now.saturating_duration_since(of_address.since) >= INTERVAL {
            *of_address = Failures { since: now, count: 0 };
        }
        of_address.count = of_address.count.saturating_add(1);
        of_address.count == FAILURES_MAX
    }
}

#[cfg(test)]
mod tests;
