//! The member drives as an array: rows are written to all columns, a column is read from anywhere.

mod answers;
mod faulty;
mod heard;
mod permit;
mod raw;
mod reading;
mod reconstruct_cache;

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Device, DeviceError, DriveId, Durability, Nanos, SECTOR_BYTES};
use bytes::Bytes;
use futures_util::future::{join3, join4};
use tokio::sync::Notify;

use crate::faults::{Failure, Faults};
use crate::geometry::{ChunkAddr, ColumnMask, DriveLayout, Geometry};
use crate::silence::Silences;
use crate::slow::Speed;
use answers::Patience;
use heard::Hearer;
pub use heard::Trouble;
use permit::Permit;
pub use reading::Reconstructions;
use reconstruct_cache::ReconstructCache;

/// Times that a column write is tried before its drive is given up.
const WRITE_TRIES: usize = 2;

/// A member drive that is being used.
pub struct Member<D> {
    /// The drive.
    pub device: D,
    layout: Cell<DriveLayout>,
    used_bytes: Cell<u64>,
    failure: RefCell<Option<Failure>>,
    read_errors: Cell<u64>,
    corrupt_reads: Cell<u64>,
    speed: Speed,
    silence: Silences,
    faults: Faults,
    refuses_discards: Cell<bool>,
}

impl<D> Member<D> {
    /// A member that works, of which what is before the end of its chunks is used.
    pub fn new(device: D, layout: DriveLayout) -> Self {
        let chunks_bytes = u64::from(layout.chunk_count) * u64::from(layout.chunk_bytes);
        Member {
            device,
            layout: Cell::new(layout),
            used_bytes: Cell::new(layout.chunks_start + chunks_bytes),
            failure: RefCell::new(None),
            read_errors: Cell::new(0),
            corrupt_reads: Cell::new(0),
            speed: Speed::default(),
            silence: Silences::default(),
            faults: Faults::default(),
            refuses_discards: Cell::new(false),
        }
    }

    /// The same, of which so many bytes are used.
    pub fn using(self, used_bytes: u64) -> Self {
        self.used_bytes.set(used_bytes);
        self
    }

    /// Where its chunks lie.
    pub fn layout(&self) -> DriveLayout {
        self.layout.get()
    }

    /// Bytes of the drive that are used: it may have more.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.get()
    }

    /// More of it is used from now on: chunks behind those that there are.
    ///
    /// # Panics
    /// If the chunks that there are would lie elsewhere, or be fewer.
    pub fn grow(&self, layout: DriveLayout, used_bytes: u64) {
        let before = self.layout.replace(layout);
        let is_grown = DriveLayout { chunk_count: before.chunk_count, ..layout } == before
            && layout.chunk_count >= before.chunk_count;
        assert!(is_grown, "{before:?} cannot become {layout:?}");
        self.used_bytes.set(used_bytes);
    }

    /// Why the drive was given up, if it was.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.borrow().clone()
    }

    /// Reads that the drive refused.
    pub fn read_errors(&self) -> u64 {
        self.read_errors.get()
    }

    /// It answers reads much later than the others of the array, or does not answer at all.
    pub fn is_slow(&self) -> bool {
        self.speed.is_slow() || self.silence.is_long()
    }

    /// Reads are better answered by others.
    fn reads_slowly(&self) -> bool {
        self.speed.is_slow() || self.silence.reads.is_long()
    }

    /// Times that the drive gave wrong bytes.
    pub fn corrupt_reads(&self) -> u64 {
        self.corrupt_reads.get()
    }
}

/// A write that has found no room. Counted as long as it lives.
struct WithoutRoom<'a>(&'a Cell<usize>);

impl<'a> WithoutRoom<'a> {
    fn of(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        WithoutRoom(count)
    }
}

impl Drop for WithoutRoom<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The members of a pool. A drive that is given up stays in it, unused, until its owner removes it.
pub struct Array<D> {
    members: RefCell<Vec<Option<Rc<Member<D>>>>>,
    changed: Notify,
    /// Hears of what drives come to.
    heard: RefCell<Option<Hearer>>,
    /// Writes that have found no room and have not been done since.
    out_of_room: Cell<usize>,
    /// Rung when a write finds no room.
    room_lacking: Notify,
    /// Rung when writes that found no room may try again.
    room_retry: Notify,
    clock: Option<Box<dyn Fn() -> Nanos>>,
    /// When the drives were compared last.
    compared_at: Cell<Nanos>,
    /// Faults of a drive within [`crate::FAULT_WINDOW`] that are too many.
    fault_threshold: Cell<Option<NonZeroU32>>,
    reconstruct_cache: ReconstructCache,
    reconstructions: Cell<Reconstructions>,
    /// Some drive owed an answer when that was looked at last, or does since then.
    is_owed: Cell<bool>,
    /// Rung when that begins.
    owing: Notify,
    permit: Permit,
}

/// Columns that were not written because their drive is gone. Whoever acknowledges the write makes
/// that absence durable first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct MissingColumns(pub ColumnMask);

/// More columns are missing than there is parity: the rows are not safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} of the stripe's columns could not be written, and the level survives {parity}", missing.count())]
pub struct Unsafe {
    /// Columns that were not written.
    pub missing: ColumnMask,
    /// How many may be.
    pub parity: usize,
}

/// Why a column could not be read right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// Too many drives are missing or refuse to read.
    #[error(
        "column {column} cannot be read: {available} of {needed} columns are readable ({last})"
    )]
    TooFewColumns {
        /// Which column was wanted.
        column: usize,
        /// Readable ones.
        available: usize,
        /// How many would do.
        needed: usize,
        /// The last drive's error.
        last: DeviceError,
    },
    /// Every way to get the bytes gives wrong ones.
    #[error("column {column} is corrupt, and no reconstruction of it matches its checksum")]
    Wrong {
        /// Which column was wanted.
        column: usize,
    },
}

/// Where the bytes of a read came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The column itself.
    Direct,
    /// The other columns, because the drive is missing or refused.
    Missing,
    /// The other columns, because the drive gave wrong bytes.
    Corrupt,
    /// The other columns, because the drive is slow.
    Spared,
}

impl<D: Device> Array<D> {
    /// An array of these members, by drive id.
    pub fn new(members: Vec<Option<Rc<Member<D>>>>) -> Self {
        Array {
            members: RefCell::new(members),
            changed: Notify::new(),
            heard: RefCell::new(None),
            out_of_room: Cell::new(0),
            room_lacking: Notify::new(),
            room_retry: Notify::new(),
            clock: None,
            compared_at: Cell::new(Nanos(0)),
            fault_threshold: Cell::new(None),
            reconstruct_cache: ReconstructCache::default(),
            reconstructions: Cell::default(),
            is_owed: Cell::new(false),
            owing: Notify::new(),
            permit: Permit::default(),
        }
    }

    /// The same, and by this clock drives are found that are slow or have too many faults.
    pub fn with_clock(self, clock: impl Fn() -> Nanos + 'static) -> Self {
        Array { clock: Some(Box::new(clock)), ..self }
    }

    /// The member, if it is there and has not been given up.
    pub fn working(&self, drive: DriveId) -> Option<Rc<Member<D>>> {
        self.member(drive).filter(|member| member.failure.borrow().is_none())
    }

    /// Makes a drive a member.
    ///
    /// # Panics
    /// If there is one of that number.
    pub fn add(&self, drive: DriveId, member: Member<D>) {
        self.reconstruct_cache.forget_all();
        let (mut members, index) = (self.members.borrow_mut(), usize::from(drive.0));
        if members.len() <= index {
            members.resize_with(index + 1, || None);
        }
        assert!(members[index].replace(Rc::new(member)).is_none(), "{drive} is a member already");
    }

    /// The drive is no member any more. Its device is free once what goes on with it has ended.
    pub fn remove(&self, drive: DriveId) {
        self.reconstruct_cache.forget_all();
        if let Some(member) = self.members.borrow_mut().get_mut(usize::from(drive.0)) {
            *member = None;
        }
    }

    /// The member, working or not.
    pub fn member(&self, drive: DriveId) -> Option<Rc<Member<D>>> {
        self.members.borrow().get(usize::from(drive.0)).cloned().flatten()
    }

    /// The number after the highest that a member has had since the array is there.
    pub fn next_number(&self) -> u16 {
        self.members.borrow().len() as u16
    }

    /// Drives that are there and have not been given up.
    pub fn working_drives(&self) -> Vec<DriveId> {
        let count = self.members.borrow().len() as u16;
        (0..count).map(DriveId).filter(|drive| self.working(*drive).is_some()).collect()
    }

    /// How many drives are used.
    pub fn working_count(&self) -> usize {
        self.members
            .borrow()
            .iter()
            .flatten()
            .filter(|member| member.failure.borrow().is_none())
            .count()
    }

    /// Gives a drive up: it is not used any more, nobody waits for it, and [`Array::changed`]
    /// returns.
    pub fn give_up(&self, drive: DriveId, why: impl Into<Failure>) {
        let Some(member) = self.working(drive) else { return };
        let why = why.into();
        *member.failure.borrow_mut() = Some(why.clone());
        member.silence.wake_all();
        self.changed.notify_one();
        self.tell(drive, Trouble::GivenUp(why));
    }

    /// Returns when a drive has been given up, or has had too many faults, since the last time it
    /// did.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The file system under a file-backed drive is full: writes are being repeated until it is
    /// not.
    pub fn out_of_room(&self) -> bool {
        self.out_of_room.get() > 0
    }

    /// Returns once the file system under a file-backed drive is full.
    pub async fn lacks_room(&self) {
        loop {
            let lacking = self.room_lacking.notified();
            if self.out_of_room() {
                return;
            }
            lacking.await;
        }
    }

    /// Lets the writes that found no room try again.
    pub fn retry_for_room(&self) {
        self.room_retry.notify_waiters();
    }

    /// Columns whose drive is not working.
    pub fn missing(&self, geometry: &Geometry) -> ColumnMask {
        let mut missing = ColumnMask::default();
        for (index, column) in geometry.columns.iter().enumerate() {
            if self.working(column.drive).is_none() {
                missing.add(index);
            }
        }
        missing
    }

    /// Writes rows from `row` on: `columns` gives the bytes of every column, parity included.
    /// Returns when all that could be written is on stable media.
    ///
    /// Twelve columns at once, which is more than most stripes have.
    ///
    /// A column write that fails is repeated with the same bytes; if it fails again the drive is
    /// given up. One that finds no room under a file-backed drive is repeated until there is room.
    pub async fn write_rows(
        &self,
        geometry: &Geometry,
        row: u32,
        columns: impl ExactSizeIterator<Item = Bytes>,
    ) -> Result<MissingColumns, Unsafe> {
        assert_eq!(columns.len(), geometry.columns.len(), "every column has bytes");
        let missing = Cell::new(ColumnMask::default());
        let columns = RefCell::new(columns.enumerate());
        // Lanes and not a list of futures: nothing is allocated for them.
        let lane = async || {
            while let Some((index, bytes)) = { columns.borrow_mut().next() } {
                let written =
                    self.write_chunk(geometry.columns[index], row, bytes, Durability::Stable);
                if !written.await {
                    missing.set(missing.get().with(index));
                }
            }
        };
        let four = || join4(lane(), lane(), lane(), lane());
        join3(four(), four(), four()).await;
        let (missing, parity) = (missing.get(), geometry.parity());
        if missing.count() > parity {
            Err(Unsafe { missing, parity })
        } else {
            Ok(MissingColumns(missing))
        }
    }

    /// Writes rows of one chunk from `row` on. True: the drive has them, as durable as asked for.
    /// False: the drive is lost, now or before.
    ///
    /// Errors and want of room are treated as in [`Array::write_rows`].
    pub async fn write_chunk(
        &self,
        column: ChunkAddr,
        row: u32,
        bytes: Bytes,
        durable: Durability,
    ) -> bool {
        let _writing =
            self.reconstruct_cache.writing(column, row..row + (bytes.len() / SECTOR_BYTES) as u32);
        let mut tries = 0;
        let mut without_room = None;
        loop {
            let Some(member) = self.working(column.drive) else { return false };
            let offset = member.layout().offset(column.chunk, row * SECTOR_BYTES as u32);
            match self.write(&member, offset, bytes.clone(), durable).await {
                Ok(()) => return member.failure.borrow().is_none(),
                Err(DeviceError::NoSpace { .. }) => self.wait_for_room(&mut without_room).await,
                Err(error) => {
                    tries += 1;
                    if tries == WRITE_TRIES || error == DeviceError::Gone {
                        self.give_up(column.drive, error);
                    }
                }
            }
        }
    }

    async fn write(
        &self,
        member: &Member<D>,
        offset: u64,
        bytes: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        self.permitted().await;
        // Perhaps meanwhile.
        if member.failure.borrow().is_some() {
            return Err(DeviceError::Gone);
        }
        let write = member.device.write(offset, bytes, durability);
        self.answer(member, &member.silence.writes, Patience::Patient, write).await?
    }

    /// `without_room` is kept by the write until it is done.
    async fn wait_for_room<'a>(&'a self, without_room: &mut Option<WithoutRoom<'a>>) {
        let retry = self.room_retry.notified();
        without_room.get_or_insert_with(|| WithoutRoom::of(&self.out_of_room));
        self.room_lacking.notify_waiters();
        retry.await;
    }

    /// Writes sectors of one column anew, where they are, and reads them back. True: they are what
    /// was written. A drive that refuses is not given up: it may be good for all else.
    pub async fn rewrite_sectors(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: Range<u32>,
        bytes: Bytes,
    ) -> bool {
        let addr = geometry.columns[column];
        let _writing = self.reconstruct_cache.writing(addr, sectors.clone());
        for _ in 0..WRITE_TRIES {
            let Some(member) = self.working(addr.drive) else { return false };
            let offset = member.layout().offset(addr.chunk, sectors.start * SECTOR_BYTES as u32);
            match self.write(&member, offset, bytes.clone(), Durability::Stable).await {
                Ok(()) => {}
                Err(DeviceError::Gone) => self.give_up(addr.drive, DeviceError::Gone),
                Err(_) => continue,
            }
            let read = self.read_sectors(geometry, column, &sectors).await;
            if read.is_ok_and(|read| read[..] == bytes[..]) {
                return true;
            }
        }
        false
    }

    /// Writes outside the chunks: one drive's own copy of something. A drive that fails is given
    /// up.
    pub async fn write_raw(
        &self,
        drive: DriveId,
        offset: u64,
        bytes: Bytes,
        durability: Durability,
    ) {
        let mut without_room = None;
        loop {
            let Some(member) = self.working(drive) else { return };
            match self.write(&member, offset, bytes.clone(), durability).await {
                Ok(()) => return,
                Err(DeviceError::NoSpace { .. }) => self.wait_for_room(&mut without_room).await,
                Err(error) => self.give_up(drive, error),
            }
        }
    }

    /// Makes what was written to a drive durable. A drive that fails is given up.
    pub async fn flush(&self, drive: DriveId) {
        let Some(member) = self.working(drive) else { return };
        let flushed = self
            .answer(&member, &member.silence.writes, Patience::Patient, member.device.flush())
            .await;
        if let Err(error) = flushed.and_then(|flushed| flushed) {
            self.give_up(drive, error);
        }
    }
}

#[cfg(test)]
mod tests;
