//! Which blocks of a volume are being written: whole-block writes go side by side, and what reads
//! before it writes has its blocks alone.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::task::{Poll, Waker};

/// How blocks are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Beside others of this mode: a write of whole blocks.
    Shared,
    /// Alone: a read-modify-write, a compare-and-write.
    Alone,
}

struct Claim {
    id: u64,
    blocks: Range<u64>,
    mode: Mode,
    /// Earlier claims that stand against it: it is granted once there is none.
    blockers: usize,
    waker: Option<Waker>,
}

impl Claim {
    fn conflicts(&self, other: &Claim) -> bool {
        let overlap = self.blocks.start < other.blocks.end && other.blocks.start < self.blocks.end;
        overlap && (self.mode == Mode::Alone || other.mode == Mode::Alone)
    }

    /// An earlier claim is gone.
    fn unblock(&mut self, earlier: &Claim) {
        if self.conflicts(earlier) {
            self.blockers -= 1;
            if self.blockers == 0 {
                self.waker.take().into_iter().for_each(Waker::wake);
            }
        }
    }
}

#[derive(Default)]
struct State {
    next: u64,
    /// In order of coming: none is overtaken, so that none starves.
    claims: VecDeque<Claim>,
    /// Those of mode [`Mode::Alone`], in the same order: all that a claim of the other mode can
    /// conflict with. A host may have thousands of the others outstanding.
    alone: VecDeque<u64>,
}

impl State {
    fn add(&mut self, blocks: Range<u64>, mode: Mode) -> (u64, bool) {
        let mut claim = Claim { id: self.next, blocks, mode, blockers: 0, waker: None };
        self.next += 1;
        claim.blockers = match mode {
            Mode::Alone => self.claims.iter().filter(|earlier| earlier.conflicts(&claim)).count(),
            Mode::Shared => {
                self.alone.iter().filter(|id| self.claims[self.at(**id)].conflicts(&claim)).count()
            }
        };
        if mode == Mode::Alone {
            self.alone.push_back(claim.id);
        }
        let added = (claim.id, claim.blockers == 0);
        self.claims.push_back(claim);
        added
    }

    fn at(&self, id: u64) -> usize {
        self.claims
            .binary_search_by_key(&id, |claim| claim.id)
            .expect("a claim is there until it is released")
    }

    /// One pass over those behind it, however many wait: a host may let thousands wait for one
    /// block.
    fn remove(&mut self, id: u64) {
        let at = self.at(id);
        let claim = self.claims.remove(at).expect("just found");
        if claim.mode == Mode::Alone {
            self.alone.retain(|alone| *alone != id);
            self.claims.range_mut(at..).for_each(|later| later.unblock(&claim));
            return;
        }
        for later in self.alone.partition_point(|alone| *alone < id)..self.alone.len() {
            let at = self.at(self.alone[later]);
            self.claims[at].unblock(&claim);
        }
    }
}

/// The blocks of one volume that are being written. One thread's.
#[derive(Default)]
pub(crate) struct Ranges {
    state: RefCell<State>,
}

/// Blocks that are taken, until dropped.
pub(crate) struct Taken<'a> {
    ranges: &'a Ranges,
    id: u64,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.ranges.state.borrow_mut().remove(self.id);
    }
}

impl Ranges {
    /// Takes `blocks` once no earlier claim stands against it.
    pub async fn take(&self, blocks: Range<u64>, mode: Mode) -> Taken<'_> {
        let (id, granted) = self.state.borrow_mut().add(blocks, mode);
        // From here on dropping the future gives the claim up.
        let taken = Taken { ranges: self, id };
        if !granted {
            self.granted(id).await;
        }
        taken
    }

    async fn granted(&self, id: u64) {
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            let at = state.at(id);
            let claim = &mut state.claims[at];
            if claim.blockers == 0 {
                return Poll::Ready(());
            }
            claim.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests;
