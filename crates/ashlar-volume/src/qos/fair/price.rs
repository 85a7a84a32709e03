//! What a byte costs a volume in turns.
//!
//! Where volumes want the same of the store, their bytes are worth the same: their commands take
//! about the same time, for they wait for each other. But where commands of one take far longer
//! than those of others, they wait for something else, such as a processor that compresses with
//! much effort. Did their bytes count the same, others would do no more in a second than the slow
//! one. So beyond a few times what the fastest take, bytes count by the time that they are in the
//! store.

use std::time::Duration;

/// A price, in hundredths of that of a usual byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Price(pub(super) u64);

impl Price {
    /// That of a usual byte.
    pub(super) const USUAL: Price = Price(100);
    const MOST: Price = Price(25_600);

    /// What so many usual bytes are at this price.
    pub(super) fn of(self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.0) / 100) as u64
    }
}

/// Commands may take so many times what the fastest do before they are slow: how long one takes
/// says little of what it takes from others, for those do not come at the same time.
const SAME_TIMES: f64 = 4.0;
/// What the last epoch says counts for this part.
const NEW_PART: f64 = 0.25;

/// What commands of a volume and a kind take.
#[derive(Clone, Copy, Default)]
pub(super) struct Took {
    /// Of this epoch: how many have ended, their cost, and the time that they were in the store.
    commands: u64,
    cost: u64,
    nanos: u64,
    usual: Option<Usual>,
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
        self.nanos += took.as_nanos() as u64;
    }

    /// An epoch has ended: what commands take of late. `None` if none has ended yet.
    pub(super) fn next_epoch(&mut self) -> Option<Usual> {
        let Took { commands, cost, nanos, usual } = std::mem::take(self);
        let mean = |sum: u64| sum as f64 / commands as f64;
        let newer = (commands > 0).then(|| Usual { cost: mean(cost), nanos: mean(nanos) });
        let mixed = |old: f64, new: f64| old + (new - old) * NEW_PART;
        self.usual = match (usual, newer) {
            (Some(old), Some(new)) => {
                Some(Usual { cost: mixed(old.cost, new.cost), nanos: mixed(old.nanos, new.nanos) })
            }
            (old, new) => new.or(old),
        };
        self.usual
    }
}

/// What the fastest commands take: the least that any takes, and that a byte of any does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fastest {
    nanos: f64,
    nanos_per_byte: f64,
}

impl Fastest {
    /// Of these. Nothing is slow beside none.
    pub(super) fn of(all: impl Iterator<Item = Usual>) -> Self {
        let none = Fastest { nanos: f64::INFINITY, nanos_per_byte: f64::INFINITY };
        all.fold(none, |least, it| Fastest {
            nanos: least.nanos.min(it.nanos),
            nanos_per_byte: least.nanos_per_byte.min(it.nanos / it.cost),
        })
    }

    /// The price of a byte of such commands. A large one may take as long as the fastest of many
    /// bytes would, for its size; and a small one as long as any, for it waits behind them.
    pub(super) fn price(self, of: Usual) -> Price {
        let same = SAME_TIMES * self.nanos.max(of.cost * self.nanos_per_byte);
        let hundredths = of.nanos / same * Price::USUAL.0 as f64;
        Price(hundredths as u64).clamp(Price::USUAL, Price::MOST)
    }
}

#[cfg(test)]
mod tests;
