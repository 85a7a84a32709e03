//! Front ends: what hosts attach volumes with.
//!
//! [`nvme_tcp`] is a complete NVMe/TCP target over the [`Door`](ashlar_volume::Door) of a node's
//! volumes. It runs on reactors, one part per reactor, and shares between them only what happens
//! when a host comes or goes.
//!
//! This crate knows no segments and no parity: of storage it sees the door alone.

pub mod nvme_tcp;
