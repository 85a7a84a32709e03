//! How much the store of a pool may have at a time so that weights are kept.
//!
//! Turns are kept only as far as commands wait for them. A host has no more than so much
//! outstanding, and what ends comes in bursts: after one, the commands of the hosts that it went to
//! have yet to come. So of each volume that wants much, as much has to wait as its part of the
//! store is: else others take that part meanwhile, by the order of who comes.

use ashlar_block::Nanos;

/// Whoever has less outstanding wants no more than that.
const MUCH: u64 = 512 << 10;
/// And than this part of what the volume with the most has.
const MUCH_DIVISOR: u64 = 8;
/// What the store has at least, whatever waits: what it does in this time.
const KEPT_BUSY: Nanos = Nanos(1_000_000);

/// What a volume has outstanding, in the store or waiting, and its weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) weight: u16,
    pub(super) bytes: u64,
}

/// What the store may have at most, if it does `rate` bytes in a second. `None` where only one
/// volume wants much.
pub(super) fn depth_max(volumes: &[Wanted], rate: u64) -> Option<u64> {
    let most = volumes.iter().map(|it| it.bytes).max()?;
    let much = MUCH.max(most / MUCH_DIVISOR);
    let wanting = || volumes.iter().filter(|it| it.bytes >= much);
    if wanting().count() < 2 {
        return None;
    }
    let weights: u64 = wanting().map(|it| u64::from(it.weight)).sum();
    let all_but_waiting = |it: &Wanted| it.bytes / 2 * weights / u64::from(it.weight.max(1));
    let kept_busy = u128::from(rate) * u128::from(KEPT_BUSY.0) / 1_000_000_000;
    Some(wanting().map(all_but_waiting).min()?.max(kept_busy as u64))
}

#[cfg(test)]
mod tests;
