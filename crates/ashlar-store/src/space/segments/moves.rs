//! Columns on their way to other drives while their segment stays.
//!
//! 1. A chunk that a column is to have is taken when the move begins, and nobody else's until the
//!    move ends or is given up.
//! 2. A segment has one move at a time.
//! 3. The chunk that a column has left is free once a root says where the column is now, and once
//!    nobody has any earlier geometry of the segment in hand: a read may take longer than a
//!    checkpoint, and must not find what another segment has written there.
//! 4. A drive that columns are on their way to stays a member: see
//!    [`Redundancy::uses`](super::Redundancy::uses).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

use ashlar_block::DriveId;
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_raid::{ChunkAddr, Geometry};

use super::{FreeChunks, Segments};

/// A chunk that a column has left.
#[derive(Debug)]
pub struct Retired {
    /// Nobody's, once a root says so and nobody reads it any more.
    pub chunk: ChunkAddr,
    /// Where its segment lay until then: whoever has begun to read it has one of these still.
    was: Vec<Weak<Geometry>>,
}

impl Retired {
    fn is_read(&self) -> bool {
        self.was.iter().any(|geometry| geometry.strong_count() > 0)
    }
}

/// Where a column goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewPlace {
    /// Which column.
    pub column: usize,
    /// Its chunk.
    pub chunk: ChunkAddr,
}

impl Segments {
    /// Of `drives`, those that the segment does not lie on and that have a free chunk, the roomiest
    /// first.
    fn drives_beside(&self, id: SegmentId, drives: &[DriveId]) -> Vec<DriveId> {
        let geometry = &self.entries[id].geometry;
        let own: BTreeSet<DriveId> = geometry.columns.iter().map(|column| column.drive).collect();
        let free = |drive: &DriveId| self.free_chunks.get(drive).map_or(0, FreeChunks::count);
        let mut beside: Vec<DriveId> = drives
            .iter()
            .copied()
            .filter(|drive| !own.contains(drive) && free(drive) > 0)
            .collect();
        beside.sort_by_key(|drive| (Reverse(free(drive)), *drive));
        beside
    }

    /// Whether that many columns of the segment could lie on other drives than it does.
    pub fn could_move(&self, id: SegmentId, columns: usize, drives: &[DriveId]) -> bool {
        self.drives_beside(id, drives).len() >= columns
    }

    /// Whether columns of the segment are on their way.
    pub fn is_moving(&self, id: SegmentId) -> bool {
        self.moving.contains_key(&id)
    }

    /// Whether columns are on their way to the drive.
    pub fn is_target(&self, drive: DriveId) -> bool {
        self.moving.values().flatten().any(|place| place.chunk.drive == drive)
    }

    /// Takes a chunk for each of the columns, on drives that the segment does not lie on: they are
    /// on their way until [`Self::end_move`] or [`Self::give_up_move`]. `None` if there is not room
    /// for all, or the segment has a move already.
    pub fn begin_move(
        &mut self,
        id: SegmentId,
        columns: &[usize],
        drives: &[DriveId],
    ) -> Option<Vec<NewPlace>> {
        let beside = self.drives_beside(id, drives);
        if self.is_moving(id) || beside.len() < columns.len() {
            return None;
        }
        let place = |(column, drive): (&usize, DriveId)| {
            let chunk = self
                .free_chunks
                .get_mut(&drive)
                .and_then(FreeChunks::take_lowest)
                .expect("seen to be free");
            NewPlace { column: *column, chunk: ChunkAddr { drive, chunk } }
        };
        let places: Vec<NewPlace> = columns.iter().zip(beside).map(place).collect();
        self.moving.insert(id, places.clone());
        Some(places)
    }

    /// The columns of this segment's move lie where they went from now on, where all their rows
    /// have been written; `next_lsn` is that of the next batch. A checkpoint must not be on its
    /// way: its root would say one thing of the segment and another of its drives.
    pub fn end_move(&mut self, id: SegmentId, next_lsn: Lsn) {
        assert!(!self.is_noted(), "a column of {id} has moved while a checkpoint is on its way");
        let places = self.moving.remove(&id).expect("a move that has begun");
        let geometry = self.entries[id].geometry.clone();
        let (mut columns, parity) = (geometry.columns.clone(), geometry.parity());
        let was = self.geometries_in_hand(id, &geometry);
        for place in places {
            let chunk = std::mem::replace(&mut columns[place.column], place.chunk);
            self.retired.push(Retired { chunk, was: was.clone() });
        }
        let drives: BTreeSet<DriveId> = columns.iter().map(|column| column.drive).collect();
        assert_eq!(drives.len(), columns.len(), "{id} has two columns on one drive: {columns:?}");
        self.change(id, |segment| {
            segment.geometry = Rc::new(Geometry::new(columns, parity));
            segment.placed_lsn = next_lsn;
        });
    }

    /// The geometry that the segment has now, and the earlier ones that somebody reads by.
    pub(super) fn geometries_in_hand(
        &mut self,
        id: SegmentId,
        now: &Rc<Geometry>,
    ) -> Vec<Weak<Geometry>> {
        self.past_geometries.retain(|_, past| {
            past.retain(|geometry| geometry.strong_count() > 0);
            !past.is_empty()
        });
        let past = self.past_geometries.entry(id).or_default();
        past.push(Rc::downgrade(now));
        past.clone()
    }

    /// What of the segment is on its way stays where it was.
    pub fn give_up_move(&mut self, id: SegmentId) {
        let places = self.moving.remove(&id).expect("a move that has begun");
        self.give_back(places.into_iter().map(|place| place.chunk));
    }

    /// Chunks of the drive that columns on their way will leave.
    pub(super) fn departing(&self, drive: DriveId) -> usize {
        let departs = |(id, places): (&SegmentId, &Vec<NewPlace>)| {
            let Some(segment) = self.entries.get(*id) else { return 0 };
            let columns = &segment.geometry.columns;
            let leaves =
                |place: &&NewPlace| columns.get(place.column).is_some_and(|it| it.drive == drive);
            places.iter().filter(leaves).count()
        };
        self.moving.iter().map(departs).sum()
    }

    /// Chunks that columns have left since the last call. The root before names them still.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        std::mem::take(&mut self.retired)
    }

    /// The newest root does not name these chunks. Those that somebody still reads wait for the
    /// next one.
    pub fn release(&mut self, retired: Vec<Retired>) {
        let (read, free): (Vec<_>, Vec<_>) = retired.into_iter().partition(Retired::is_read);
        self.give_back(free.into_iter().map(|retired| retired.chunk));
        self.retired.extend(read);
    }
}

#[cfg(test)]
mod tests;
