//! What the fuzz targets do with their input, and the seeds that they begin with.
//!
//! The functions here say what must hold for every input: no panic, memory bounded by the input,
//! and a value that was read reads the same after it was written. The crates' own tests run the
//! same functions over the seeds and over seeded mutations of them, so that a stable compiler and
//! `cargo test` cover them too; `docs/fuzzing.md` says how to run what.

pub mod attributes;
pub mod command;
pub mod connection;
pub mod formats;
pub mod pdu;
pub mod pool;
pub mod replay;
