//! Ashlar's vocabulary.
//!
//! Units, identifiers, buffers and causes that every other crate speaks, and the few traits through
//! which a store sees its world: [`Device`], [`Clock`], [`Rng`], [`Spawn`]. A store that uses
//! nothing else can be run whole in a simulation.
//!
//! This crate knows nothing of what is above it: no volumes, no stripes, no sockets, no io_uring.

mod buf;
mod cause;
mod causes;
mod contain;
pub mod copies;
mod device;
mod ids;
pub mod latency;
mod memory;
mod name;
mod notify;
pub mod place;
mod units;
mod words;
mod world;

pub use buf::AlignedBuf;
pub use cause::{Cause, IoError};
pub use causes::with_causes;
pub use contain::{Panicked, contain, contained_pool, note_panic};
pub use device::{Device, DeviceError, DeviceOp, Durability};
pub use ids::{DriveId, DriveUuid, Lba, PoolUuid, VolumeId, VolumeUuid};
pub use memory::{MemoryDevice, NullDevice};
pub use name::{InvalidName, NAME_BYTES_MAX, check_name, is_uuid};
pub use notify::{Notify, wait_for};
pub use units::{ByteSize, ParseByteSizeError};
pub use words::{counted, counted_are, printable};
pub use world::{Clock, Nanos, Rng, Spawn, World, XorShift, within};

/// Bytes of one logical block: the unit of compression, of checksums and of the map.
pub const BLOCK_BYTES: usize = 4096;

/// Bytes of one drive sector as the store writes it: the unit of rows and of reconstruction.
pub const SECTOR_BYTES: usize = 4096;
