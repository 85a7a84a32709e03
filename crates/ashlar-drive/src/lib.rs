//! Drives: block devices, files and memory as the store sees them.
//!
//! A [`Drive`] implements the vocabulary's [`Device`](ashlar_block::Device) over the reactor:
//! direct I/O, as durable as was asked for, open for one daemon alone, and not believed any more
//! after a failed flush. [`DriveSpec`] is how people name one; [`probe_foreign`] looks what is on
//! it before it is taken; [`Faults`] make it a bad one, for tests, and a [`Profile`] one that takes
//! as long as a class of drives does. [`Machine`] lists the block devices, [`Uevents`] tell when
//! they change, and a [`Peek`] reads one without taking it. A [`Slot`] has the light by which
//! people find a drive.
//!
//! This crate knows no stripes, no segments and no labels of pools.

#![forbid(unsafe_code)]

mod counters;
mod disk;
mod drive;
mod error;
mod fault;
mod footprint;
mod foreign;
mod health;
mod info;
mod lock;
mod machine;
mod model;
mod open;
mod peek;
mod slot;
mod smart;
mod spec;
mod sysfs;
mod uevents;
mod users;
mod world;

pub use counters::{DriveCounters, DriveStats, OpStats};
pub use drive::{Drive, DriveSeed};
pub use error::OpenError;
pub use fault::{Faults, Panicking};
pub use footprint::{Footprint, Overlap};
pub use foreign::{ForeignContent, Found, PROBED_BYTES, identify, probe_foreign};
pub use info::{DriveInfo, DriveKind};
pub use lock::has_open;
pub use machine::{
    BlockDevice, DeviceNumber, ListedDevice, Machine, Unread, unread_by_name, unread_by_state,
};
pub use model::{ModelName, Profile, ProfileError, Timing};
pub use open::OpenMode;
pub use peek::{DriveMark, Peek};
pub use slot::{Slot, slot_at, switch_light};
pub use smart::{
    Alarm, DriveHealth, Ill, Link, Look, Power, Silent, Smart, Thresholds, Warning, warnings,
};
pub use spec::{DRIVE_BYTES_MIN, DriveSpec, ParseDriveSpecError};
pub use uevents::{DeviceChanges, Uevents};
pub use world::DriveWorld;
