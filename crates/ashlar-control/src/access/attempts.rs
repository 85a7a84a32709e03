//! How often somebody may fail to say who they are.
//!
//! Random secrets cannot be guessed; the bound keeps those who try from filling the log and the
//! processor.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    /// Whether whoever asks from there may try now.
    pub fn may_try(&self, from: IpAddr, now: Instant) -> bool {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |it: &&Failures| now.saturating_duration_since(it.since) < INTERVAL;
        failures.get(&from).filter(is_recent).is_none_or(|it| it.count < FAILURES_MAX)
    }

    /// It has failed.
    pub fn has_failed(&self, from: IpAddr, now: Instant) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= ADDRESSES_MAX && !failures.contains_key(&from) {
            failures.retain(|_, it| now.saturating_duration_since(it.since) < INTERVAL);
        }
        // Of more than can be known at a time each may try.
        if failures.len() >= ADDRESSES_MAX && !failures.contains_key(&from) {
            return;
        }
        let of_address = failures.entry(from).or_insert(Failures { since: now, count: 0 });
        if now.saturating_duration_since(of_address.since) >= INTERVAL {
            *of_address = Failures { since: now, count: 0 };
        }
        of_address.count += 1;
    }
}

#[cfg(test)]
mod tests;
