//! The log-structured store of one pool.
//!
//! Batches with parity, the map, garbage collection, checkpoints, recovery. It sees drives, time,
//! chance and tasks only through the traits of `ashlar-block`, so that a simulation can run it
//! whole. It knows no sockets and no NVMe, and of volumes only what the map needs.

mod append;
mod audit;
mod batch;
mod capacity;
mod catalog;
mod checkpoint;
mod comeback;
mod commit;
mod compress;
mod create;
pub mod format;
mod gc;
mod lease;
mod leave;
mod ledger;
mod load;
mod log;
mod lookup;
mod maintain;
mod map;
mod members;
mod moves;
mod naming;
mod neighbours;
mod options;
mod pace;
mod pages;
mod pool;
mod progress;
mod purge;
mod read;
mod rebalance;
mod rebuild;
mod recover;
mod recycle;
mod relocation;
mod rows;
mod scan;
mod scrub;
mod segments;
mod share;
mod silent;
mod status;
mod store;
mod striping;
mod sweep;
mod temper;
#[cfg(test)]
mod testing;
mod types;
mod upkeep;
mod widen;
mod window;
mod zeroing;

pub use comeback::{ReturnError, Returned};
pub use compress::codec;

pub use ashlar_raid::Failure;
pub use audit::Audit;
pub use batch::unit_blocks_max;
pub use capacity::Space;
pub use catalog::{PRIO_MAX, Settings, VolumeEntry, VolumeState};
pub use create::{CreateError, NewPool, SEGMENTS_MIN, create, random_uuid, wipe, write_superblock};
pub use lease::beating_on;
pub use leave::{FailError, RemoveError};
pub use ledger::Usage;
pub use members::{FoundDrive, OPEN_ANSWER_MAX, OpenPolicy, read_roots};
pub use naming::{RenameError, newest_label};
pub use options::{Holder, OVER_PROVISIONING_PERCENT_MIN, Options};
pub use pool::Counters;
pub use progress::{Obstacle, Progress};
pub use recover::{OpenError, Opened};
pub use scrub::{Findings, ScrubProgress, ScrubReport, ScrubState};
pub use status::{DriveCondition, DriveStatus, PoolStatus};
pub use store::{ATOMIC_BOUNDARY_BYTES, Store, VOLUME_BLOCKS_MAX};
pub use types::{Family, Incarnation, Key, Layer, Lsn, RootGeneration};
pub use upkeep::activity::Activity;
pub use widen::AddError;
