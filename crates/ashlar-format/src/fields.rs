//! Tagged fields: what a later version adds, an earlier one keeps or refuses, and never mistakes.
//!
//! A field is `tag (2) | bytes (4) | value`. Bit 15 of a tag says that who does not know it must
//! not go on ([`CRITICAL`]); other fields that nobody knows are kept as they are and written again.

use bytes::Bytes;

use crate::codec::{Malformed, Reader, Writer};

/// Set in the tag of a field without which the rest would be misunderstood.
pub const CRITICAL: u16 = 1 << 15;

/// Fields that this version does not know, as they were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kept(Vec<(u16, Bytes)>);

impl Kept {
    /// Whether there is a field of that tag.
    pub fn has(&self, tag: u16) -> bool {
        self.0.iter().any(|(kept, _)| *kept == tag)
    }

    /// Drops the fields of a tag: something else is said now in their place.
    pub fn forget(&mut self, tag: u16) {
        self.0.retain(|(kept, _)| *kept != tag);
    }
}

/// Why fields cannot be understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FieldsError {
    /// Cut off, or a value that cannot be.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A newer version has written what this one must not pass over.
    #[error("the {what} has a field {tag} that this Ashlar does not know: use a newer Ashlar")]
    Unknown {
        /// Which structure.
        what: &'static str,
        /// The field's tag, without the critical bit.
        tag: u16,
    },
}

/// Writes a field.
pub fn put_field(w: &mut Writer, tag: u16, value: impl FnOnce(&mut Writer) -> &mut Writer) {
    w.u16(tag).u32(0);
    let start = w.0.len();
    value(w);
    let bytes = w.0.len() - start;
    w.patch_u32(start - 4, bytes as u32);
}

/// Writes again what was kept.
pub fn put_kept(w: &mut Writer, kept: &Kept) {
    for (tag, value) in &kept.0 {
        put_field(w, *tag, |w| w.bytes(value));
    }
}

/// Takes the fields of a `what` to the end of `bytes`, each by `take`, which says whether it knows
/// the tag; what nobody knows comes back.
///
/// # Errors
/// A field is cut off, `take` refuses it or leaves something of it, or it is critical and not
/// known.
pub fn take_fields(
    what: &'static str,
    bytes: &[u8],
    mut take: impl FnMut(u16, &mut Reader<'_>) -> Result<bool, FieldsError>,
) -> Result<Kept, FieldsError> {
    let mut kept = Kept::default();
    let mut r = Reader::new(what, bytes);
    while !r.rest().is_empty() {
        let (tag, bytes) = (r.u16()?, r.u32()? as usize);
        let value = r.bytes(bytes)?;
        let mut field = Reader::new(what, value);
        match take(tag, &mut field)? {
            true if field.rest().is_empty() => {}
            true => return Err(r.malformed().into()),
            false if tag & CRITICAL != 0 => {
                return Err(FieldsError::Unknown { what, tag: tag & !CRITICAL });
            }
            false => kept.0.push((tag, Bytes::copy_from_slice(value))),
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests;
