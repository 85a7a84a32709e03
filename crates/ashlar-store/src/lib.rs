//! The log-structured store of one pool.
//!
//! Batches with parity, the map, garbage collection, checkpoints, recovery. It sees drives, time, chance and
//! tasks only through the traits of `ashlar-block`, so that a simulation can run it whole. It knows no
//! sockets and no NVMe, and of volumes only what the map needs.

mod batch;
mod compress;
pub mod format;
mod segments;
mod types;

pub use types::{Family, Incarnation, Key, Layer, Lsn, RootGeneration};
