//! Reads fragments and whole segments from the drives.
//!
//! Owns nothing that outlives a read. It must not know why somebody reads.

pub(crate) mod decompress;
pub(crate) mod neighbours;
pub(crate) mod scan;
