//! What is rebuilt next: pure functions of what is damaged.

use ashlar_block::DriveId;
use ashlar_format::location::SegmentId;

use crate::space::capacity::COLLECTION_SEGMENTS;
use crate::space::room::Room;

/// What is to be done about drives that are lost or leaving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RebuildTask {
    /// Begin to restore the segment's lost columns on other drives.
    Move(SegmentId),
    /// No drive beside the segment's own has room: move what lives of it into narrower stripes.
    Collect(SegmentId),
    /// Go on looking for segments to restore.
    Search,
    /// Nothing is left to be restored, or much has been, but the root does not know it yet.
    Settle,
}

impl RebuildTask {
    fn takes_room(self) -> bool {
        matches!(self, RebuildTask::Move(_) | RebuildTask::Collect(_))
    }
}

/// What a rebuild needs, and what it may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RebuildNeed {
    pub task: Option<RebuildTask>,
    /// More lives than may without the drives that are lost. Overwrites may go on all the same.
    pub is_overfull: bool,
    /// No segment could have the chunks that are free, but columns can.
    pub only_columns_fit: bool,
}

impl RebuildNeed {
    /// What is to be restored with this room. `collects`: there is something to collect.
    ///
    /// It takes room: not the last that there is, but what no segment could have, for drives that
    /// have been added to a full pool may be all that has any; and what collection would need, if
    /// there is nothing to collect. Where more lives than may, checkpoints and collection need all
    /// that is kept: until hosts give something back nothing else makes room.
    pub fn with(&self, room: &Room, collects: bool) -> Option<RebuildTask> {
        let for_collection = if collects || self.is_overfull { 0 } else { COLLECTION_SEGMENTS };
        let kept = room.marks.reserve - for_collection;
        let has_room = room.free_segments > kept || self.only_columns_fit;
        self.task.filter(|task| has_room || !task.takes_room())
    }
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

/// A part of all segments, of which those are left that lack something.
pub(crate) struct Part {
    pub damaged: Vec<Damaged>,
    /// Where the next part begins. `None`: that was the last one.
    pub next: Option<SegmentId>,
}

/// What is to be restored next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Segment(Damaged),
    /// There are more segments to look at.
    Searching,
    /// All have been looked at, and none can be restored now.
    Nothing,
}

/// The segments to restore, in order: those first that are nearest to being lost. There may be
/// hundreds of thousands, and each is restored in steps: they are looked for once for each loss,
/// and again when all are done; a part of all segments at a time.
#[derive(Default)]
pub(crate) struct Queue {
    /// The drives that they lie on, and are not to.
    unreleased: Vec<DriveId>,
    /// The next one last.
    segments: Vec<SegmentId>,
    search: Search,
}

/// A look at all segments.
#[derive(Default)]
struct Search {
    /// Where it goes on, if it has begun.
    next: Option<SegmentId>,
    /// What can be restored: columns that may still be lost, and the segment.
    found: Vec<(usize, SegmentId)>,
    /// Something lacks redundancy and cannot be restored yet.
    found_unready: bool,
    /// A root frees something that lies on drives that are lost or leaving.
    found_empty: bool,
}

impl Queue {
    /// The segment to restore next. `damage`: what a segment lacks now, if it could be restored;
    /// `search`: the part of all segments that begins there; `could_be_restored`: of what that has
    /// found.
    pub fn next(
        &mut self,
        unreleased: &[DriveId],
        damage: impl Fn(SegmentId) -> Option<Damaged>,
        search: impl FnOnce(SegmentId) -> Part,
    ) -> Next {
        if self.unreleased != unreleased {
            *self = Queue { unreleased: unreleased.to_vec(), ..Queue::default() };
        }
        if self.search.next.is_none() {
            if let Some(next) = self.next_found(&damage) {
                return Next::Segment(next);
            }
            self.search = Search { next: Some(SegmentId(0)), ..Search::default() };
        }
        self.search_on(&damage, search);
        if self.search.next.is_some() {
            return Next::Searching;
        }
        let mut found = std::mem::take(&mut self.search.found);
        found.sort_unstable_by(|one, other| other.cmp(one));
        self.segments = found.into_iter().map(|(_, id)| id).collect();
        self.next_found(&damage).map_or(Next::Nothing, Next::Segment)
    }

    /// Of what the last search has found, the first that can still be restored.
    fn next_found(&mut self, damage: impl Fn(SegmentId) -> Option<Damaged>) -> Option<Damaged> {
        while let Some(id) = self.segments.last() {
            if let Some(next) = damage(*id).filter(Damaged::can_be_restored) {
                return Some(next);
            }
            self.segments.pop();
        }
        None
    }

    fn search_on(
        &mut self,
        damage: impl Fn(SegmentId) -> Option<Damaged>,
        search: impl FnOnce(SegmentId) -> Part,
    ) {
        let Part { damaged, next } = search(self.search.next.unwrap_or(SegmentId(0)));
        for segment in damaged {
            self.search.found_unready |= !segment.is_ready;
            self.search.found_empty |= segment.is_empty;
            if segment.can_be_restored() && damage(segment.id).is_some() {
                self.search.found.push((segment.spare, segment.id));
            }
        }
        self.search.next = next;
    }

    /// Whether the last search has found something that cannot be restored yet.
    pub fn found_unready(&self) -> bool {
        self.search.found_unready
    }

    /// Whether it has found something that a root frees.
    pub fn found_empty(&self) -> bool {
        self.search.found_empty
    }
}

#[cfg(test)]
mod tests;
