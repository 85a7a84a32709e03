//! Reading blocks.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, Cause, DriveId, IoError, Lba, World};
use ashlar_raid::{Geometry, ReadError, Source};
use futures_util::future::try_join_all;
use smallvec::SmallVec;

use crate::compress::decompress_block;
use crate::format::codec::crc32c;
use crate::format::location::{Codec, Location, Pointer};
use crate::lookup::map_unreadable;
use crate::pool::Pool;
use crate::segments::{Pin, pin};
use crate::types::{Family, Key, Layer};

/// Sectors of one drive read, at most.
const READ_SECTORS_MAX: u32 = 256;
/// Drive reads of a command that are listed without an allocation.
const READINGS_INLINE: usize = 8;

/// A block that is stored somewhere, and cannot go away while this lives.
pub(crate) struct Found {
    /// Which block of the command.
    index: usize,
    pointer: Pointer,
    geometry: Rc<Geometry>,
    _pin: Pin,
}

impl<W: World> Pool<W> {
    /// The blocks from `lba` on; those that were never written read as zeros.
    pub async fn read(
        &self,
        family: Family,
        layer: Layer,
        lba: Lba,
        count: usize,
    ) -> Result<AlignedBuf, IoError> {
        let mut found = self.lists.found.list();
        let looked = self.lookup_all(Key { family, lba, layer }, count, &mut found, |index, value| {
            value.map(|pointer| self.found(index, pointer))
        });
        looked.await.map_err(map_unreadable)?;
        self.count(|counters| counters.blocks_read += count as u64);
        if let ([only], 1) = (&found[..], count)
            && is_whole_sector(only.pointer.location)
        {
            return self.read_neighbours(&found).await.map_err(|error| unrecovered(only, error));
        }
        let out = RefCell::new(AlignedBuf::stale(count * BLOCK_BYTES));
        fill_gaps(&mut out.borrow_mut(), &found);
        found.sort_unstable_by_key(|block| block.pointer.location);
        let groups: SmallVec<[&[Found]; READINGS_INLINE]> = readings(&found).collect();
        match groups[..] {
            [only] => self.fetch(only, &out).await?,
            _ => drop(try_join_all(groups.iter().map(|blocks| self.fetch(blocks, &out))).await?),
        }
        Ok(out.into_inner())
    }

    fn found(&self, index: usize, pointer: Pointer) -> Found {
        let (pin, geometry) = pin(&self.segments, pointer.location.segment())
            .unwrap_or_else(|| panic!("the map names {:?}, whose segment is gone", pointer.location));
        Found { index, pointer, geometry, _pin: pin }
    }

    /// Reads neighbours in one column, and puts them where they belong in the command's answer.
    async fn fetch(&self, blocks: &[Found], out: &RefCell<AlignedBuf>) -> Result<(), IoError> {
        let first = &blocks[0];
        match self.read_neighbours(blocks).await {
            Ok(sectors) => {
                let start = first.pointer.location.sectors().start;
                let stored = |block: &Found| &sectors[stored_range(start, block.pointer.location)];
                blocks.iter().try_for_each(|block| unpack(block, stored(block), &mut out.borrow_mut()))
            }
            // Each may be readable in a way of its own, where all together are not.
            Err(_) if blocks.len() > 1 => {
                for block in blocks {
                    let stored = self.read_fragment(block.pointer).await?;
                    unpack(block, &stored, &mut out.borrow_mut())?;
                }
                Ok(())
            }
            Err(error) => Err(unrecovered(first, error)),
        }
    }

    /// The sectors of neighbours in one column.
    async fn read_neighbours(&self, blocks: &[Found]) -> Result<AlignedBuf, ReadError> {
        let (geometry, location) = (&blocks[0].geometry, blocks[0].pointer.location);
        let sectors = sectors_of(blocks);
        let right = |read: &[u8]| blocks.iter().all(|block| is_right(read, sectors.start, block.pointer));
        let read = self.array.read_checked(geometry, location.column(), sectors.clone(), right).await;
        self.note_read(blocks.len() as u64, &read.as_ref().map(|(_, source)| *source));
        let (read, source) = read?;
        self.heal_after(geometry, location, source);
        if source == Source::Lie {
            self.tell_of_lie(geometry.columns[location.column()].drive);
        }
        Ok(read)
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

fn is_right(sectors: &[u8], first_sector: u32, pointer: Pointer) -> bool {
    crc32c(&sectors[stored_range(first_sector, pointer.location)]) == pointer.crc
}

/// Puts a block that is stored as `stored` to its place in the command's answer.
fn unpack(block: &Found, stored: &[u8], out: &mut [u8]) -> Result<(), IoError> {
    let (location, place) = (block.pointer.location, &mut out[block.index * BLOCK_BYTES..][..BLOCK_BYTES]);
    if decompress_block(stored, location.codec(), place) {
        return Ok(());
    }
    Err(IoError::new(Cause::Internal, format!("{location:?} has the right checksum but is no block")))
}

fn unrecovered(block: &Found, error: ReadError) -> IoError {
    IoError::new(Cause::Unrecovered, format!("{:?}: {error}", block.pointer.location))
}

/// Zeros the blocks of a command that are not among those that were found, which are in order.
fn fill_gaps(out: &mut [u8], found: &[Found]) {
    let mut found = found.iter().map(|block| block.index).peekable();
    for (index, block) in out.chunks_exact_mut(BLOCK_BYTES).enumerate() {
        if found.next_if_eq(&index).is_none() {
            block.fill(0);
        }
    }
}

/// Whether a sector is the block as hosts know it.
fn is_whole_sector(location: Location) -> bool {
    location.codec() == Codec::Raw && location.within_sectors() == (0..BLOCK_BYTES)
}

/// The sectors of neighbours.
fn sectors_of(blocks: &[Found]) -> Range<u32> {
    let end = blocks.iter().map(|block| block.pointer.location.sectors().end).max();
    let start = blocks[0].pointer.location.sectors().start;
    start..end.unwrap_or(start)
}

/// How many of the first blocks, which are in the order of their locations, are read at once: their sectors touch.
fn neighbours(blocks: &[Found]) -> usize {
    let Some(first) = blocks.first() else { return 0 };
    let (segment, column) = (first.pointer.location.segment(), first.pointer.location.column());
    let mut read = first.pointer.location.sectors();
    let touches = |block: &&Found| {
        let location = block.pointer.location;
        let sectors = location.sectors();
        let touches = (location.segment(), location.column()) == (segment, column)
            && (read.start..=read.end).contains(&sectors.start)
            && sectors.end - read.start <= READ_SECTORS_MAX;
        read.end = read.end.max(sectors.end);
        touches
    };
    blocks.iter().take_while(touches).count()
}

/// Blocks in the order of their locations, in groups of neighbours.
fn readings(mut blocks: &[Found]) -> impl Iterator<Item = &[Found]> {
    std::iter::from_fn(move || {
        let (first, rest) = blocks.split_at(neighbours(blocks));
        blocks = rest;
        (!first.is_empty()).then_some(first)
    })
}
