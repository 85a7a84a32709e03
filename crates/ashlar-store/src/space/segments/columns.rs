//! The chunks of columns: taken when a table is loaded, and given or kept when drives come back or
//! go.

use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_block::DriveId;
use ashlar_format::codec::Malformed;
use ashlar_format::location::SegmentId;
use ashlar_format::table::TableEntry;
use ashlar_raid::{ChunkAddr, Geometry};

use super::{Segment, Segments, Stripe};

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

    /// Free chunks of the drive that has most.
    pub fn most_free(&self, drives: &[DriveId]) -> u64 {
        let free = drives.iter().filter_map(|drive| self.free_chunks.get(drive));
        free.map(|chunks| u64::from(chunks.count())).max().unwrap_or(0)
    }

    /// The drive `from` is `to` from now on, in the same chunks, with those of its columns whose
    /// segments are `held`. Returns how many they are.
    pub fn adopt(&mut self, from: DriveId, to: DriveId, held: impl Fn(&Segment) -> bool) -> u64 {
        let column_held = |(id, segment): (SegmentId, &Segment)| {
            let column = segment.geometry.columns.iter().position(|column| column.drive == from);
            column.filter(|_| held(segment)).map(|column| (id, column))
        };
        let adopted: Vec<(SegmentId, usize)> = self.iter().filter_map(column_held).collect();
        for (id, column) in &adopted {
            let geometry = &self.entries[*id].geometry;
            let (mut columns, parity) = (geometry.columns.clone(), geometry.parity());
            columns[*column].drive = to;
            let free = self.free_chunks.get_mut(&to).expect("it is part of the pool");
            assert!(free.take(columns[*column].chunk), "{id} has a chunk of {to} that is another's");
            self.change(*id, |segment| segment.geometry = Rc::new(Geometry::new(columns, parity)));
        }
        adopted.len() as u64
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
        assert!(!self.is_target(drive), "{drive} is let go of while columns are on their way to it");
        self.chunks_total.remove(&drive);
        self.free_chunks.remove(&drive);
        // Chunks that somebody still reads are not those of another drive that has the number
        // later.
        self.retired.retain(|retired| retired.chunk.drive != drive);
        self.stripe = stripe;
    }
}
