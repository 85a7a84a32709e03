//! Dictionaries: what blocks of a volume have in common, so that a single one compresses further.

use bytes::Bytes;

use crate::codec::{Malformed, Writer};
use crate::fields::{FieldsError, Kept, put_field, take_fields};
use crate::ids::{DictionaryNumber, Family};

const WHAT: &str = "dictionary";

/// Bytes of a dictionary, at most.
pub const DICTIONARY_BYTES_MAX: usize = 128 << 10;

/// Bytes that a fragment of [`Codec::Named`](crate::location::Codec::Named) begins with.
pub const HEAD_BYTES: usize = 5;

/// The code of zstd by a dictionary.
const ZSTD: u8 = 2;

/// A dictionary, as the catalog has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DictionaryEntry {
    /// Whose blocks it was made from.
    pub family: Family,
    /// Blocks that the family had then.
    pub blocks: u64,
    /// What zstd takes (RFC 8878, section 5).
    pub bytes: Bytes,
}

impl DictionaryEntry {
    pub(crate) fn put(&self, w: &mut Writer) {
        put_field(w, 1, |w| w.u32(self.family.0));
        put_field(w, 2, |w| w.u8(ZSTD));
        put_field(w, 3, |w| w.u64(self.blocks));
        put_field(w, 4, |w| w.bytes(&self.bytes));
    }

    pub(crate) fn take(bytes: &[u8]) -> Result<(Self, Kept), FieldsError> {
        let mut family = None;
        let mut entry = DictionaryEntry { family: Family(0), blocks: 0, bytes: Bytes::new() };
        let kept = take_fields(WHAT, bytes, |tag, r| {
            match tag {
                1 => family = Some(Family(r.u32()?)),
                2 if r.u8()? == ZSTD => {}
                2 => return Err(r.malformed().into()),
                3 => entry.blocks = r.u64()?,
                4 if r.rest().len() <= DICTIONARY_BYTES_MAX => {
                    entry.bytes = Bytes::copy_from_slice(r.bytes(r.rest().len())?);
                }
                4 => return Err(r.malformed().into()),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        entry.family = family.ok_or(Malformed { what: WHAT })?;
        Ok((entry, kept))
    }
}

/// What a fragment of `Codec::Named` begins with that zstd has compressed by a dictionary.
pub fn head(dictionary: DictionaryNumber) -> [u8; HEAD_BYTES] {
    let [a, b, c, d] = dictionary.0.to_le_bytes();
    [ZSTD, a, b, c, d]
}

/// The dictionary that a fragment of `Codec::Named` was compressed by, and the rest of it. None:
/// it names another codec, or is cut off.
pub fn take_head(fragment: &[u8]) -> Option<(DictionaryNumber, &[u8])> {
    let (head, rest) = fragment.split_first_chunk::<HEAD_BYTES>()?;
    let [ZSTD, a, b, c, d] = *head else { return None };
    Some((DictionaryNumber(u32::from_le_bytes([a, b, c, d])), rest))
}

#[cfg(test)]
mod tests;
