//! Reads fragments and whole segments from the drives.
//!
//! Owns nothing that outlives a read, but dictionaries in the form in which fragments are read by
//! them. It must not know why somebody reads.
//!
//! 1. What is returned is what its checksum says, whichever way it was had.
//! 2. An error is the last word: all ways that redundancy gives have been tried before.

pub(crate) mod decompress;
pub(crate) mod dictionaries;
pub(crate) mod neighbours;
pub(crate) mod scan;
