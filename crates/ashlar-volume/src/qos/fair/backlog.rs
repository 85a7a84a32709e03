//! How much the store of a pool may have at a time so that weights are kept.
//!
//! Turns are kept only as far as commands wait for them. A host has no more than so much
//! outstanding, and what ends comes in bursts: after one, the commands of the hosts that it went to
//! have yet to come. So of each volume that wants much, as much has to wait as its part of the
//! store is: else others take that part meanwhile, by the order of who comes.

use std::time::Duration;

/// Whoever has less outstanding wants no more than that.
pub(super) const MUCH: u64 = 512 << 10;
/// And than this part of what the volume with the most has.
const MUCH_DIVISOR: u64 = 8;
/// What the store has at least, whatever waits: what it does in this time.
const KEPT_BUSY: Duration = Duration::from_millis(1);

/// What a volume has outstanding, in the store or waiting, and its weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) weight: u16,
    pub(super) bytes: u64,
}

/// What a volume has outstanding at least, if it wants much beside one that has so much.
pub(super) fn much_beside(most: u64) -> u64 {
    MUCH.max(most / MUCH_DIVISOR)
}

/// What the store may have at most, if it does `rate` bytes in a second, and these are the volumes
/// that want much. `None` where only one does.
pub(super) fn depth_max(wanting: &[Wanted], rate: u64) -> Option<u64> {
    if wanting.len() < 2 {
        return None;
    }
    let weights: u64 = wanting.iter().map(|it| u64::from(it.weight)).sum();
    let all_but_waiting = |it: &Wanted| it.bytes / 2 * weights / u64::from(it.weight.max(1));
    let kept_busy = u128::from(rate) * KEPT_BUSY.as_nanos() / 1_000_000_000;
    Some(wanting.iter().map(all_but_waiting).min()?.max(kept_busy as u64))
}

#[cfg(test)]
mod tests;
