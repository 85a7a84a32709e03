//! Columns: the chunks that they take when a table is loaded, and moves to others while their
//! segment stays.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use ashlar_block::DriveId;
use ashlar_format::codec::Malformed;
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::TableEntry;
use ashlar_raid::{ChunkAddr, Geometry};

use super::{FreeChunks, Segment, Segments, Stripe};

/// A chunk that a column has left.
#[derive(Debug)]
pub struct Retired {
    /// Nobody's, once a root says so and nobody reads it any more.
    pub chunk: ChunkAddr,
    /// Where its segment lay then: whoever has begun to read it has this still.
    was: Weak<Geometry>,
}

/// Where a column goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewPlace {
    /// Which column.
    pub column: usize,
    /// Its chunk.
    pub chunk: ChunkAddr,
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

    /// Of `drives`, those that the segment does not lie on and that have a free chunk, the roomiest
    /// first.
    fn drives_beside(&self, id: SegmentId, drives: &[DriveId]) -> Vec<DriveId> {
        let geometry = &self.entries[id].geometry;
        let own: BTreeSet<DriveId> = geometry.columns.iter().map(|column| column.drive).collect();
        let free = |drive: &DriveId| self.free_chunks.get(drive).map_or(0, FreeChunks::count);
        let mut beside: Vec<DriveId> =
            drives.iter().copied().filter(|drive| !own.contains(drive) && free(drive) > 0).collect();
        beside.sort_by_key(|drive| (Reverse(free(drive)), *drive));
        beside
    }

    /// Whether that many columns of the segment could lie on other drives than it does.
    pub fn could_move(&self, id: SegmentId, columns: usize, drives: &[DriveId]) -> bool {
        self.drives_beside(id, drives).len() >= columns
    }

    /// Free chunks of the drive that has most.
    pub fn most_free(&self, drives: &[DriveId]) -> u64 {
        let free = drives.iter().filter_map(|drive| self.free_chunks.get(drive));
        free.map(|chunks| u64::from(chunks.count())).max().unwrap_or(0)
    }

    /// Takes a chunk for each of the columns, on drives that the segment does not lie on. They are
    /// nobody's until [`Self::move_columns`] or [`Self::give_back`]. `None` if there is not room
    /// for all.
    pub fn reserve_columns(
        &mut self,
        id: SegmentId,
        columns: &[usize],
        drives: &[DriveId],
    ) -> Option<Vec<NewPlace>> {
        let beside = self.drives_beside(id, drives);
        if beside.len() < columns.len() {
            return None;
        }
        let place = |(column, drive): (&usize, DriveId)| {
            let chunk =
                self.free_chunks.get_mut(&drive).and_then(FreeChunks::take_lowest).expect("seen to be free");
            NewPlace { column: *column, chunk: ChunkAddr { drive, chunk } }
        };
        Some(columns.iter().zip(beside).map(place).collect())
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

    /// The columns lie elsewhere from now on, where all their rows have been written; `next_lsn` is
    /// that of the next batch. Where they were is free once a root says so: see
    /// [`Self::take_retired`] and [`Self::release`].
    pub fn move_columns(&mut self, id: SegmentId, places: &[NewPlace], next_lsn: Lsn) {
        let geometry = &self.get(id).expect("a segment that is pinned is not freed").geometry;
        let (mut columns, parity) = (geometry.columns.clone(), geometry.parity());
        let was = Rc::downgrade(geometry);
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

    /// Chunks that columns have left since the last call. The root before names them still.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        std::mem::take(&mut self.retired)
    }

    /// The newest root does not name these chunks. Those that somebody still reads wait for the
    /// next one: a read may take longer than a checkpoint, and must not find what another segment
    /// has written there.
    pub fn release(&mut self, retired: Vec<Retired>) {
        let (free, read): (Vec<_>, Vec<_>) =
            retired.into_iter().partition(|retired| retired.was.strong_count() == 0);
        self.give_back(free.into_iter().map(|retired| retired.chunk));
        self.retired.extend(read);
    }

    /// The drive, on which no segment lies, is no part of the pool any more.
    pub fn remove_drive(&mut self, drive: DriveId, stripe: Stripe) {
        assert!(!self.summary.is_used(drive), "{drive} is let go of while segments lie on it");
        self.chunks_total.remove(&drive);
        self.free_chunks.remove(&drive);
        // Chunks that somebody still reads are not those of another drive that has the number
        // later.
        self.retired.retain(|retired| retired.chunk.drive != drive);
        self.stripe = stripe;
    }
}
