//! The walk of a rebalance over all segments, some in a turn.
//!
//! A rebalance looks for its next step among some segments, and goes on to the next ones once there
//! is nothing to be done among these. It is at its end when a whole round has found nothing. So a
//! turn looks at no more of a million segments than of a thousand.

use std::cell::Cell;

use ashlar_block::DriveId;
use ashlar_format::location::SegmentId;

use crate::space::segments::{Segment, Segments};

/// Segments that one turn looks at.
const LOOKED_AT_IN_A_TURN: usize = 1024;

/// What a round has found so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Round {
    /// Something was done: what was looked at before it may have to be looked at again.
    pub has_worked: bool,
    /// A segment could be wider, but there is no room to write it anew.
    pub widening_lacks_room: bool,
    /// Something is to be done that cannot be done yet.
    pub waits: bool,
}

/// Where the walk is.
#[derive(Default)]
pub(super) struct Survey {
    from: Cell<u32>,
    round: Cell<Round>,
    /// How many drives segments could go to, and how wide they could be, when it was looked last.
    possible: Cell<(usize, usize)>,
}

/// The segments that a turn looks at.
pub(super) struct Slice<'a> {
    pub segments: Vec<(SegmentId, &'a Segment)>,
    /// Columns that segments have that are written now.
    pub width: usize,
    /// Where the rest begins, if there is one.
    next: Option<SegmentId>,
    is_whole: bool,
}

impl Survey {
    /// Begins a round: what was looked at may have something to be done by now.
    pub fn begin_anew(&self) {
        self.from.set(0);
        self.round.set(Round::default());
    }

    /// The segments to be looked at now, if they may go to `drives`. A round in which that has
    /// changed begins anew.
    pub fn slice<'a>(&self, segments: &'a Segments, drives: &[DriveId]) -> Slice<'a> {
        let width = segments.width_now(drives);
        let possible = (drives.len(), width);
        if self.possible.replace(possible) != possible {
            self.begin_anew();
        }
        let from = SegmentId(self.from.get());
        let mut rest = segments.iter_from(from);
        let segments: Vec<_> = rest.by_ref().take(LOOKED_AT_IN_A_TURN).collect();
        let next = rest.next().map(|(id, _)| id);
        Slice { segments, width, next, is_whole: from == SegmentId(0) && next.is_none() }
    }

    /// Something is done among the segments of the slice: they are looked at again.
    pub fn works(&self) {
        self.round.set(Round { has_worked: true, ..self.round.get() });
    }

    /// Nothing can be done among the segments of the slice. Returns what the round has found, if
    /// that was the last slice of one in which nothing was done.
    pub fn finds_nothing(&self, slice: &Slice<'_>, found: Round) -> Option<Round> {
        let before = self.round.get();
        let round = Round {
            has_worked: before.has_worked && !slice.is_whole,
            widening_lacks_room: before.widening_lacks_room || found.widening_lacks_room,
            waits: before.waits || found.waits,
        };
        let (from, round_from_now) = match slice.next {
            Some(next) => (next.0, round),
            None => (0, Round::default()),
        };
        self.from.set(from);
        self.round.set(round_from_now);
        (slice.next.is_none() && !round.has_worked).then_some(round)
    }
}

#[cfg(test)]
mod tests;
