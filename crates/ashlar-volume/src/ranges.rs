//! Which blocks of a volume are being written: whole-block writes go side by side, and what reads before it
//! writes has its blocks alone.

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
    granted: bool,
    waker: Option<Waker>,
}

impl Claim {
    fn conflicts(&self, other: &Claim) -> bool {
        let overlap = self.blocks.start < other.blocks.end && other.blocks.start < self.blocks.end;
        overlap && (self.mode == Mode::Alone || other.mode == Mode::Alone)
    }
}

#[derive(Default)]
struct State {
    next: u64,
    /// In order of coming: a claim is granted once no earlier one conflicts, so that none starves.
    claims: VecDeque<Claim>,
    /// Claims of mode [`Mode::Alone`]. While there are none, nothing can conflict.
    alone: usize,
}

impl State {
    fn add(&mut self, blocks: Range<u64>, mode: Mode) -> (u64, bool) {
        let mut claim = Claim { id: self.next, blocks, mode, granted: false, waker: None };
        self.next += 1;
        self.alone += usize::from(mode == Mode::Alone);
        claim.granted = self.alone == 0 || !self.claims.iter().any(|earlier| earlier.conflicts(&claim));
        let added = (claim.id, claim.granted);
        self.claims.push_back(claim);
        added
    }

    fn at(&self, id: u64) -> usize {
        self.claims
            .binary_search_by_key(&id, |claim| claim.id)
            .expect("a claim is there until it is released")
    }

    fn remove(&mut self, id: u64) {
        let claim = self.claims.remove(self.at(id)).expect("just found");
        let had_alone = self.alone > 0;
        self.alone -= usize::from(claim.mode == Mode::Alone);
        if had_alone {
            self.grant();
        }
    }

    fn grant(&mut self) {
        let claims = self.claims.make_contiguous();
        for index in 0..claims.len() {
            let (earlier, rest) = claims.split_at_mut(index);
            let claim = &mut rest[0];
            if !claim.granted && !earlier.iter().any(|earlier| earlier.conflicts(claim)) {
                claim.granted = true;
                claim.waker.take().into_iter().for_each(Waker::wake);
            }
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
            if claim.granted {
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
