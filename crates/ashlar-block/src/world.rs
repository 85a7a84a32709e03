//! Time, chance and tasks: everything else that a store needs from outside.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::Device;

/// A point in monotonic time: nanoseconds since an arbitrary start of this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// How long after `earlier` this is; zero if it is not.
    pub const fn since(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Time. The only source of it for everything below the volumes.
pub trait Clock {
    /// Monotonic: never goes back, whatever happens to the wall clock, and goes on while the
    /// machine is suspended.
    fn now(&self) -> Nanos;
    /// Seconds since 1970, for people. Nothing may depend on its order.
    fn unix_seconds(&self) -> u64;
    /// Ends no sooner than `duration` from now.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static;
}

/// What `work` comes to. `None`: it has taken longer than `limit`, and is dropped.
pub async fn within<T>(
    clock: &impl Clock,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut work, mut timer) = (pin!(work), pin!(clock.sleep(limit)));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => timer.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// Chance. Cryptographic in the real world, seeded in a simulation.
pub trait Rng {
    /// 64 random bits.
    fn random_u64(&self) -> u64;

    /// Fills `bytes` at random.
    fn fill_random(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.random_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Tasks on the caller's own thread.
pub trait Spawn {
    /// Runs `task` to its end, interleaved with the caller. A panic in it ends the process, or all
    /// work of the pool: a store whose invariant failed must not go on.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);
    /// Lets other tasks run that are ready.
    fn yield_now(&self) -> impl Future<Output = ()> + 'static;
}

/// A world to live in: a reactor of the real one, or a simulation.
pub trait World: Clock + Rng + Spawn + Clone + 'static {
    /// The drives of this world.
    type Device: Device;
}

/// A small generator for choices that need to be spread, not secret (xorshift64*, Vigna 2016).
#[derive(Clone, Debug)]
pub struct XorShift(u64);

impl XorShift {
    /// The sequence of `seed`; every seed has one.
    pub const fn new(seed: u64) -> Self {
        XorShift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which is not zero.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }
}
