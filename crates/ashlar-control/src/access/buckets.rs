//! How often those of one address may do what costs them nothing and the daemon something.
//!
//! Each address has a bucket, which is filled again by and by. A bucket is the time at which it is
//! full: one that is full takes no room.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::network_of;

/// Addresses that have one of their own at a time. All others share one.
const ADDRESSES_MAX: usize = 4096;
const OTHERS: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// The buckets of all addresses.
pub(crate) struct Buckets {
    /// In a full one.
    burst: u32,
    /// After so long there is one more.
    interval: Duration,
    full_at: Mutex<BTreeMap<IpAddr, Instant>>,
}

impl Buckets {
    pub const fn new(burst: u32, interval: Duration) -> Self {
        Buckets { burst, interval, full_at: Mutex::new(BTreeMap::new()) }
    }

    /// Takes one from the bucket of that address, if there is one.
    pub fn take(&self, from: IpAddr, now: Instant) -> bool {
        self.look(from, now, true)
    }

    /// Whether there is one.
    pub fn has_some(&self, from: IpAddr, now: Instant) -> bool {
        self.look(from, now, false)
    }

    fn look(&self, from: IpAddr, now: Instant, takes: bool) -> bool {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let mut address = network_of(from);
        if full_at.len() >= ADDRESSES_MAX && !full_at.contains_key(&address) {
            full_at.retain(|_, full_at| *full_at > now);
            if full_at.len() >= ADDRESSES_MAX {
                address = OTHERS;
            }
        }
        let full = full_at.get(&address).map_or(now, |full| (*full).max(now)) + self.interval;
        let has_some = full - now <= self.interval * self.burst;
        if takes && has_some {
            full_at.insert(address, full);
        }
        has_some
    }
}

#[cfg(test)]
mod tests;
