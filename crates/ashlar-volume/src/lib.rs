//! Thin volumes, who may see them, and the one door through which every front end reaches them.
//!
//! | module | what it owns |
//! |---|---|
//! | `door` | what a front end may ask of volumes |
//! | `store_volume` | one volume over its store; `gate` and `ranges` keep its operations apart |
//! | `attributes` | what the store keeps with a volume, byte by byte |
//! | `atomic` | what hosts are told of the atomicity of its writes |
//! | `reactor_pools` | the pools of one reactor |
//! | `fuse` | what ends a pool whose work has panicked, and nothing else |
//! | `table` | the namespaces of the node, shared by its reactors |
//! | `node` | the node for the control plane; `node_door` for front ends |
//! | `qos` | what volumes may take of their pool, and what holds them to it |
//! | `activity` | what goes on in pools, volumes and drives, and how long that takes |
//! | `drive_provider`, `dispatcher` | from outside: drives, a way between reactors |
//!
//! This crate knows no PDUs and no sockets (what is above the door), and no parity, drives or rows
//! (what is below the store).

mod access;
mod activity;
mod atomic;
mod attributes;
mod dispatcher;
mod door;
mod drive_provider;
mod error;
mod fuse;
mod gate;
pub mod memory_door;
mod name;
mod node;
mod node_door;
mod occurrences;
pub mod plain_door;
pub mod qos;
mod ranges;
mod reactor_pools;
mod report;
mod store_volume;
mod table;

pub use access::AccessChange;
pub use activity::{DriveActivity, Measured, PoolActivity, Scope, VolumeActivity};
pub use ashlar_block::place::{is_at, path_of};
pub use atomic::{AtomicWrites, InvalidAtomic};
pub use attributes::{Attributes, EraseKind, HOSTS_MAX};
pub use dispatcher::{Dispatcher, Gone};
pub use door::{
    AccessList, Door, DrivesHealth, FormatRequest, HealthFigures, HostNqn, InvalidNqn,
    NamespaceInfo, Nsid, SANITIZE_WHOLE, SanitizeState, SpaceFigures, SubsystemInfo, VolumeIo,
};
pub use drive_provider::{
    DriveContent, DriveFacts, DriveProvider, DriveSlot, NoMember, ProvidedDrive, Sought, inspect,
    read_superblock,
};
pub use error::NodeError;
pub use name::VolumeName;
pub use node::Node;
pub use node_door::{NodeDoor, NodeVolume};
pub use occurrences::{ErasedBy, Occurred, Occurrence, Occurrences, TakenOccurrences, VolumeErase};
pub use reactor_pools::{
    CreateRequest, DriveErase, DrivePlan, DriveReading, EraseMethod, EraseOutcome, Given,
    KnownPool, NewVolume, OpenRequest, Opening, OpeningStage, PoliciesReport, PolicyReport,
    PoolPlan, QosChoice, ReactorPools, Removal, Resize, StoppedPool, VolumeChange,
    check_volume_size,
};
pub use report::{
    DriveReport, HeldDrive, Order, PoolRecord, PoolReport, SettingsChange, VolumeReport,
};
pub use store_volume::StoreVolume;
pub use table::{Place, PoolNamespace, ReactorIndex, Table};
