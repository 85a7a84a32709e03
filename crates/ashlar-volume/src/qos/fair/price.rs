//! What a byte costs a volume in turns.
//!
//! Where volumes want the same of the store, their bytes are worth the same: their commands take
//! about the same time, for they wait for each other. But where commands of one take far longer
//! than those of others, they wait for something else, such as a processor that compresses with
//! much effort. Did their bytes count the same, others would do no more in a second than the slow
//! one. So volumes are sorted into groups that take about the same time, and bytes of a slower
//! group count by the time that they are in the store.

use std::time::Duration;

use ashlar_block::Nanos;

/// A price, in hundredths of that of a usual byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Price(pub(super) u64);

impl Price {
    /// That of a usual byte.
    pub(super) const USUAL: Price = Price(100);
    const MOST: Price = Price(25_600);

    fn of_times(times: f64) -> Self {
        Price((times * 100.0) as u64).clamp(Self::USUAL, Self::MOST)
    }

    /// What so many usual bytes are at this price.
    pub(super) fn of(self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.0) / 100) as u64
    }
}

/// Commands may take so many times what the next faster ones do and be of the same group: how long
/// one takes says little of what it takes from others, for those do not come at the same time.
const GAP_TIMES: f64 = 4.0;
/// What the last epoch says counts for this part.
const NEW_PART: f64 = 0.25;
/// What took longer has hung. It counts as this.
const TOOK_MAX: Duration = Duration::from_secs(1);
/// What commands have taken is of no account if none has ended for so long.
const OLD: Duration = Duration::from_secs(5);

/// What commands of a volume and a kind take.
#[derive(Clone, Copy, Default)]
pub(super) struct Took {
    /// Of this epoch: how many have ended, their cost, and the time that they were in the store.
    commands: u64,
    cost: u64,
    nanos: u64,
    usual: Option<Usual>,
    usual_at: Nanos,
}

/// What a command of a volume and a kind costs and takes, on an average of late.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Usual {
    pub(super) cost: f64,
    pub(super) nanos: f64,
}

impl Took {
    /// A command has ended after so long in the store.
    pub(super) fn ended(&mut self, cost: u64, took: Duration) {
        self.commands += 1;
        self.cost += cost;
        self.nanos += took.min(TOOK_MAX).as_nanos() as u64;
    }

    /// An epoch has ended: what commands take of late. `None` if none has ended of late.
    pub(super) fn next_epoch(&mut self, now: Nanos) -> Option<Usual> {
        let Took { commands, cost, nanos, usual, usual_at } = std::mem::take(self);
        let old = usual.filter(|_| now.since(usual_at) < OLD);
        let mean = |sum: u64| sum as f64 / commands as f64;
        let newer = (commands > 0).then(|| Usual { cost: mean(cost), nanos: mean(nanos) });
        let mixed = |old: f64, new: f64| old + (new - old) * NEW_PART;
        self.usual_at = if commands > 0 { now } else { usual_at };
        self.usual = match (old, newer) {
            (Some(old), Some(new)) => {
                Some(Usual { cost: mixed(old.cost, new.cost), nanos: mixed(old.nanos, new.nanos) })
            }
            (old, new) => new.or(old),
        };
        self.usual
    }
}

/// The prices of bytes of such commands, in their order.
pub(super) fn prices(all: &[Usual]) -> Vec<Price> {
    let least = |of: fn(&Usual) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let nanos_min = least(|it| it.nanos).max(1.0);
    let nanos_per_byte_min = least(|it| it.nanos / it.cost);
    // A large one may take as long as the fastest of many bytes would, for its size; and a small
    // one as long as any, for it waits behind them.
    let times = |it: &Usual| it.nanos / nanos_min.max(it.cost * nanos_per_byte_min);
    let mut sorted: Vec<(usize, f64)> = all.iter().map(times).enumerate().collect();
    sorted.sort_unstable_by(|one, other| one.1.total_cmp(&other.1));
    let mut prices = vec![Price::USUAL; all.len()];
    let (mut before, mut price) = (f64::INFINITY, Price::USUAL);
    for (index, times) in sorted {
        if times > before * GAP_TIMES {
            price = Price::of_times(times / GAP_TIMES);
        }
        prices[index] = price;
        before = times;
    }
    prices
}

#[cfg(test)]
mod tests;
