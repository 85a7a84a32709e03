//! The chunks of columns: taken when a table is loaded, and given or kept when drives come back or
//! go.

use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_block::DriveId;
use ashlar_format::codec::Malformed;
use ashlar_format::location::SegmentId;
use ashlar_format::table::TableEntry;
use ashlar_raid::{ChunkAddr, Geometry};

use super::{FreeChunks, Segment, Segments, Stripe};

/// A column that a drive which comes back has as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldColumn {
    /// Whose it is.
    pub segment: SegmentId,
    /// Where it is on the drive.
    pub chunk: u32,
}

impl Segment {
    /// How many of its columns lie on any of the drives.
    pub fn columns_on(&self, drives: &[DriveId]) -> usize {
        self.geometry.columns.iter().filter(|column| drives.contains(&column.drive)).count()
    }
}

impl Segments {
    /// Takes the chunks of these segments. All at once: there may be millions.
    ///
    /// # Errors
    /// Two of them claim one chunk, or one a chunk that its drive does not have.
    pub(super) fn take_chunks(&mut self, table: &[TableEntry]) -> Result<(), Malformed> {
        let mut taken: BTreeMap<DriveId, Vec<u32>> = BTreeMap::new();
        for column in table.iter().flat_map(|entry| &entry.geometry.columns) {
            taken.entry(column.drive).or_default().push(column.chunk);
        }
        for (drive, chunks) in taken {
            if let Some(free) = self.free_chunks.get_mut(&drive) {
                let mut chunks = chunks.into_iter();
                if !chunks.all(|chunk| free.take(chunk)) {
                    return Err(Malformed {
                        what: "segment table: a chunk is claimed that is not there, or is another's",
                    });
                }
            }
        }
        Ok(())
    }

    /// Free chunks of the drives.
    pub fn free_chunks_on(&self, drives: &[DriveId]) -> u64 {
        let free = drives.iter().filter_map(|drive| self.free_chunks.get(drive));
        free.map(|chunks| u64::from(chunks.count())).sum()
    }

    /// The same, counted one by one.
    pub fn free_chunks_anew(&self, drives: &[DriveId]) -> u64 {
        let free = drives.iter().filter_map(|drive| self.free_chunks.get(drive));
        free.map(FreeChunks::count_anew).sum()
    }

    /// Columns of the segment whose chunk counts as free.
    pub fn columns_on_free_chunks(&self, segment: &Segment) -> impl Iterator<Item = ChunkAddr> {
        segment
            .geometry
            .columns
            .iter()
            .copied()
            .filter(|at| self.free_chunks.get(&at.drive).is_some_and(|free| free.is_free(at.chunk)))
    }

    /// Free chunks of the drive that has most.
    pub fn most_free(&self, drives: &[DriveId]) -> u64 {
        let free = drives.iter().filter_map(|drive| self.free_chunks.get(drive));
        free.map(|chunks| u64::from(chunks.count())).max().unwrap_or(0)
    }

    /// Columns on the drive of segments that are `held`, from a segment on: so many segments are
    /// looked at. And the one to go on with.
    pub fn columns_held(
        &self,
        drive: DriveId,
        from: SegmentId,
        segments: usize,
        held: impl Fn(&Segment) -> bool,
    ) -> (Vec<HeldColumn>, Option<SegmentId>) {
        let mut rest = self.iter_from(from);
        let some = rest.by_ref().take(segments).filter(|(_, segment)| held(segment));
        let column = |(id, segment): (SegmentId, &Segment)| {
            let column = segment.geometry.columns.iter().find(|column| column.drive == drive)?;
            Some(HeldColumn { segment: id, chunk: column.chunk })
        };
        let columns = some.filter_map(column).collect();
        (columns, rest.next().map(|(id, _)| id))
    }

    /// The chunks of these columns, on a drive that has just become a member, are nobody else's.
    pub fn keep_chunks(&mut self, drive: DriveId, columns: &[HeldColumn]) {
        let free = self.free_chunks.get_mut(&drive).expect("it is part of the pool");
        for HeldColumn { segment, chunk } in columns {
            assert!(free.take(*chunk), "{segment} has a chunk of {drive} that is another's");
        }
    }

    /// The drive `from` is `to` from now on, in the same chunk, which is kept for it, with a column
    /// of a segment that is still `held`. Whether it is: the chunk is free otherwise.
    pub fn adopt(
        &mut self,
        from: DriveId,
        to: DriveId,
        column: HeldColumn,
        held: impl Fn(&Segment) -> bool,
    ) -> bool {
        let HeldColumn { segment: id, chunk } = column;
        let is_it = |column: &ChunkAddr| *column == ChunkAddr { drive: from, chunk };
        let segment = self.entries.get(id).filter(|segment| held(segment));
        let column = segment.and_then(|segment| segment.geometry.columns.iter().position(is_it));
        let Some(column) = column else {
            self.give_back([ChunkAddr { drive: to, chunk }]);
            return false;
        };
        let geometry = self.entries[id].geometry.clone();
        self.geometries_in_hand(id, &geometry);
        let (mut columns, parity) = (geometry.columns.clone(), geometry.parity());
        columns[column].drive = to;
        self.change(id, |segment| segment.geometry = Rc::new(Geometry::new(columns, parity)));
        true
    }

    /// Chunks that nothing names may be reserved again.
    pub fn give_back(&mut self, chunks: impl IntoIterator<Item = ChunkAddr>) {
        for ChunkAddr { drive, chunk } in chunks {
            if let Some(free) = self.free_chunks.get_mut(&drive) {
                free.give_back(chunk);
            }
        }
    }

    /// The drive, on which no segment lies, is no part of the pool any more.
    pub fn remove_drive(&mut self, drive: DriveId, stripe: Stripe) {
        assert!(!self.summary.is_used(drive), "{drive} is let go of while segments lie on it");
        assert!(
            !self.is_target(drive),
            "{drive} is let go of while columns are on their way to it"
        );
        self.chunks_total.remove(&drive);
        self.free_chunks.remove(&drive);
        // Chunks that somebody still reads are not those of another drive that has the number
        // later.
        self.retired.retain(|retired| retired.chunk.drive != drive);
        self.stripe = stripe;
    }
}
