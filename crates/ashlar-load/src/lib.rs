//! What loads and measures Ashlar from outside.
//!
//! - [`initiator`]: an NVMe/TCP host: discovery, queues, every I/O command, reconnection.
//! - [`verify`]: a workload that knows what every block must read as.
//! - [`wire_bench`]: plain reads and writes against a target, measured.
//! - [`echo`]: the control for it: the same bytes over the same reactor without NVMe.
//! - [`load`]: what is asked of either; [`cpu`], [`latency`], [`ratio`]: what is measured.
//!
//! This crate knows no volumes and no drives: it sees what any host sees.

pub mod cpu;
pub mod echo;
pub mod initiator;
pub mod latency;
pub mod load;
mod pace;
pub mod ratio;
pub mod verify;
pub mod wire_bench;
