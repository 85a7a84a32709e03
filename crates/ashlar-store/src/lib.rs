//! The log-structured store of one pool.
//!
//! Batches with parity, the map, garbage collection, checkpoints, recovery. It sees drives, time,
//! chance and tasks only through the traits of `ashlar-block`, so that a simulation can run it
//! whole. It knows no sockets and no NVMe, and of volumes only what the map needs.

mod base;
mod checkpoint;
pub mod codec;
#[cfg(feature = "invented")]
mod invented;
mod jobs;
mod lookup;
mod map;
mod members;
mod pool;
mod reader;
mod recovery;
mod space;
mod status;
mod store;
#[cfg(test)]
mod testing;
mod upkeep;
mod writer;

pub use base::limits::VOLUME_BLOCKS_MAX;
pub use members::rejoin::{RejoinError, Rejoined};

pub use ashlar_format as format;
pub use ashlar_format::catalog::Usage;
pub use ashlar_format::catalog::{Levels, PRIO_MAX, Settings, VolumeEntry, VolumeState};
pub use ashlar_format::compression::{Compression, CompressionError, ZstdLevel};
pub use ashlar_format::ids::{Family, Incarnation, Key, Layer, Lsn, RootGeneration};
pub use ashlar_format::scrub::{Findings, ScrubProgress};
pub use ashlar_raid::Failure;
pub use base::activity::Activity;
pub use base::counters::{Counters, StepCounters, Steps};
pub use base::options::{Holder, Learning, OVER_PROVISIONING_PERCENT_MIN, Options};
#[cfg(feature = "invented")]
pub use invented::Invented;
pub use jobs::audit::Audit;
pub use jobs::moves::{MoveKind, MoveReport, MoveState};
pub use jobs::progress::{Obstacle, Progress};
pub use jobs::scrub::{ScrubReport, ScrubState};
pub use jobs::trim::{TrimError, TrimReport};
pub use jobs::verify::{Compared, VerifyReport, VerifyState};
pub use members::add::AddError;
pub use members::create::{
    CreateError, NewPool, SEGMENTS_MIN, Shape, create, random_uuid, rehearse, wipe,
    write_superblock,
};
pub use members::grow::{GrowError, Grown};
pub use members::lease::live_holder;
pub use members::naming::{RenameError, newest_label};
pub use members::remove::{FailError, RemoveError};
pub use members::restore::{RestoreError, label_to_restore, restore_label};
pub use members::{FoundDrive, OPEN_ANSWER_MAX, OpenPolicy, read_roots};
pub use recovery::{OpenError, Opened};
pub use space::after_loss::{AfterLoss, WorstLoss};
pub use space::capacity::{Space, Uses};
pub use space::promises::{
    Capacity, CapacityError, Factor, OverPromised, ParseFactorError, WantedCapacity,
};
pub use space::stripes::Stripes;
pub use status::{DriveCondition, DriveStatus, PoolStatus};
pub use store::drives::Loss;
pub use store::{ATOMIC_BOUNDARY_BYTES, Store, VolumeUpdate};
pub use writer::batch::unit_blocks_max;
