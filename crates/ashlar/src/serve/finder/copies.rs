//! The two copies of a drive's label.

use std::io;

use ashlar_block::SECTOR_BYTES;
use ashlar_drive::Peek;
use ashlar_store::format::superblock::{Superblock, SuperblockError};

/// What a sector holds that is to be a label.
type Decoded = Result<Superblock, SuperblockError>;

/// What a drive's label says: one read, and a second one only where the first copy is damaged.
///
/// # Errors
/// When it cannot be read.
pub fn label(peek: &Peek) -> io::Result<Decoded> {
    match first_copy(peek)? {
        Err(error) if error != SuperblockError::Absent => second_copy(peek),
        label => Ok(label),
    }
}

/// The copy that counts.
///
/// # Errors
/// When it cannot be read.
pub fn first_copy(peek: &Peek) -> io::Result<Decoded> {
    copy_at(peek, Superblock::FIRST_OFFSET)
}

/// The copy that counts where the first one is damaged.
///
/// # Errors
/// When it cannot be read.
pub fn second_copy(peek: &Peek) -> io::Result<Decoded> {
    let inside = inside_copy(peek)?.ok();
    let mut found = Err(SuperblockError::Absent);
    for place in Superblock::second_offsets(None, inside.as_ref(), peek.size_bytes()) {
        if found.is_err() {
            found = copy_at(peek, place)?;
        }
    }
    Ok(found)
}

/// The copy that partition tools do not reach.
///
/// # Errors
/// When it cannot be read.
pub fn inside_copy(peek: &Peek) -> io::Result<Decoded> {
    copy_at(peek, Superblock::INSIDE_OFFSET)
}

fn copy_at(peek: &Peek, offset: u64) -> io::Result<Decoded> {
    Ok(Superblock::decode(&peek.read(offset, SECTOR_BYTES)?))
}
