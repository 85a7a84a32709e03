//! Relocation: columns of a segment go to other drives while the segment stays.
//!
//! What a column holds is read from it, or restored from the others where its drive is lost. Only
//! rows that hold batches are read. Each batch is checked by its header's and its fragments'
//! checksums before anything is made of it, so that what a drive lies about is never copied. A
//! column is in no root at its new place until it is whole there: after a crash before that, it is
//! where it was.

use std::cell::{Cell, RefCell};

use ashlar_block::{AlignedBuf, DriveId, SECTOR_BYTES, World};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;

use crate::pool::Pool;
use crate::reader::scan::{Expected, Image};
use crate::space::segments::{NewPlace, Segments, pin};

/// Rows that are written before somebody else has a turn; fewer where chunks are small.
const STEP_ROWS_MAX: u32 = 256;

/// Columns that are relocated until a root says where they are: what no root knows is done again
/// after a crash, and until then a restored column does not count as that when another drive is
/// lost.
const UNSETTLED_COLUMNS_MAX: usize = 64;

/// The columns of a segment that are on their way.
struct Moving {
    segment: SegmentId,
    /// Of its first batch: the number may come round to another segment meanwhile.
    first_lsn: Lsn,
    places: Vec<NewPlace>,
    /// Rows below it are done.
    next_row: u32,
}

impl Moving {
    /// Whether the segment is still the one that was begun.
    fn is_there(&self, segments: &Segments) -> bool {
        segments.get(self.segment).is_some_and(|segment| segment.first_lsn == self.first_lsn)
    }

    /// Bytes that so many rows of its columns have.
    fn bytes(&self, rows: u32) -> u64 {
        u64::from(rows) * (self.places.len() * SECTOR_BYTES) as u64
    }
}

/// What is known of relocations between two steps.
#[derive(Default)]
pub(crate) struct Relocation {
    moving: RefCell<Option<Moving>>,
    /// Columns that have been relocated and that no root knows there yet.
    unsettled_columns: Cell<usize>,
}

impl Relocation {
    /// The segment of which columns are on their way.
    pub fn segment(&self) -> Option<SegmentId> {
        self.moving.borrow().as_ref().map(|moving| moving.segment)
    }

    /// Bytes that have been written of columns which are not yet whole.
    pub fn bytes_begun(&self) -> u64 {
        self.moving.borrow().as_ref().map_or(0, |moving| moving.bytes(moving.next_row))
    }

    /// A root has to say where columns are before more of them go.
    pub fn must_settle(&self, segments: &Segments) -> bool {
        let moving = self.moving.borrow();
        self.unsettled_columns.get() >= UNSETTLED_COLUMNS_MAX
            || moving.as_ref().is_some_and(|moving| !moving.is_there(segments))
    }

    /// Columns that no root knows where they are yet.
    pub fn unsettled_columns(&self) -> usize {
        self.unsettled_columns.get()
    }

    /// A root says where so many of them are.
    pub fn settled(&self, columns: usize) {
        self.unsettled_columns.set(self.unsettled_columns.get() - columns);
    }

    /// A root says where all columns are.
    pub fn is_settled(&self) -> bool {
        self.unsettled_columns.get() == 0
    }

    #[cfg(test)]
    pub fn pretend_unsettled(&self) {
        self.unsettled_columns.set(UNSETTLED_COLUMNS_MAX);
    }
}

/// How a step of a relocation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relocated {
    /// There are more rows.
    Part,
    /// So many columns are where they are to be.
    Whole(usize),
    /// There is no room for them.
    NoRoom,
    /// A batch cannot be had from what is left.
    Unreadable,
    /// A drive that columns were to go to has failed.
    TargetLost,
}

impl<W: World> Pool<W> {
    /// Writes some rows of the segment's columns that are on their way, or of those that `choose`
    /// reserves places for. Returns how many bytes those were, too.
    pub async fn relocate(
        &self,
        id: SegmentId,
        choose: impl FnOnce(&mut Segments) -> Option<Vec<NewPlace>>,
    ) -> (Relocated, u64) {
        let Some(mut moving) = self.begin_or_resume(id, choose) else { return (Relocated::NoRoom, 0) };
        let mut bytes = 0;
        let ended = self.copy_rows(&mut moving, &mut bytes).await.unwrap_or_else(|ended| ended);
        match ended {
            Relocated::Part => {
                self.relocation.moving.replace(Some(moving));
            }
            Relocated::Whole(columns) => {
                self.segments.borrow_mut().move_columns(id, &moving.places, self.lsns.next());
                let unsettled = &self.relocation.unsettled_columns;
                unsettled.set(unsettled.get() + columns);
                tracing::debug!("{id}: {:?} relocated", moving.places);
            }
            Relocated::NoRoom | Relocated::Unreadable | Relocated::TargetLost => self.give_back(moving),
        }
        (ended, bytes)
    }

    /// Has a root say where columns are. What is on its way stays where it was.
    pub async fn settle_relocations(&self) {
        self.abandon_move();
        self.ordered_checkpoint().await;
    }

    /// What is on its way to `drive` stays where it was.
    pub fn abandon_move_to(&self, drive: DriveId) {
        let goes_there = |moving: &Moving| moving.places.iter().any(|place| place.chunk.drive == drive);
        if self.relocation.moving.borrow().as_ref().is_some_and(goes_there) {
            self.abandon_move();
        }
    }

    /// What is on its way stays where it was.
    pub fn abandon_move(&self) {
        if let Some(moving) = self.relocation.moving.take() {
            self.give_back(moving);
        }
    }

    fn give_back(&self, moving: Moving) {
        self.segments.borrow_mut().give_back(moving.places.into_iter().map(|place| place.chunk));
    }

    fn begin_or_resume(
        &self,
        id: SegmentId,
        choose: impl FnOnce(&mut Segments) -> Option<Vec<NewPlace>>,
    ) -> Option<Moving> {
        if let Some(moving) = self.relocation.moving.take() {
            if moving.segment == id && moving.is_there(&self.segments.borrow()) {
                return Some(moving);
            }
            self.give_back(moving);
        }
        let mut segments = self.segments.borrow_mut();
        let first_lsn = segments.get(id)?.first_lsn;
        let places = choose(&mut segments)?;
        Some(Moving { segment: id, first_lsn, places, next_row: 0 })
    }

    async fn copy_rows(&self, moving: &mut Moving, bytes: &mut u64) -> Result<Relocated, Relocated> {
        let id = moving.segment;
        let (_pin, geometry) = pin(&self.segments, id).ok_or(Relocated::TargetLost)?;
        let extents = self.segments.borrow().get(id).expect("pinned").accepted_rows();
        let end_of_step = moving.next_row + (self.identity.segment_rows / 4).min(STEP_ROWS_MAX);
        let mut image = Image::while_serving(self, &geometry);
        for extent in extents {
            let mut row = extent.row.max(moving.next_row);
            while row < extent.row + extent.rows {
                if row >= end_of_step {
                    // Behind a hole it is not where the last batch ended.
                    moving.next_row = row;
                    return Ok(Relocated::Part);
                }
                let rows = self.copy_batch(&mut image, moving, row).await?;
                *bytes += moving.bytes(rows);
                row += rows;
                moving.next_row = row;
            }
        }
        Ok(Relocated::Whole(moving.places.len()))
    }

    /// Writes what the columns hold of the batch at `row`. Returns its rows.
    async fn copy_batch(
        &self,
        image: &mut Image<'_, W>,
        moving: &Moving,
        row: u32,
    ) -> Result<u32, Relocated> {
        let generation = self.generation(moving.segment);
        let expected = Expected { segment: moving.segment, generation, secret: &self.identity.secret };
        let found = image.batch_at(&expected, row).await.ok_or(Relocated::Unreadable)?;
        let examined = image.examine(&found).await.ok_or(Relocated::Unreadable)?;
        for place in &moving.places {
            let bytes = AlignedBuf::copy_of(examined.column(place.column)).freeze();
            if !self.array.write_chunk(place.chunk, row, bytes).await {
                return Err(Relocated::TargetLost);
            }
        }
        Ok(found.header.rows)
    }
}
