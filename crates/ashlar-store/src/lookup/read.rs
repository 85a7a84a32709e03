//! Reading blocks.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, Cause, IoError, Lba, World};
use ashlar_format::dictionary::take_head;
use ashlar_format::ids::{DictionaryNumber, Family, Key, Layer};
use ashlar_format::location::{Codec, Location, Pointer};
use ashlar_raid::Geometry;
use futures_util::future::try_join_all;
use smallvec::SmallVec;

use crate::base::zstd::Dictionary;
use crate::lookup::map_unreadable;
use crate::pool::Pool;
use crate::reader::decompress::decompress_block;
use crate::reader::neighbours::{Fragments, Stored, groups, range_within};
use crate::space::segments::{Pin, pin};

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

impl Stored for Found {
    fn pointer(&self) -> Pointer {
        self.pointer
    }
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
        let mut found = self.writer.lists.found.list();
        let looked =
            self.lookup_all(Key { family, lba, layer }, count, &mut found, |index, value| {
                value.map(|pointer| self.found(index, pointer))
            });
        looked.await.map_err(map_unreadable)?;
        self.count(|counters| counters.hosts.blocks_read += count as u64);
        if let ([only], 1) = (&found[..], count)
            && is_whole_sector(only.pointer.location)
        {
            return self
                .read_neighbours(&only.geometry, &found)
                .await
                .map_err(|error| self.unrecovered(only.pointer.location, &error));
        }
        let out = RefCell::new(AlignedBuf::stale(count * BLOCK_BYTES));
        fill_gaps(&mut out.borrow_mut(), &found);
        found.sort_unstable_by_key(|block| block.pointer.location);
        let groups: SmallVec<[&[Found]; READINGS_INLINE]> = groups(&found, 0).collect();
        match groups[..] {
            [only] => self.fetch(only, &out).await?,
            _ => drop(try_join_all(groups.iter().map(|blocks| self.fetch(blocks, &out))).await?),
        }
        Ok(out.into_inner())
    }

    fn found(&self, index: usize, pointer: Pointer) -> Found {
        let (pin, geometry) =
            pin(&self.space.segments, pointer.location.segment()).unwrap_or_else(|| {
                panic!("the map names {:?}, whose segment is gone", pointer.location)
            });
        Found { index, pointer, geometry, _pin: pin }
    }

    /// Reads neighbours in one column, and puts them where they belong in the command's answer.
    async fn fetch(&self, blocks: &[Found], out: &RefCell<AlignedBuf>) -> Result<(), IoError> {
        let dictionary = |number| self.dictionary(number);
        match self.read_fragments(&blocks[0].geometry, blocks).await? {
            Fragments::Together(sectors) => {
                let stored = |block: &Found| &sectors[range_within(blocks, block.pointer.location)];
                blocks.iter().try_for_each(|block| {
                    unpack(block, stored(block), dictionary, &mut out.borrow_mut())
                })
            }
            Fragments::Each(stored) => {
                let mut each = blocks.iter().zip(&stored);
                each.try_for_each(|(block, stored)| {
                    let stored = stored.as_ref().map_err(Clone::clone)?;
                    unpack(block, stored, dictionary, &mut out.borrow_mut())
                })
            }
        }
    }
}

/// Puts a block that is stored as `stored` to its place in the command's answer.
fn unpack(
    block: &Found,
    stored: &[u8],
    dictionary: impl FnOnce(DictionaryNumber) -> Option<Rc<Dictionary>>,
    out: &mut [u8],
) -> Result<(), IoError> {
    let (location, place) =
        (block.pointer.location, &mut out[block.index * BLOCK_BYTES..][..BLOCK_BYTES]);
    if decompress_block(stored, location.codec(), dictionary, place) {
        return Ok(());
    }
    let why = match (location.codec(), take_head(stored)) {
        (Codec::Named, Some((number, _))) => format!(" by the dictionary {}", number.0),
        _ => String::new(),
    };
    let error = format!("{location:?} has the right checksum but is no block{why}");
    Err(IoError::new(Cause::Internal, error))
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
