//! The member drives as an array: rows are written to all columns, a column is read from anywhere.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Device, DeviceError, DriveId, Durability, SECTOR_BYTES};
use bytes::Bytes;
use futures_util::future::{join_all, join3, join4};
use tokio::sync::Notify;

use crate::geometry::{COLUMNS_MAX, ChunkAddr, ColumnMask, DriveLayout, Geometry};
use crate::parity;

/// Times that a column write is tried before its drive is given up.
const WRITE_TRIES: usize = 2;

/// Most sectors of a read that is tried sector by sector: fragments and headers have no more.
const PIECEWISE_SECTORS_MAX: usize = 3;

/// A member drive that is being used.
pub struct Member<D> {
    /// The drive.
    pub device: D,
    /// Where its chunks lie.
    pub layout: DriveLayout,
    failure: RefCell<Option<DeviceError>>,
    read_errors: Cell<u64>,
    lies: Cell<u64>,
}

impl<D> Member<D> {
    /// A member that works.
    pub fn new(device: D, layout: DriveLayout) -> Self {
        Member { device, layout, failure: RefCell::new(None), read_errors: Cell::new(0), lies: Cell::new(0) }
    }

    /// Why the drive was given up, if it was.
    pub fn failure(&self) -> Option<DeviceError> {
        self.failure.borrow().clone()
    }

    /// Reads that the drive refused.
    pub fn read_errors(&self) -> u64 {
        self.read_errors.get()
    }

    /// Times that the drive gave wrong bytes.
    pub fn lies(&self) -> u64 {
        self.lies.get()
    }

    /// It was seen to give wrong bytes, so many times.
    pub fn note_lies(&self, times: u64) {
        self.lies.set(self.lies.get() + times);
    }
}

/// The members of a pool. A drive that is given up stays in it, unused, until its owner removes it.
pub struct Array<D> {
    members: RefCell<Vec<Option<Rc<Member<D>>>>>,
    changed: Notify,
    out_of_room: Cell<bool>,
    /// Rung when a write finds no room.
    room_lacking: Notify,
    /// Rung when writes that found no room may try again.
    room_retry: Notify,
}

/// Columns that were not written because their drive is gone. Whoever acknowledges the write makes that
/// absence durable first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct MissingColumns(pub ColumnMask);

/// More columns are missing than there is parity: the rows are not safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} columns could not be written, and only {parity} may be missing", missing.count())]
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
    #[error("column {column} cannot be read: {available} of {needed} columns are readable ({last})")]
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
    #[error("column {column} reads wrong, and so does every reconstruction of it")]
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
    Lie,
}

impl<D: Device> Array<D> {
    /// An array of these members, by drive id.
    pub fn new(members: Vec<Option<Rc<Member<D>>>>) -> Self {
        Array {
            members: RefCell::new(members),
            changed: Notify::new(),
            out_of_room: Cell::new(false),
            room_lacking: Notify::new(),
            room_retry: Notify::new(),
        }
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
        let (mut members, index) = (self.members.borrow_mut(), usize::from(drive.0));
        if members.len() <= index {
            members.resize_with(index + 1, || None);
        }
        assert!(members[index].replace(Rc::new(member)).is_none(), "{drive} is a member already");
    }

    /// The drive is no member any more. Its device is free once what goes on with it has ended.
    pub fn remove(&self, drive: DriveId) {
        if let Some(member) = self.members.borrow_mut().get_mut(usize::from(drive.0)) {
            *member = None;
        }
    }

    /// The member, working or not.
    pub fn member(&self, drive: DriveId) -> Option<Rc<Member<D>>> {
        self.members.borrow().get(usize::from(drive.0)).cloned().flatten()
    }

    /// Drives that are there and have not been given up.
    pub fn working_drives(&self) -> Vec<DriveId> {
        let count = self.members.borrow().len() as u16;
        (0..count).map(DriveId).filter(|drive| self.working(*drive).is_some()).collect()
    }

    /// How many drives are used.
    pub fn working_count(&self) -> usize {
        self.members.borrow().iter().flatten().filter(|member| member.failure.borrow().is_none()).count()
    }

    /// Gives a drive up: it is not used any more, and [`Array::changed`] returns.
    pub fn give_up(&self, drive: DriveId, why: DeviceError) {
        let Some(member) = self.working(drive) else { return };
        *member.failure.borrow_mut() = Some(why);
        self.changed.notify_one();
    }

    /// Returns when a drive has been given up since the last time it did.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The file system under a file-backed drive is full: writes are being repeated until it is not.
    pub fn out_of_room(&self) -> bool {
        self.out_of_room.get()
    }

    /// Returns once the file system under a file-backed drive is full.
    pub async fn lacks_room(&self) {
        loop {
            let lacking = self.room_lacking.notified();
            if self.out_of_room.get() {
                return;
            }
            lacking.await;
        }
    }

    /// Lets the writes that found no room try again.
    pub fn retry_for_room(&self) {
        self.out_of_room.set(false);
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

    /// Writes rows from `row` on: `columns` gives the bytes of every column, parity included. Returns when all
    /// that could be written is on stable media.
    ///
    /// Twelve columns at once, which is more than most stripes have.
    ///
    /// A column write that fails is repeated with the same bytes; if it fails again the drive is given up. One
    /// that finds no room under a file-backed drive is repeated until there is room.
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
                if !self.write_chunk(geometry.columns[index], row, bytes).await {
                    missing.set(missing.get().with(index));
                }
            }
        };
        let four = || join4(lane(), lane(), lane(), lane());
        join3(four(), four(), four()).await;
        let (missing, parity) = (missing.get(), geometry.parity());
        if missing.count() > parity { Err(Unsafe { missing, parity }) } else { Ok(MissingColumns(missing)) }
    }

    /// Writes rows of one chunk from `row` on. True: they are on stable media. False: the drive is lost, now or before.
    ///
    /// Errors and want of room are treated as in [`Array::write_rows`].
    pub async fn write_chunk(&self, column: ChunkAddr, row: u32, bytes: Bytes) -> bool {
        let mut tries = 0;
        loop {
            let Some(member) = self.working(column.drive) else { return false };
            let offset = member.layout.offset(column.chunk, row * SECTOR_BYTES as u32);
            match member.device.write(offset, bytes.clone(), Durability::Stable).await {
                Ok(()) => return member.failure.borrow().is_none(),
                Err(DeviceError::NoSpace { .. }) => self.wait_for_room().await,
                Err(error) => {
                    tries += 1;
                    if tries == WRITE_TRIES || error == DeviceError::Gone {
                        self.give_up(column.drive, error);
                    }
                }
            }
        }
    }

    async fn wait_for_room(&self) {
        let retry = self.room_retry.notified();
        self.out_of_room.set(true);
        self.room_lacking.notify_waiters();
        retry.await;
    }

    /// Writes sectors of one column anew, where they are, and reads them back. True: they are what was written. A drive that
    /// refuses is not given up: it may be good for all else.
    pub async fn rewrite_sectors(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: Range<u32>,
        bytes: Bytes,
    ) -> bool {
        let addr = geometry.columns[column];
        for _ in 0..WRITE_TRIES {
            let Some(member) = self.working(addr.drive) else { return false };
            let offset = member.layout.offset(addr.chunk, sectors.start * SECTOR_BYTES as u32);
            match member.device.write(offset, bytes.clone(), Durability::Stable).await {
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

    /// Writes outside the chunks: one drive's own copy of something. A drive that fails is given up.
    pub async fn write_raw(&self, drive: DriveId, offset: u64, bytes: Bytes, durability: Durability) {
        loop {
            let Some(member) = self.working(drive) else { return };
            match member.device.write(offset, bytes.clone(), durability).await {
                Ok(()) => return,
                Err(DeviceError::NoSpace { .. }) => self.wait_for_room().await,
                Err(error) => self.give_up(drive, error),
            }
        }
    }

    /// Makes what was written to a drive durable. A drive that fails is given up.
    pub async fn flush(&self, drive: DriveId) {
        let Some(member) = self.working(drive) else { return };
        if let Err(error) = member.device.flush().await {
            self.give_up(drive, error);
        }
    }

    /// Reads sectors `sectors` (within the chunk) of one column, from its drive or reconstructed, so that
    /// `check` accepts them.
    pub async fn read_checked(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: Range<u32>,
        check: impl Fn(&[u8]) -> bool,
    ) -> Result<(AlignedBuf, Source), ReadError> {
        let direct = self.read_sectors(geometry, column, &sectors).await;
        let source = match direct {
            Ok(buf) if check(&buf) => return Ok((buf, Source::Direct)),
            Ok(_) => Source::Lie,
            Err(_) => Source::Missing,
        };
        let buf = match self.read_around(geometry, column, &sectors, &check).await {
            Err(error) if (2..=PIECEWISE_SECTORS_MAX).contains(&(sectors.len())) => {
                self.read_piecewise(geometry, column, &sectors, &check).await.ok_or(error)?
            }
            read => read?,
        };
        if source == Source::Lie
            && let Some(member) = self.member(geometry.columns[column].drive)
        {
            member.note_lies(1);
        }
        Ok((buf, source))
    }

    /// One column's sectors from its own drive.
    pub async fn read_sectors(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
    ) -> Result<AlignedBuf, DeviceError> {
        let addr = geometry.columns[column];
        let member = self.working(addr.drive).ok_or(DeviceError::Gone)?;
        let offset = member.layout.offset(addr.chunk, sectors.start * SECTOR_BYTES as u32);
        let buf = AlignedBuf::stale(sectors.len() * SECTOR_BYTES);
        let (result, buf) = member.device.read(offset, buf).await;
        if let Err(error) = result {
            member.read_errors.set(member.read_errors.get() + 1);
            if error == DeviceError::Gone {
                self.give_up(addr.drive, error.clone());
            }
            return Err(error);
        }
        Ok(buf)
    }

    /// All columns' sectors; `Err` where a drive is missing or refuses.
    pub async fn read_all(
        &self,
        geometry: &Geometry,
        sectors: &Range<u32>,
    ) -> Vec<Result<AlignedBuf, DeviceError>> {
        join_all((0..geometry.columns.len()).map(|column| self.read_sectors(geometry, column, sectors))).await
    }

    /// The column from the others, in every way that there is until `check` accepts one.
    async fn read_around(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
        check: impl Fn(&[u8]) -> bool,
    ) -> Result<AlignedBuf, ReadError> {
        let reads = (0..geometry.columns.len()).map(|other| async move {
            if other == column {
                Err(DeviceError::Gone)
            } else {
                self.read_sectors(geometry, other, sectors).await
            }
        });
        let others = join_all(reads).await;
        let mut readable = ColumnMask::default();
        (0..others.len()).filter(|other| others[*other].is_ok()).for_each(|other| readable.add(other));
        if readable.count() < geometry.data() {
            let last = others.iter().enumerate().rev().find_map(|(index, read)| match read {
                Err(error) if index != column => Some(error.clone()),
                _ => None,
            });
            return Err(ReadError::TooFewColumns {
                column,
                available: readable.count(),
                needed: geometry.data(),
                last: last.unwrap_or(DeviceError::Gone),
            });
        }
        let columns: Vec<&[u8]> = others.iter().map(|read| read.as_deref().unwrap_or_default()).collect();
        let mut out = AlignedBuf::zeroed(sectors.len() * SECTOR_BYTES);
        for sources in choices(readable, geometry.data()) {
            parity::reconstruct(geometry.data(), sources, &columns, column, &mut out);
            if check(&out) {
                return Ok(out);
            }
        }
        Err(ReadError::Wrong { column })
    }

    /// The column sector by sector, each from its own drive or from others, in every way that there is until `check`
    /// accepts all together: neighbouring rows may have lost different columns.
    async fn read_piecewise(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
        check: impl Fn(&[u8]) -> bool,
    ) -> Option<AlignedBuf> {
        let mut whole: Vec<Vec<u8>> = vec![Vec::new()];
        for row in sectors.clone() {
            let variants = self.sector_variants(geometry, column, row).await;
            let with = |start: &Vec<u8>| {
                variants.iter().map(|sector| [start.as_slice(), sector].concat()).collect::<Vec<_>>()
            };
            whole = whole.iter().flat_map(with).collect();
        }
        whole.into_iter().find(|bytes| check(bytes)).map(|bytes| AlignedBuf::copy_of(&bytes))
    }

    /// Every way to have one sector: as it is, then reconstructed.
    async fn sector_variants(&self, geometry: &Geometry, column: usize, row: u32) -> Vec<Vec<u8>> {
        let read = self.read_all(geometry, &(row..row + 1)).await;
        let mut others = ColumnMask::default();
        (0..read.len()).filter(|o| *o != column && read[*o].is_ok()).for_each(|other| others.add(other));
        let columns: Vec<&[u8]> = read.iter().map(|sector| sector.as_deref().unwrap_or_default()).collect();
        let reconstructed = choices(others, geometry.data()).map(|sources| {
            let mut out = vec![0; SECTOR_BYTES];
            parity::reconstruct(geometry.data(), sources, &columns, column, &mut out);
            out
        });
        read[column].iter().map(|sector| sector.to_vec()).chain(reconstructed).collect()
    }
}

/// Every choice of `count` columns among `readable`; none if there are fewer.
pub fn choices(readable: ColumnMask, count: usize) -> impl Iterator<Item = ColumnMask> {
    let columns: Vec<usize> = (0..COLUMNS_MAX).filter(|column| readable.has(*column)).collect();
    let left_out = columns.len().checked_sub(count).map(|extra| subsets(columns.len(), extra));
    left_out.into_iter().flatten().map(move |left_out| {
        let mut mask = ColumnMask::default();
        (0..columns.len()).filter(|nth| left_out >> nth & 1 == 0).for_each(|nth| mask.add(columns[nth]));
        mask
    })
}

/// All sets of `size` of the numbers below `of`, as bits, in ascending order (Knuth, TAOCP 4A, 7.1.3: the next
/// larger word with as many ones).
fn subsets(of: usize, size: usize) -> impl Iterator<Item = u64> {
    let next = |set: &u64| {
        let lowest = set & set.wrapping_neg();
        let ripple = set + lowest;
        (lowest > 0).then(|| ripple | (((set ^ ripple) >> 2) / lowest))
    };
    std::iter::successors(Some((1u64 << size) - 1), next).take_while(move |set| *set < 1 << of)
}

#[cfg(test)]
mod tests;
