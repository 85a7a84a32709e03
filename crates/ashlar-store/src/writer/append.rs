//! Streams: where batches are appended, and how they become durable.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_block::{DriveId, World};
use ashlar_format::ids::Lsn;
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::table::SegmentKind;
use ashlar_raid::{ColumnMask, Geometry};
use tokio::sync::Mutex;

use crate::base::recycle::Recycled;
use crate::pool::Pool;
use crate::space::segments::{Claim, Shape};
use crate::writer::batch::{
    BatchPlace, Columns, Item, Placement, Room, batch_rows_max, build, place,
};

/// A sequence of segments that batches of one sort are appended to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamId {
    /// What hosts overwrite often.
    Hot,
    /// What else hosts write.
    Cold,
    /// What hosts write in batches too small for a stripe.
    Journal,
    /// What survives a collection.
    Young,
    /// What survives another one.
    Old,
    /// What recovery appends anew.
    Recovery,
    /// Pages of the map.
    Metadata,
    /// Pages of the segment table.
    Table,
}

impl StreamId {
    const ALL: [StreamId; 8] = [
        StreamId::Hot,
        StreamId::Cold,
        StreamId::Journal,
        StreamId::Young,
        StreamId::Old,
        StreamId::Recovery,
        StreamId::Metadata,
        StreamId::Table,
    ];

    /// The stripes of what hosts write.
    pub const fn of_hosts(hot: bool) -> Self {
        if hot { StreamId::Hot } else { StreamId::Cold }
    }

    const fn shape(self) -> Shape {
        match self {
            StreamId::Journal => Shape::Journal,
            _ => Shape::Striped,
        }
    }

    const fn kind(self) -> SegmentKind {
        match self {
            StreamId::Journal => SegmentKind::Journal,
            StreamId::Metadata => SegmentKind::Metadata,
            StreamId::Table => SegmentKind::Table,
            StreamId::Young | StreamId::Old => SegmentKind::Moved,
            StreamId::Hot | StreamId::Cold | StreamId::Recovery => SegmentKind::Data,
        }
    }
}

struct OpenSegment {
    id: SegmentId,
    geometry: Rc<Geometry>,
    next_row: u32,
    first_lsn: Option<Lsn>,
}

#[derive(Default)]
struct Stream {
    open: RefCell<Option<OpenSegment>>,
    /// Held from the choice of a segment until the batch has its place: keeps the stream's batches
    /// in order.
    turn: Mutex<()>,
}

/// All streams of a reactor.
#[derive(Default)]
pub(crate) struct Streams([Stream; StreamId::ALL.len()]);

/// What one batch has room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchRoom {
    pub data: usize,
    pub rows_max: u32,
}

impl BatchRoom {
    /// How many of the first items fit.
    pub fn fitting(self, items: &[Item]) -> usize {
        let mut room = Room::default();
        let fits = |item: &&Item| {
            room.add(item);
            room.surely_fits(self.data, self.rows_max)
        };
        items.iter().take_while(fits).count()
    }
}

/// The window has no segment for this stream until a checkpoint forms a new one.
#[derive(Debug)]
pub(crate) struct WindowEmpty;

/// A batch that has its place and its number, and is yet to be written.
pub(crate) struct Appended {
    pub lsn: Lsn,
    pub items: Recycled<Item>,
    /// Where each item's fragment will be.
    pub pointers: Recycled<Option<Pointer>>,
    geometry: Rc<Geometry>,
    row: u32,
    /// None any more once they are written.
    columns: Option<Columns>,
}

impl Appended {
    /// Bytes that it takes on drives, parity included, unless they are written already.
    pub fn bytes(&self) -> u64 {
        self.columns.as_ref().map_or(0, Columns::bytes)
    }

    fn drives_of(&self, columns: ColumnMask) -> Vec<DriveId> {
        let all = self.geometry.columns.iter().enumerate();
        all.filter(|(column, _)| columns.has(*column)).map(|(_, chunk)| chunk.drive).collect()
    }
}

impl<W: World> Pool<W> {
    /// Data columns and rows of the stream's largest batch, in a fresh segment.
    pub fn fresh_batch_room(&self, stream: StreamId) -> BatchRoom {
        let data = match stream.shape() {
            Shape::Journal => 1,
            Shape::Striped => self.striped_data_columns(),
        };
        BatchRoom { data, rows_max: batch_rows_max(data, self.identity.segment_rows) }
    }

    /// Data columns of the stripes that can be made of the drives that work.
    pub fn striped_data_columns(&self) -> usize {
        let stripe = self.space.segments.borrow().stripe();
        stripe.data.min(self.allocation_target_count().saturating_sub(stripe.parity)).max(1)
    }

    /// Gives what `take` chooses a place and a number, waiting for a segment if there is none to be
    /// opened. `None`: the pool has halted, or is being closed and has none.
    pub async fn append(
        &self,
        stream: StreamId,
        claim: Claim,
        mut take: impl FnMut(BatchRoom, &mut Vec<Item>),
    ) -> Option<Appended> {
        loop {
            let window_formed = self.checkpoint.roots.changes();
            match self.try_append(stream, claim, &mut take).await {
                Ok(appended) => return Some(appended),
                Err(WindowEmpty) => {
                    self.halt.check().ok()?;
                    if self.writer.commit.is_stopping() {
                        return None;
                    }
                    self.want_segment(claim);
                    window_formed.await;
                }
            }
        }
    }

    /// Gives what `take` puts into the list for the room of a batch a place and a number, if a
    /// segment is at hand. `take` gives nothing where nothing fits the rest of a segment, and
    /// something for the room of a fresh one.
    pub async fn try_append(
        &self,
        stream: StreamId,
        claim: Claim,
        mut take: impl FnMut(BatchRoom, &mut Vec<Item>),
    ) -> Result<Appended, WindowEmpty> {
        let state = &self.writer.streams.0[stream as usize];
        let _turn = state.turn.lock().await;
        let mut items = self.writer.lists.items.list();
        loop {
            if let Some(room) = self.room_left(stream) {
                take(room, &mut items);
                if !items.is_empty() {
                    return Ok(self.append_to_open(stream, items));
                }
                let fresh = state.open.borrow().as_ref().is_some_and(|open| open.next_row == 0);
                assert!(!fresh, "a unit does not fit a fresh segment");
            }
            self.open_next(stream, claim)?;
        }
    }

    /// Opens a segment for the stream in the place of the one that is full, if one is at hand.
    fn open_next(&self, stream: StreamId, claim: Claim) -> Result<(), WindowEmpty> {
        if !stream.kind().is_of_pages() {
            self.seal_open(stream);
        }
        if claim == Claim::Host && !self.hosts_may_allocate() {
            return Err(WindowEmpty);
        }
        let opened = self.space.segments.borrow_mut().open(stream.shape(), stream.kind(), claim);
        let (id, geometry) = opened.ok_or(WindowEmpty)?;
        if claim == Claim::Host {
            self.space.refusals.segment_opened();
        }
        // Not before there is another: a checkpoint may have less to write than what was to be
        // moved.
        self.seal_open(stream);
        if stream == StreamId::Hot {
            self.space.segments.borrow_mut().set_hot(id);
        }
        *self.writer.streams.0[stream as usize].open.borrow_mut() =
            Some(OpenSegment { id, geometry, next_row: 0, first_lsn: None });
        self.requests.notify();
        Ok(())
    }

    /// The room of the next batch in the segment that is open.
    fn room_left(&self, stream: StreamId) -> Option<BatchRoom> {
        let state = self.writer.streams.0[stream as usize].open.borrow();
        let open = state.as_ref()?;
        let (data, rows) = (open.geometry.data(), self.identity.segment_rows);
        let rows_max = batch_rows_max(data, rows).min(rows - open.next_row);
        (rows_max > 0).then_some(BatchRoom { data, rows_max })
    }

    fn append_to_open(&self, stream: StreamId, items: Recycled<Item>) -> Appended {
        let room = self.room_left(stream).expect("the caller has seen it");
        let mut state = self.writer.streams.0[stream as usize].open.borrow_mut();
        let open = state.as_mut().expect("it has room");
        let geometry = (open.next_row == 0).then_some(&*open.geometry);
        let placement = place(&items, room.data, room.rows_max, geometry)
            .expect("what was taken for the room fits it");
        let complete_through = self.writer.lsns.complete_through();
        let lsn = self.begin_batch(items.len());
        let first_lsn = *open.first_lsn.get_or_insert(lsn);
        let place = BatchPlace {
            segment: open.id,
            geometry: open.geometry.clone(),
            row: open.next_row,
            incarnation: self.checkpoint.incarnation,
            first_lsn,
            lsn,
            complete_through,
        };
        open.next_row += placement.rows;
        self.space.segments.borrow_mut().appended(open.id, first_lsn, lsn, open.next_row);
        tracing::trace!(
            "{stream:?} {lsn} {} row {} rows {}: {items:?}",
            place.segment,
            place.row,
            placement.rows
        );
        drop(state);
        let mut pointers = self.writer.lists.pointers.list();
        let columns = self.build(&items, &placement, &place, &mut pointers);
        self.count(|counters| counters.drives.bytes_to_drives += columns.bytes());
        let BatchPlace { geometry, row, .. } = place;
        Appended { lsn, items, pointers, geometry, row, columns: Some(columns) }
    }

    /// The bytes of all columns of a batch; `pointers` is given where its items will be.
    fn build(
        &self,
        items: &[Item],
        placement: &Placement,
        place: &BatchPlace,
        pointers: &mut Vec<Option<Pointer>>,
    ) -> Columns {
        let rows = {
            let scratch = &mut self.writer.batch_scratch.borrow_mut();
            build(items, placement, place, &self.identity.secret, scratch, pointers)
        };
        if rows.want_parity() {
            self.timed_step(|steps| &mut steps.parity, || rows.with_parity())
        } else {
            rows.with_parity()
        }
    }

    /// The number of the next batch, of so many records. Upkeep hears when they become too many to
    /// replay.
    fn begin_batch(&self, records: usize) -> Lsn {
        let few = self.replay_records() <= self.replay_records_max();
        let lsn = self.writer.lsns.begin(records);
        if few && self.replay_records() > self.replay_records_max() {
            self.requests.notify();
        }
        lsn
    }

    /// A stream waits for a segment.
    pub fn want_segment(&self, claim: Claim) {
        match claim {
            Claim::Host => self.requests.want_segment_for_hosts(),
            Claim::Upkeep | Claim::LastResort | Claim::Checkpoint | Claim::Last => {
                self.requests.want_segment_for_moves()
            }
        }
    }

    fn seal_open(&self, stream: StreamId) {
        if let Some(open) = self.writer.streams.0[stream as usize].open.take() {
            self.space.segments.borrow_mut().seal(open.id, self.world.unix_seconds());
        }
    }

    /// Seals the open segments that have a column on a drive which takes nothing new, because it
    /// does not work or is leaving; and those that have fewer parity columns than they could by
    /// now.
    pub fn seal_off_lost_drives(&self) {
        let targets = self.allocation_targets();
        let parity = self.space.segments.borrow().parity_on(targets.len());
        for stream in StreamId::ALL {
            let is_off = |open: &OpenSegment| {
                !open.geometry.lies_on(&targets) || open.geometry.parity() < parity
            };
            if self.writer.streams.0[stream as usize].open.borrow().as_ref().is_some_and(is_off) {
                self.seal_open(stream);
            }
        }
    }

    /// Seals every open segment.
    pub fn seal_all(&self) {
        StreamId::ALL.into_iter().for_each(|stream| self.seal_open(stream));
    }

    /// Writes the batch. Returns the columns that are missing for want of a drive, when all others
    /// are on stable media. `None`: the pool has halted, and nothing may rely on the batch.
    pub async fn write(&self, appended: &mut Appended) -> Option<ColumnMask> {
        let columns = appended.columns.take().expect("a batch is written once");
        let written = self.array.write_rows(&appended.geometry, appended.row, columns.iter()).await;
        self.writer.batch_scratch.borrow_mut().rows.give_back(columns.into_buf());
        match written {
            Ok(missing) => Some(missing.0),
            Err(error) => {
                self.halt(error);
                None
            }
        }
    }

    /// Writes the batch, and returns when it may be relied on: every column is on stable media, or
    /// its drive's absence is in a durable root. `None`: the pool has halted.
    pub async fn write_durably(&self, appended: &mut Appended) -> Option<()> {
        let missing = self.write(appended).await?;
        let drives = appended.drives_of(missing);
        loop {
            let changed = self.checkpoint.roots.changes();
            if self.are_absent(&drives) {
                break;
            }
            self.halt.check().ok()?;
            self.requests.lose_drive();
            changed.await;
        }
        self.halt.check().ok()?;
        self.writer.lsns.durable(appended.lsn);
        Some(())
    }

    /// Writes the batch for a root that is yet to come, which alone makes it matter: it does not
    /// wait for one that names the absence of a drive. But no header may say that the batch is
    /// durable before that root is: a start that finds the drive there again would not look whether
    /// the drive has it. `None`: the pool has halted.
    pub async fn write_for_root(&self, appended: &mut Appended) -> Option<()> {
        let missing = self.write(appended).await?;
        self.writer.awaiting_root.borrow_mut().push((appended.lsn, appended.drives_of(missing)));
        self.settle_awaiting_root();
        Some(())
    }

    /// Batches that lack nothing but what is on drives whose absence is in the newest root are
    /// durable.
    pub fn settle_awaiting_root(&self) {
        self.writer.awaiting_root.borrow_mut().retain(|(lsn, drives)| {
            let is_durable = self.are_absent(drives);
            if is_durable {
                self.writer.lsns.durable(*lsn);
            }
            !is_durable
        });
    }

    fn are_absent(&self, drives: &[DriveId]) -> bool {
        let absent = self.checkpoint.roots.absent();
        drives.iter().all(|drive| absent.contains(drive))
    }
}

#[cfg(test)]
mod tests;
