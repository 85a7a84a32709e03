//! What stays to be seen to in a pool until a later proof finds it well. Pure.
//!
//! A pool tells of its last scrub and its last proof, and one that has just begun has found nothing
//! yet; and it counts what could not be read for as long as it is open. Who asks later has to hear
//! of what was found, and no longer of what is over.

use crate::types::{Pool, Scrub};

/// What was found in a pool.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Standing {
    /// Sectors that the last scrub could not repair.
    pub(crate) unrepaired: u64,
    /// Where the last proof has found the ledger to differ from what is there.
    pub(crate) differences: Vec<String>,
    /// Its rebuild has not gone on for so long that it was told.
    pub(crate) rebuild_stuck: bool,
    /// Blocks that could not be read right since the pool was opened.
    unrecovered: u64,
    /// Those of them after which a scrub has found all right.
    settled: u64,
    /// The scrub that was seen last: when it began, and how many blocks there had been by then.
    scrub: Option<(String, u64)>,
}

impl Standing {
    /// What is to be seen to once that is known of the pool.
    pub(crate) fn after(&self, pool: &Pool) -> Standing {
        let mut next = self.clone();
        next.rebuild_stuck &= pool.needs_rebuild();
        next.unrecovered = pool.counters.map_or(0, |counters| counters.blocks_unrecovered);
        if next.unrecovered < self.unrecovered {
            // It was opened anew, and counts anew.
            next.settled = 0;
            next.scrub = next.scrub.map(|(started_at, _)| (started_at, 0));
        }
        if let Some(scrub) = pool.scrub() {
            next.note_scrub(scrub, self.unrecovered);
        }
        if let Some(verify) = pool.verify().filter(|it| it.is("proven") || it.is("wrong")) {
            next.differences.clone_from(&verify.differences);
        }
        next
    }

    /// The same, with whether its rebuild has not gone on for so long that it was told.
    pub(crate) fn with_rebuild(mut self, is_stuck: bool) -> Standing {
        self.rebuild_stuck = is_stuck;
        self
    }

    /// Blocks that could not be read right, and after which no scrub has found all right.
    pub(crate) fn unreadable(&self) -> u64 {
        self.unrecovered - self.settled
    }

    /// `before`: the blocks that could not be read by the look before this one.
    fn note_scrub(&mut self, scrub: &Scrub, before: u64) {
        let is_known = |(started_at, _): &(String, u64)| *started_at == scrub.started_at;
        let (_, by_then) = self
            .scrub
            .take_if(|seen| is_known(seen))
            .unwrap_or_else(|| (scrub.started_at.clone(), before.min(self.unrecovered)));
        if !scrub.is("finished") {
            self.unrepaired = self.unrepaired.max(scrub.unrepaired);
        } else {
            self.unrepaired = scrub.unrepaired;
            if scrub.unrepaired == 0 {
                self.settled = self.settled.max(by_then);
            }
        }
        self.scrub = Some((scrub.started_at.clone(), by_then));
    }
}

#[cfg(test)]
mod tests;
