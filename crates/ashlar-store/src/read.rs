//! Reading blocks.

use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, Cause, DriveId, IoError, Lba, World};
use ashlar_raid::{Geometry, Source};
use futures_util::future::try_join_all;
use smallvec::{SmallVec, smallvec};

use crate::compress::decompress_block;
use crate::format::codec::crc32c;
use crate::format::location::{Location, Pointer, SegmentId};
use crate::lookup::map_unreadable;
use crate::pool::Pool;
use crate::segments::{Pin, pin};
use crate::types::{Family, Key, Layer};

/// Sectors of one drive read, at most.
const READ_SECTORS_MAX: u32 = 256;

/// A block that is stored somewhere, and cannot go away while this lives.
struct Found {
    /// Which block of the command.
    index: usize,
    pointer: Pointer,
    geometry: Rc<Geometry>,
    _pin: Pin,
}

/// Fragments that one drive read gets: neighbours in one column.
struct Reading {
    segment: SegmentId,
    column: usize,
    sectors: Range<u32>,
    found: Finds,
}

/// One block is found without an allocation.
type Finds = SmallVec<[Found; 1]>;

impl<W: World> Pool<W> {
    /// The blocks from `lba` on; those that were never written read as zeros.
    pub async fn read(
        &self,
        family: Family,
        layer: Layer,
        lba: Lba,
        count: usize,
    ) -> Result<AlignedBuf, IoError> {
        let mut out = AlignedBuf::stale(count * BLOCK_BYTES);
        let mut found = Finds::new();
        for (index, block) in out.chunks_exact_mut(BLOCK_BYTES).enumerate() {
            match self.find(Key { family, lba: lba.plus(index as u64), layer }, index).await? {
                Some(stored) => found.push(stored),
                None => block.fill(0),
            }
        }
        self.count(|counters| counters.blocks_read += count as u64);
        let mut readings = gather(found);
        let done: SmallVec<[_; 1]> = match (readings.pop(), readings.is_empty()) {
            (Some(only), true) => smallvec![self.fetch(only).await?],
            (last, _) => try_join_all(readings.into_iter().chain(last).map(|reading| self.fetch(reading)))
                .await?
                .into(),
        };
        for (sectors, reading) in &done {
            for fragment in &reading.found {
                let block = &mut out[fragment.index * BLOCK_BYTES..][..BLOCK_BYTES];
                unpack(
                    fragment.pointer,
                    stored_in(sectors, reading.sectors.start, fragment.pointer.location),
                    block,
                )?;
            }
        }
        Ok(out)
    }

    async fn find(&self, key: Key, index: usize) -> Result<Option<Found>, IoError> {
        let found = self.lookup(&key, |value| {
            let pointer = value?;
            let (pin, geometry) = pin(&self.segments, pointer.location.segment())
                .unwrap_or_else(|| panic!("the map names {:?}, whose segment is gone", pointer.location));
            Some(Found { index, pointer, geometry, _pin: pin })
        });
        found.await.map_err(map_unreadable)
    }

    async fn fetch(&self, reading: Reading) -> Result<(AlignedBuf, Reading), IoError> {
        let geometry = reading.found[0].geometry.clone();
        let start = reading.sectors.start;
        let right =
            |sectors: &[u8]| reading.found.iter().all(|fragment| is_right(sectors, start, fragment.pointer));
        let sectors = reading.sectors.clone();
        let read = self.array.read_checked(&geometry, reading.column, sectors, right).await;
        self.note_read(reading.found.len() as u64, &read.as_ref().map(|(_, source)| *source));
        match read {
            Ok((sectors, source)) => {
                if source == Source::Lie {
                    self.tell_of_lie(geometry.columns[reading.column].drive);
                }
                Ok((sectors, reading))
            }
            // Each fragment may be readable in a way of its own, where all together are not.
            Err(_) if reading.found.len() > 1 => {
                let mut buf = AlignedBuf::zeroed(reading.sectors.len() * BLOCK_BYTES);
                for fragment in &reading.found {
                    let stored = self.read_fragment(fragment.pointer).await?;
                    buf[stored_range(start, fragment.pointer.location)].copy_from_slice(&stored);
                }
                Ok((buf, reading))
            }
            Err(error) => Err(IoError::new(
                Cause::Unrecovered,
                format!("{:?}: {error}", reading.found[0].pointer.location),
            )),
        }
    }
}

impl<W: World> Pool<W> {
    /// Says that a drive gives wrong bytes: the first time, and then ever more rarely, because a drive that does so does it
    /// often.
    fn tell_of_lie(&self, drive: DriveId) {
        let lies = self.array.member(drive).map_or(0, |member| member.lies());
        if lies.is_power_of_two() {
            let pool = &self.identity.name;
            tracing::warn!(
                "{drive} of pool {pool} has given wrong bytes {lies} times; they were reconstructed"
            );
        }
    }
}

/// Where a fragment is within the bytes of a read that begins at `first_sector`.
fn stored_range(first_sector: u32, location: Location) -> Range<usize> {
    let base = (location.sectors().start - first_sector) as usize * BLOCK_BYTES;
    let within = location.within_sectors();
    base + within.start..base + within.end
}

fn stored_in(sectors: &[u8], first_sector: u32, location: Location) -> &[u8] {
    &sectors[stored_range(first_sector, location)]
}

fn is_right(sectors: &[u8], first_sector: u32, pointer: Pointer) -> bool {
    crc32c(stored_in(sectors, first_sector, pointer.location)) == pointer.crc
}

fn unpack(pointer: Pointer, stored: &[u8], block: &mut [u8]) -> Result<(), IoError> {
    if decompress_block(stored, pointer.location.codec(), block) {
        return Ok(());
    }
    Err(IoError::new(
        Cause::Internal,
        format!("{:?} has the right checksum but is no block", pointer.location),
    ))
}

/// Joins fragments whose sectors touch into one read.
fn gather(mut found: Finds) -> SmallVec<[Reading; 1]> {
    found.sort_by_key(|fragment| fragment.pointer.location);
    let mut readings: SmallVec<[Reading; 1]> = SmallVec::new();
    for fragment in found {
        let location = fragment.pointer.location;
        let (segment, column, sectors) = (location.segment(), location.column(), location.sectors());
        match readings.last_mut() {
            Some(last)
                if (last.segment, last.column) == (segment, column)
                    && sectors.start <= last.sectors.end
                    && sectors.end - last.sectors.start <= READ_SECTORS_MAX =>
            {
                last.sectors.end = last.sectors.end.max(sectors.end);
                last.found.push(fragment);
            }
            _ => readings.push(Reading { segment, column, sectors, found: smallvec![fragment] }),
        }
    }
    readings
}
