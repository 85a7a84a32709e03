//! Thin volumes, who may see them, and the one door through which every front end reaches them.
//!
//! This crate knows no PDUs and no sockets (what is above the door), and no parity, drives or rows (what is
//! below the store).

mod door;
pub mod memory_door;

pub use door::{
    AccessList, Door, FormatRequest, HealthFigures, HostNqn, InvalidNqn, NamespaceInfo, Nsid, SubsystemInfo,
    VolumeIo,
};
