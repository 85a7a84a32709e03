//! What may live where drives are gone and more lives than the others may hold.
//!
//! Hosts that overwrite add nothing in the end: they go on, as long as garbage can be reclaimed.
//! They need a little room for it, because what they overwrite counts as living until the maps are
//! merged. So a *ceiling* above what lives takes the limit's place. It falls with what lives, never
//! rises, and goes once it is no higher than the limit. That the lost drive is forgotten, or a
//! smaller one made it good, changes nothing.
//!
//! Price: hosts that write new data instead use this room up, and then overwrites are refused, too.
//! A ceiling is not durable: a start in a pool that lacks drives begins another one.

use std::cell::Cell;

/// What may live beyond what does is one of so many parts of the limit.
const HEADROOM_PART: u64 = 32;

/// How a pool's room is, by the drives that there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Bytes that live, or are on their way.
    pub live: u64,
    /// That may.
    pub limit: u64,
    /// That could, however hard collection works.
    pub most: u64,
    /// A member is gone, or is leaving.
    pub lacks_drives: bool,
}

/// What may live instead of the limit.
#[derive(Default)]
pub(crate) struct OverLimit {
    /// The limit as it was when this was looked at last. None: since the start it was not.
    before: Cell<Option<u64>>,
    ceiling: Cell<Option<u64>>,
}

impl OverLimit {
    /// Looks at what lives, and at drives that may have changed.
    pub fn refresh(&self, held: Held) {
        let has_fallen =
            self.before.replace(Some(held.limit)).is_none_or(|before| held.limit < before);
        let begins = has_fallen && held.lacks_drives && held.live > held.limit;
        let known = self.ceiling.get().or(begins.then_some(u64::MAX));
        let headroom = held.limit / HEADROOM_PART;
        let ceiling = known.map(|known| known.min(held.live + headroom).min(held.most));
        self.ceiling.set(ceiling.filter(|ceiling| *ceiling > held.limit));
    }

    /// Whether there is a ceiling.
    pub fn is_over(&self) -> bool {
        self.ceiling.get().is_some()
    }

    /// Bytes that may live, where `limit` may otherwise.
    pub fn allowed(&self, limit: u64) -> u64 {
        self.ceiling.get().map_or(limit, |ceiling| ceiling.max(limit))
    }
}

#[cfg(test)]
mod tests;
