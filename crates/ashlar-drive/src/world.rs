//! The real world, for a store that lives in one.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ashlar_block::{Clock, Nanos, Rng, Spawn, World};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::drive::Drive;

/// This thread's reactor with real drives, real time and the operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct DriveWorld;

impl World for DriveWorld {
    type Device = Drive;
}

impl Clock for DriveWorld {
    fn now(&self) -> Nanos {
        ashlar_reactor::now()
    }

    fn unix_seconds(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        ashlar_reactor::sleep(duration)
    }
}

impl Rng for DriveWorld {
    fn random_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_random(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        let mut filled = 0;
        while filled < bytes.len() {
            match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => panic!("the operating system has no randomness to give: {errno}"),
            }
        }
    }
}

impl Spawn for DriveWorld {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        ashlar_reactor::spawn(task);
    }

    fn yield_now(&self) -> impl Future<Output = ()> + 'static {
        ashlar_reactor::yield_now()
    }
}

#[cfg(test)]
mod tests;
