//! A workload that knows what every block must read as.
//!
//! Blocks of 4 KiB are filled from real files, stamped with their address and version, written,
//! trimmed and read at random at a queue depth; every read is checked. What must be in each block
//! is known from one word per block ([`Model`]), which can be saved and taken up again against the
//! same volume.
//!
//! A write whose answer never came may have been done or not: the block may then hold either
//! version until it is read or written again.

mod model;
mod operation;
mod read_back;
mod report;
mod run;
mod sources;
mod state;

pub use model::{BLOCK_BYTES, Mismatch, Model};
pub use read_back::read_back;
pub use report::{Mix, Options, Progress, Report, Stop, VerifyError};
pub use run::run;
pub use sources::{Sources, SourcesError};
pub use state::StateError;

#[cfg(test)]
mod tests;
