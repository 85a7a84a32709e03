//! What is rebuilt next: pure functions of what is damaged.

use crate::format::location::SegmentId;

/// What is to be done about drives that are lost or leaving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RebuildTask {
    /// Restore the segment's lost columns on other drives.
    Move(SegmentId),
    /// No drive beside the segment's own has room: move what lives of it into narrower stripes.
    Collect(SegmentId),
    /// Nothing is left to be restored, but the root does not know it yet.
    Settle,
}

/// A segment that lacks redundancy, or has columns on drives that are leaving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Damaged {
    pub id: SegmentId,
    /// Columns that may still be lost.
    pub spare: usize,
    /// Columns that are to be elsewhere.
    pub columns: usize,
    /// It was made with fewer parity columns than the level has, when fewer drives were left: what lives is to be written anew.
    pub is_thin: bool,
    /// Nothing of it lives, or everything has been copied: the next root frees it.
    pub is_empty: bool,
    /// It may be read and moved now.
    pub is_ready: bool,
}

/// The segment to restore next: the one that is nearest to being lost; among those the one that has begun.
pub(crate) fn most_endangered(
    damaged: impl Iterator<Item = Damaged>,
    begun: Option<SegmentId>,
) -> Option<Damaged> {
    let ready = damaged.filter(|segment| segment.is_ready && !segment.is_empty);
    ready.min_by_key(|segment| (segment.spare, begun != Some(segment.id), segment.id))
}

#[cfg(test)]
mod tests;
