//! What is on the drives: bytes to types and back, and nothing else. `docs/format.md` draws it.

pub mod catalog;
pub mod codec;
pub mod compression;
pub mod dictionary;
pub mod features;
pub mod fields;
pub mod header;
pub mod heartbeat;
pub mod ids;
pub mod location;
pub mod page;
pub mod root;
pub mod scrub;
pub mod superblock;
pub mod table;

#[cfg(test)]
mod tests;

/// Format that this code reads and writes; other majors are refused.
pub const FORMAT_MAJOR: u16 = 3;
/// Compatible additions to the major format.
pub const FORMAT_MINOR: u16 = 0;
