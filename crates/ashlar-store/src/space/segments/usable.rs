//! The windows: segments that are reserved, so that a root names them before they are opened; who
//! may open how many of them; and what is given back.

use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_block::DriveId;
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::{SegmentKind, SegmentState};
use ashlar_raid::Geometry;

use super::{Segment, Segments};

/// A shape that segments are reserved in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shape {
    /// Full stripes.
    Striped,
    /// One data column and its copies.
    Journal,
}

/// Who asks for a segment: the last of the window are not for everybody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// New data of hosts: leaves a quarter of the window.
    Host,
    /// What is moved to make room, and the map's own upkeep: leaves what a checkpoint needs.
    Upkeep,
    /// Collection of a segment that gives back more than it takes, when there is nothing else left:
    /// leaves one for the checkpoint that frees it, and one for a start.
    LastResort,
    /// A checkpoint: without it there is no new window. Leaves one.
    Checkpoint,
    /// A start, which ends in a checkpoint: without it nothing of the pool can be had. And a
    /// checkpoint whose root gives one back.
    Last,
}

/// Segments of the window that only starts may take, and who gives one back.
const LAST_SEGMENTS: usize = 1;
/// Segments of the window that only checkpoints may take, and but for one of them collection as a
/// last resort.
const CHECKPOINT_SEGMENTS: usize = LAST_SEGMENTS + 3;

impl Segments {
    /// Makes reserved segments usable that recovery has found untouched.
    pub fn reuse_window(&mut self, id: SegmentId) {
        let shape = match self.entries[id].kind {
            SegmentKind::Journal => Shape::Journal,
            _ => Shape::Striped,
        };
        self.usable[shape as usize].push_back(id);
    }

    /// Takes a segment out of the window.
    pub fn open(
        &mut self,
        shape: Shape,
        kind: SegmentKind,
        claim: Claim,
    ) -> Option<(SegmentId, Rc<Geometry>)> {
        let usable = &mut self.usable[shape as usize];
        let kept = match (shape, claim) {
            (Shape::Journal, _) | (_, Claim::Last) => 0,
            (_, Claim::Checkpoint) => LAST_SEGMENTS,
            (_, Claim::LastResort) => LAST_SEGMENTS + 1,
            (_, Claim::Upkeep) => CHECKPOINT_SEGMENTS + self.window_of_table,
            (_, Claim::Host) => {
                let formed = self.window_when_formed[shape as usize].div_ceil(4);
                formed.max(CHECKPOINT_SEGMENTS + 1) + self.window_of_table
            }
        };
        if usable.len() <= kept {
            return None;
        }
        let id = usable.pop_front()?;
        self.change(id, |segment| {
            segment.state = SegmentState::Open;
            segment.kind = kind;
        });
        Some((id, self.entries[id].geometry.clone()))
    }

    /// What is left of the window is a checkpoint's.
    pub fn window_is_empty(&self) -> bool {
        self.usable[Shape::Striped as usize].len() <= CHECKPOINT_SEGMENTS + self.window_of_table
    }

    /// Columns for data of what is left of the window for moves.
    pub fn data_for_moves(&self) -> u64 {
        let kept = CHECKPOINT_SEGMENTS + self.window_of_table;
        let moves = self.usable[Shape::Striped as usize].iter().rev().skip(kept);
        moves.map(|id| self.entries[*id].geometry.data() as u64).sum()
    }

    /// There is nothing left to open, and no room on `drives` for another window: every checkpoint
    /// takes some of what it needs.
    pub fn is_cornered(&self, drives: &[DriveId]) -> bool {
        self.window_is_empty() && self.placeable(drives) == 0
    }

    /// Half of the window has been opened: a checkpoint should form a new one.
    pub fn window_low(&self) -> bool {
        let is_low = |shape: Shape| {
            let left = self.usable[shape as usize].len().saturating_sub(self.kept_for_table(shape));
            left * 2 < self.window_when_formed[shape as usize]
        };
        [Shape::Striped, Shape::Journal].into_iter().any(is_low)
    }

    fn kept_for_table(&self, shape: Shape) -> usize {
        match shape {
            Shape::Striped => self.window_of_table,
            Shape::Journal => 0,
        }
    }

    /// Reserves segments on `drives` until the window of `shape` has `wanted`, or there is no room.
    pub fn form_window(
        &mut self,
        shape: Shape,
        wanted: usize,
        drives: &[DriveId],
        first_lsn: Lsn,
    ) -> Vec<SegmentId> {
        let kind = match shape {
            Shape::Striped => SegmentKind::Data,
            Shape::Journal => SegmentKind::Journal,
        };
        let mut added = Vec::new();
        while self.usable[shape as usize].len() + added.len() < wanted {
            let Some(room) = self.room(shape, drives) else { break };
            let (entries, changes) = (&self.entries, &mut self.changes);
            let id = self.numbers.next(|id| entries.contains(id), |rested| changes.entry(rested));
            let Some(id) = id else { break };
            let geometry = self.place(room);
            self.insert(id, Segment::reserved(geometry, kind, first_lsn));
            added.push(id);
        }
        added
    }

    /// So many of the striped window are for pages of the table.
    pub fn keep_for_table(&mut self, segments: usize) {
        self.window_of_table = segments;
    }

    /// The root that names these is durable: they may be opened.
    pub fn window_durable(&mut self, shape: Shape, added: Vec<SegmentId>) {
        self.usable[shape as usize].extend(added);
        let usable = self.usable[shape as usize].len();
        self.window_when_formed[shape as usize] = usable.saturating_sub(self.kept_for_table(shape));
    }

    /// Gives back the reserved segments of the journal.
    pub fn drop_journal_window(&mut self) {
        let journal = std::mem::take(&mut self.usable[Shape::Journal as usize]);
        journal.into_iter().for_each(|id| drop(self.free(id)));
    }

    /// Gives back reserved segments that lie on a drive which is not in `drives`, or have fewer
    /// parity columns than they could.
    pub fn drop_window_off(&mut self, drives: &[DriveId]) {
        for shape in 0..2 {
            let parity = self.parity_on(drives.len());
            let on_drives = |id: &SegmentId| {
                let geometry = &self.entries[*id].geometry;
                geometry.lies_on(drives) && geometry.parity() >= parity
            };
            let (keep, give_back): (Vec<_>, Vec<_>) =
                self.usable[shape].iter().copied().partition(on_drives);
            self.usable[shape] = keep.into();
            give_back.into_iter().for_each(|id| drop(self.free(id)));
        }
    }

    /// Gives back reserved segments that could be wider, because there is a chunk beside them on a
    /// drive that has one more free. As many as a checkpoint needs stay, in case there are no
    /// numbers for others. Returns whether there were any.
    pub fn drop_narrow_window(&mut self, drives: &[DriveId]) -> bool {
        let full = self.stripe.columns(Shape::Striped).min(drives.len());
        let mut free: BTreeMap<DriveId, u32> = drives
            .iter()
            .filter_map(|drive| Some((*drive, self.free_chunks.get(drive)?.count())))
            .collect();
        let mut could_be_wider = |id: &SegmentId| {
            let geometry = &self.entries[*id].geometry;
            let lies_on =
                |drive: DriveId| geometry.columns.iter().any(|column| column.drive == drive);
            let beside = free.iter_mut().find(|(drive, free)| **free > 0 && !lies_on(**drive));
            beside.filter(|_| geometry.columns.len() < full).map(|(_, free)| *free -= 1).is_some()
        };
        let usable = &self.usable[Shape::Striped as usize];
        let narrow: Vec<SegmentId> =
            usable.iter().copied().filter(|id| could_be_wider(id)).collect();
        let dropped = narrow.len().min(usable.len().saturating_sub(CHECKPOINT_SEGMENTS + 1));
        self.usable[Shape::Striped as usize].retain(|id| !narrow[..dropped].contains(id));
        narrow[..dropped].iter().for_each(|id| drop(self.free(*id)));
        !narrow.is_empty()
    }

    /// Reserved striped segments that may be opened.
    pub fn usable_striped(&self) -> u64 {
        self.usable[Shape::Striped as usize].len() as u64
    }
}
