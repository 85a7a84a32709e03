//! An NVMe/TCP host.
//!
//! [`Controller::connect`] makes an association: an admin queue, I/O queues, a keep alive.
//! [`Namespace`] is what I/O goes to. [`discover`] asks a discovery service. Everything runs on the
//! reactor of the calling thread.
//!
//! Commands that had no answer when the connection broke are sent again after a reconnection, if
//! [`ConnectOptions::reconnect`] asks for one: as Linux does it.

mod controller;
mod discovery;
mod error;
mod namespace;
mod options;
mod output;
mod queue;
mod session;

pub use ashlar_nvme::pdu::Digests;
pub use controller::{Controller, ControllerInfo};
pub use discovery::{DiscoveredSubsystem, discover};
pub use error::{CommandError, ConnectError};
pub use namespace::Namespace;
pub use options::{ConnectOptions, HostIdentity, ReconnectPolicy};
