//! What is rebuilt next: pure functions of what is damaged.

use ashlar_block::DriveId;
use ashlar_format::location::SegmentId;

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
    /// It was made with fewer parity columns than the level has, when fewer drives were left: what
    /// lives is to be written anew.
    pub is_thin: bool,
    /// Nothing of it lives, or everything has been copied: the next root frees it.
    pub is_empty: bool,
    /// It may be read and moved now.
    pub is_ready: bool,
}

impl Damaged {
    fn can_be_restored(&self) -> bool {
        self.is_ready && !self.is_empty
    }
}

/// The segments to restore, in order: those first that are nearest to being lost; among those the
/// one that has begun. There may be hundreds of thousands, and each is restored in steps: they are
/// looked for once for each loss, and again when all are done.
#[derive(Default)]
pub(crate) struct Queue {
    /// The drives that they lie on, and are not to.
    unreleased: Vec<DriveId>,
    /// The next one last.
    segments: Vec<SegmentId>,
}

impl Queue {
    /// The segment to restore next. `damage`: what a segment lacks now; `search`: all that lack
    /// something.
    pub fn next<S: Iterator<Item = Damaged>>(
        &mut self,
        unreleased: &[DriveId],
        begun: Option<SegmentId>,
        damage: impl Fn(SegmentId) -> Option<Damaged>,
        search: impl FnOnce() -> S,
    ) -> Option<Damaged> {
        if self.unreleased != unreleased {
            self.unreleased = unreleased.to_vec();
            self.segments.clear();
        }
        while let Some(id) = self.segments.last() {
            if let Some(next) = damage(*id).filter(Damaged::can_be_restored) {
                return Some(next);
            }
            self.segments.pop();
        }
        let mut found: Vec<Damaged> = search().filter(Damaged::can_be_restored).collect();
        found.sort_unstable_by_key(|segment| (segment.spare, begun != Some(segment.id), segment.id));
        self.segments = found.iter().rev().map(|segment| segment.id).collect();
        found.first().copied()
    }
}

#[cfg(test)]
mod tests;
