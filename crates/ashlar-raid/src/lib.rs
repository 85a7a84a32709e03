//! Rows over drives: where a column lies, how parity is made, how a lost column is read.
//!
//! This crate knows no batches, no checksums and no volumes: a caller that can tell right bytes
//! from wrong ones says so through a closure ([`Array::read_checked`]).

mod array;
mod faults;
mod field;
mod geometry;
mod kernels;
mod level;
pub mod parity;
mod silence;
mod slow;
mod ways;

pub use array::{
    Array, Member, MissingColumns, ReadError, Reconstructions, Source, Trouble, Unsafe,
};
pub use faults::{FAULT_WINDOW, Failure};
pub use geometry::{COLUMNS_MAX, ChunkAddr, ColumnMask, DriveLayout, Geometry};
pub use level::{DATA_COLUMNS_MAX, Level, LevelError};
pub use silence::LOOK_INTERVAL;
pub use ways::{Recipes, Ways};
