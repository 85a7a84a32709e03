//! Which segment collection takes: pure functions of what lives in it and of the space that it
//! would give back.

use ashlar_block::DriveId;
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::SegmentState;

use crate::space::segments::Segment;
use crate::writer::batch::{batch_rows_max, rows_of};

/// A segment that could be collected.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Candidate {
    pub id: SegmentId,
    /// Part of it that lives.
    pub live: f64,
    /// Unix seconds.
    pub sealed_at: u64,
    /// Chunks that come back where they are short: those on lost drives do not.
    pub chunks: f64,
    /// Chunks that what lives takes there.
    pub taken: f64,
}

/// How things stand for candidates.
pub(crate) struct PlacementView {
    /// Rows of a full segment.
    pub rows_max: u32,
    /// What is numbered from here on is not published everywhere.
    pub floor: Lsn,
    /// Of the drives where to segments may go, those that lack room for more of them.
    pub short: Vec<DriveId>,
    /// Chunks of a segment on those for each of its data columns, as it is placed now.
    pub chunks_per_column: f64,
    /// Columns that what lives of one may take. A segment that is wider than most fills many of
    /// those, and may have to wait until there are as many.
    pub columns_max: u64,
}

impl Candidate {
    /// The candidate that a segment is, if it can be collected: sealed, published, and not wholly
    /// alive.
    ///
    /// Headers and ends of rows are not garbage: copies need them as well. So what lives is
    /// compared by the rows that it takes when it is written anew.
    pub fn of(id: SegmentId, segment: &Segment, view: &PlacementView) -> Option<Self> {
        let ready = segment.state == SegmentState::Sealed
            && segment.last_lsn < view.floor
            && segment.live.slots > 0;
        let (data, rows_max) = (segment.geometry.data(), view.rows_max);
        let live =
            rows_of(segment.live, data, batch_rows_max(data, rows_max)) / f64::from(rows_max);
        let chunks = segment.columns_on(&view.short) as f64;
        let columns = live * data as f64;
        let taken = columns * view.chunks_per_column;
        let fits = columns <= view.columns_max as f64;
        let sealed_at = segment.sealed_at;
        (ready && fits && taken < LIVE_MAX * chunks).then_some(Candidate {
            id,
            live,
            sealed_at,
            chunks,
            taken,
        })
    }

    /// Whether collecting it is sure to gain more than it takes, so that the last segments may be
    /// taken for it.
    pub fn is_sparse(&self) -> bool {
        self.taken <= LAST_RESORT_LIVE_MAX * self.chunks
    }

    /// Chunks that there are more when it has been collected.
    pub fn gain(&self) -> f64 {
        self.chunks - self.taken
    }

    /// Benefit of collecting it over its cost: space gained times age, over reading it all and
    /// writing what lives (Rosenblum and Ousterhout, "The design and implementation of a
    /// log-structured file system", section 3.5). Both as parts of it: segments differ in width.
    fn worth(&self, now: u64) -> f64 {
        let age = now.saturating_sub(self.sealed_at) as f64 + 1.0;
        self.gain() / self.chunks * age / (1.0 + self.live)
    }
}

/// Part of a segment's chunks that what lives may take elsewhere: above it, collecting gains too
/// little for what it costs.
const LIVE_MAX: f64 = 0.95;

/// Likewise: above it, collecting may gain less than the checkpoint takes that frees the segment.
const LAST_RESORT_LIVE_MAX: f64 = 0.5;

/// The candidate that is most worth collecting.
pub(crate) fn choose_victim(
    candidates: impl Iterator<Item = Candidate>,
    now: u64,
) -> Option<SegmentId> {
    candidates.max_by(|a, b| a.worth(now).total_cmp(&b.worth(now))).map(|candidate| candidate.id)
}

/// Of [sparse](Candidate::is_sparse) candidates the one that gains most, however young it is.
pub(crate) fn choose_last_resort(sparse: impl Iterator<Item = Candidate>) -> Option<SegmentId> {
    sparse.max_by(|a, b| a.gain().total_cmp(&b.gain())).map(|candidate| candidate.id)
}

#[cfg(test)]
mod tests;
