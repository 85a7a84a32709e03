//! Fragments back to blocks and pages.

use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, copies};
use ashlar_format::dictionary::take_head;
use ashlar_format::ids::DictionaryNumber;
use ashlar_format::location::Codec;

use crate::base::zstd::{self, Dictionary};

/// The page that a stored fragment holds.
pub fn decompress_page(stored: &[u8], codec: Codec) -> Option<Vec<u8>> {
    match codec {
        Codec::Raw => Some(stored.to_vec()),
        Codec::Lz4 => {
            let (length, rest) = stored.split_first_chunk()?;
            let length = usize::from(u16::from_le_bytes(*length));
            lz4_flex::block::decompress(rest, length).ok().filter(|page| page.len() == length)
        }
        // Pages are read far more often than they are written.
        Codec::Zstd | Codec::Named => None,
    }
}

/// Writes the block that a stored fragment holds to `out`, which is one block long. False if the
/// fragment, though its checksum is right, is not one, or if `dictionary` does not have its
/// dictionary.
pub fn decompress_block(
    stored: &[u8],
    codec: Codec,
    dictionary: impl FnOnce(DictionaryNumber) -> Option<Rc<Dictionary>>,
    out: &mut [u8],
) -> bool {
    match codec {
        Codec::Raw if stored.len() == out.len() => {
            out.copy_from_slice(stored);
            copies::note(out.len());
            true
        }
        Codec::Raw => false,
        Codec::Lz4 => {
            lz4_flex::block::decompress_into(stored, out).is_ok_and(|bytes| bytes == out.len())
        }
        Codec::Zstd => zstd::decompress(stored, out) == Some(out.len()),
        Codec::Named => take_head(stored).is_some_and(|(number, frame)| {
            let decompress = |it: Rc<Dictionary>| it.decompress(frame, out);
            dictionary(number).and_then(decompress) == Some(BLOCK_BYTES)
        }),
    }
}
