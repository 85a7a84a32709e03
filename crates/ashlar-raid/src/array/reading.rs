//! Reading a column: from its own drive, or from the others where that is lost, refuses, returns
//! wrong bytes or is slow.

use std::ops::Range;
use std::time::Duration;

use ashlar_block::{AlignedBuf, Device, DeviceError, DriveId, Nanos, SECTOR_BYTES, copies};
use futures_util::future::join_all;

use super::answers::Patience;
use super::reconstruct_cache::Next;
use super::{Array, Member, ReadError, Source};
use crate::geometry::{ColumnMask, Geometry};
use crate::parity;
use crate::slow::{WINDOW, slow_ones};
use crate::ways::{Recipes, Ways, choices};

/// Most sectors of a read that is tried sector by sector: fragments and headers have no more.
const PIECEWISE_SECTORS_MAX: usize = 3;
/// Bytes that are summed, in one turn, to find a way in which a column can be had: all 1,771 ways
/// of one block of 20+4.
const SUMMED_BYTES_MAX: usize = 160 << 20;
/// Ways that are tried in any case.
const WAYS_MIN: usize = 8;

/// How often reads have tried to make a column of others, and how long they computed for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reconstructions {
    /// Times.
    pub count: u64,
    /// All together, by the clock of the array: none if it has none. Nothing else goes on on the
    /// thread meanwhile, but the machine may have taken the processor away.
    pub took: Duration,
}

/// What a refused read says of its drive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// That it has one more fault.
    News,
    /// Nothing: a larger read of the same place was refused before, and one bad place is one fault,
    /// however large it is.
    Known,
}

impl<D: Device> Array<D> {
    /// Reads sectors `sectors` (within the chunk) of one column, from its drive or reconstructed,
    /// so that `check` accepts them.
    pub async fn read_checked(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: Range<u32>,
        check: impl Fn(&[u8]) -> bool,
    ) -> Result<(AlignedBuf, Source), ReadError> {
        let source = match self.read_own(geometry, column, &sectors, &check).await {
            Ok((buf, Source::Spared)) => return Ok((buf, Source::Spared)),
            Ok((buf, _)) if check(&buf) => return Ok((buf, Source::Direct)),
            Ok(_) => Source::Corrupt,
            Err(_) => Source::Missing,
        };
        let buf =
            match self.read_around(geometry, column, &sectors, Patience::Patient, &check).await {
                Err(error) if (2..=PIECEWISE_SECTORS_MAX).contains(&(sectors.len())) => {
                    self.read_piecewise(geometry, column, &sectors, &check).await.ok_or(error)?
                }
                read => read?,
            };
        if source == Source::Missing {
            self.reconstruct_cache.begin();
        }
        if source == Source::Corrupt {
            self.note_corrupt_reads(geometry.columns[column].drive, 1);
        }
        Ok((buf, source))
    }

    /// The column from its own drive, unchecked; or from others while that drive is slow or silent,
    /// if `check` accepts those.
    async fn read_own(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
        check: impl Fn(&[u8]) -> bool,
    ) -> Result<(AlignedBuf, Source), DeviceError> {
        let drive = geometry.columns[column].drive;
        let around = || self.read_around(geometry, column, sectors, Patience::Prompt, &check);
        let is_known_silent = self.is_silent(drive);
        if self.is_spared(drive)
            && let Ok(buf) = around().await
        {
            return Ok((buf, Source::Spared));
        }
        // Others have been asked already.
        let patience = if is_known_silent { Patience::Patient } else { Patience::Prompt };
        match self.read_or_remember(geometry, column, sectors, patience).await {
            Err(DeviceError::TimedOut) => {}
            direct => return Ok((direct?, Source::Direct)),
        }
        if let Ok(buf) = around().await {
            return Ok((buf, Source::Spared));
        }
        let direct = self.read_or_remember(geometry, column, sectors, Patience::Patient).await?;
        Ok((direct, Source::Direct))
    }

    /// One column's sectors from its own drive.
    pub async fn read_sectors(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
    ) -> Result<AlignedBuf, DeviceError> {
        self.read_with(geometry, column, sectors, Patience::Patient, Refusal::News).await
    }

    /// Sectors of one column, one by one, that its drive has refused to read at once; `None` for
    /// those that it refuses again.
    pub async fn read_each(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: Range<u32>,
    ) -> Vec<Option<AlignedBuf>> {
        let mut each = Vec::with_capacity(sectors.len());
        for row in sectors {
            let one = row..row + 1;
            let read = self.read_with(geometry, column, &one, Patience::Patient, Refusal::Known);
            each.push(read.await.ok());
        }
        each
    }

    async fn read_with(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
        patience: Patience,
        refusal: Refusal,
    ) -> Result<AlignedBuf, DeviceError> {
        let addr = geometry.columns[column];
        let member = self.working(addr.drive).ok_or(DeviceError::Gone)?;
        let offset = member.layout().offset(addr.chunk, sectors.start * SECTOR_BYTES as u32);
        let buf = AlignedBuf::stale(sectors.len() * SECTOR_BYTES);
        let read =
            self.answer(&member, &member.silence.reads, patience, member.device.read(offset, buf));
        let (result, buf) = self.measured(&member, read).await?;
        if let Err(error) = result {
            member.read_errors.set(member.read_errors.get() + 1);
            match &error {
                DeviceError::Gone => self.give_up(addr.drive, error.clone()),
                _ if refusal == Refusal::News => self.note_fault(&member),
                _ => {}
            }
            return Err(error);
        }
        Ok(buf)
    }

    /// The same, or what is remembered of them.
    pub(super) async fn read_or_remember(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
        patience: Patience,
    ) -> Result<AlignedBuf, DeviceError> {
        let chunk = geometry.columns[column];
        if !self.reconstruct_cache.wants(sectors.len()) || self.working(chunk.drive).is_none() {
            return self.read_with(geometry, column, sectors, patience, Refusal::News).await;
        }
        let mut all = AlignedBuf::stale(sectors.len() * SECTOR_BYTES);
        let mut next = sectors.start;
        let place = |sector: u32| (sector - sectors.start) as usize * SECTOR_BYTES;
        while next < sectors.end {
            match self.reconstruct_cache.next(chunk, next..sectors.end) {
                Next::Here(bytes) => {
                    all[place(next)..][..SECTOR_BYTES].copy_from_slice(&bytes);
                    copies::note(SECTOR_BYTES);
                    next += 1;
                }
                Next::Wait if patience == Patience::Prompt && self.is_silent(chunk.drive) => {
                    return Err(DeviceError::TimedOut);
                }
                Next::Wait => self.reconstruct_cache.arrival().await,
                Next::Read(part) => {
                    let claim = self.reconstruct_cache.claim(chunk, part.clone());
                    let read =
                        self.read_with(geometry, column, &part, patience, Refusal::News).await?;
                    claim.fill(&read);
                    all[place(part.start)..place(part.end)].copy_from_slice(&read);
                    copies::note(read.len());
                    next = part.end;
                }
            }
        }
        Ok(all)
    }

    /// Whether a read should go to others, if they can answer it.
    fn is_spared(&self, drive: DriveId) -> bool {
        self.working(drive)
            .is_some_and(|member| member.silence.reads.is_long() || member.speed.is_spared())
    }

    /// Whether a drive does not answer reads.
    fn is_silent(&self, drive: DriveId) -> bool {
        self.working(drive).is_some_and(|member| member.silence.reads.is_long())
    }

    /// Has the drive read, and now and then looks how long that takes.
    async fn measured<T>(&self, member: &Member<D>, read: impl Future<Output = T>) -> T {
        let Some(clock) = self.clock.as_ref().filter(|_| member.speed.is_measured()) else {
            return read.await;
        };
        let question = member.speed.ask(clock());
        let done = read.await;
        let now = clock();
        question.answered(now);
        if now.since(self.compared_at.get()) >= WINDOW {
            self.compared_at.set(now);
            self.compare(now);
        }
        done
    }

    fn compare(&self, now: Nanos) {
        let members = self.members.borrow();
        let working: Vec<_> =
            members.iter().flatten().filter(|member| member.failure.borrow().is_none()).collect();
        let medians: Vec<_> = working.iter().map(|member| member.speed.median(now)).collect();
        for (member, slow) in working.iter().zip(slow_ones(&medians)) {
            member.speed.judge(slow, now);
        }
    }

    /// All columns' sectors; `Err` where a drive is missing or refuses.
    pub async fn read_all(
        &self,
        geometry: &Geometry,
        sectors: &Range<u32>,
    ) -> Vec<Result<AlignedBuf, DeviceError>> {
        join_all(
            (0..geometry.columns.len()).map(|column| self.read_sectors(geometry, column, sectors)),
        )
        .await
    }

    /// The column from the others: from as many as it takes, and if `check` does not accept that,
    /// in every way that there is with all of them. Drives that do not answer are waited for last,
    /// and only by who is patient.
    async fn read_around(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
        patience: Patience,
        check: impl Fn(&[u8]) -> bool,
    ) -> Result<AlignedBuf, ReadError> {
        let (enough, rest) = self.sources(geometry, column);
        let mut read: Vec<_> = geometry.columns.iter().map(|_| Err(DeviceError::Gone)).collect();
        self.read_columns(geometry, sectors, enough, Patience::Prompt, &mut read).await;
        if let Ok(out) = self.reconstructed(geometry, column, &read, &check) {
            return Ok(out);
        }
        self.read_columns(geometry, sectors, rest, Patience::Prompt, &mut read).await;
        let with_all = self.reconstructed(geometry, column, &read, &check);
        let late: ColumnMask = (0..read.len())
            .filter(|column| matches!(read[*column], Err(DeviceError::TimedOut)))
            .collect();
        if with_all.is_ok() || patience == Patience::Prompt || late.count() == 0 {
            return with_all;
        }
        self.read_columns(geometry, sectors, late, Patience::Patient, &mut read).await;
        self.reconstructed(geometry, column, &read, check)
    }

    /// As the function of that name, counted and timed.
    fn reconstructed(
        &self,
        geometry: &Geometry,
        column: usize,
        others: &[Result<AlignedBuf, DeviceError>],
        check: impl Fn(&[u8]) -> bool,
    ) -> Result<AlignedBuf, ReadError> {
        self.timed_reconstruction(|| reconstructed(geometry, column, others, check))
    }

    /// What `reconstruct` makes of columns that are in memory, whether or not it succeeds, as one
    /// more of [`Array::reconstructions`], with what passed meanwhile by the clock of the array.
    fn timed_reconstruction<T>(&self, reconstruct: impl FnOnce() -> T) -> T {
        let now = || self.clock.as_ref().map_or(Nanos(0), |clock| clock());
        let began = now();
        let done = reconstruct();
        let Reconstructions { count, took } = self.reconstructions.get();
        let took = took + now().since(began);
        self.reconstructions.set(Reconstructions { count: count + 1, took });
        done
    }

    /// What reads have made of other columns since the array is there.
    pub fn reconstructions(&self) -> Reconstructions {
        self.reconstructions.get()
    }

    /// Which others a column is best made of, and which are left: drives that are lost, and slow
    /// ones, come last.
    fn sources(&self, geometry: &Geometry, column: usize) -> (ColumnMask, ColumnMask) {
        let missing = self.missing(geometry);
        let others = (0..geometry.columns.len()).filter(|other| *other != column);
        let is_slow = |other: &usize| {
            self.working(geometry.columns[*other].drive).is_some_and(|member| member.reads_slowly())
        };
        let present = others.clone().filter(|other| !missing.has(*other));
        let (slow, prompt): (Vec<usize>, Vec<usize>) = present.partition(is_slow);
        let enough: ColumnMask = prompt.into_iter().chain(slow).take(geometry.data()).collect();
        (enough, others.filter(|other| !enough.has(*other)).collect())
    }

    /// Puts the sectors of `wanted` columns into `read`, remembered or read; `Err` where a drive is
    /// missing or refuses.
    async fn read_columns(
        &self,
        geometry: &Geometry,
        sectors: &Range<u32>,
        wanted: ColumnMask,
        patience: Patience,
        read: &mut [Result<AlignedBuf, DeviceError>],
    ) {
        let one = |column| async move {
            (column, self.read_or_remember(geometry, column, sectors, patience).await)
        };
        for (column, came) in
            join_all((0..read.len()).filter(|column| wanted.has(*column)).map(one)).await
        {
            read[column] = came;
        }
    }

    /// The column sector by sector, each from its own drive or from others, in every way that there
    /// is until `check` accepts all together: neighbouring rows may have lost different columns.
    async fn read_piecewise(
        &self,
        geometry: &Geometry,
        column: usize,
        sectors: &Range<u32>,
        check: impl Fn(&[u8]) -> bool,
    ) -> Option<AlignedBuf> {
        let mut rows = Vec::new();
        for row in sectors.clone() {
            rows.push(self.read_row(geometry, row).await);
        }
        let recipes = Recipes::new(geometry.data(), column);
        let mut ways = Ways::new(&recipes);
        for row in &rows {
            ways.add_row(row.iter().map(|sector| sector.as_deref().unwrap_or_default()));
        }
        self.timed_reconstruction(|| ways.find(check)).map(|bytes| AlignedBuf::copy_of(&bytes))
    }

    /// One sector of each column.
    async fn read_row(
        &self,
        geometry: &Geometry,
        row: u32,
    ) -> Vec<Result<AlignedBuf, DeviceError>> {
        let one = row..row + 1;
        let columns = 0..geometry.columns.len();
        let read =
            |column| self.read_with(geometry, column, &one, Patience::Patient, Refusal::Known);
        join_all(columns.map(read)).await
    }
}

/// A column made of others that were read, in every way that there is until `check` accepts one; of
/// a long read in the likeliest ways only. Its caller asks again for each fragment.
fn reconstructed(
    geometry: &Geometry,
    column: usize,
    others: &[Result<AlignedBuf, DeviceError>],
    check: impl Fn(&[u8]) -> bool,
) -> Result<AlignedBuf, ReadError> {
    let readable: ColumnMask = (0..others.len()).filter(|other| others[*other].is_ok()).collect();
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
    let columns: Vec<&[u8]> =
        others.iter().map(|read| read.as_deref().unwrap_or_default()).collect();
    let bytes = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    let mut out = AlignedBuf::zeroed(bytes);
    let ways_max = (SUMMED_BYTES_MAX / (bytes * geometry.data()).max(1)).max(WAYS_MIN);
    for sources in choices(readable, geometry.data()).take(ways_max) {
        parity::reconstruct(geometry.data(), sources, &columns, &[column], &mut [&mut out]);
        if check(&out) {
            return Ok(out);
        }
    }
    Err(ReadError::Wrong { column })
}
