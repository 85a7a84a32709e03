//! The NVMe/TCP target.
//!
//! | module | what it owns |
//! |---|---|
//! | `target` | what one process serves: portals, start and end |
//! | `registry` | who is connected, over all reactors; locked when a host comes or goes, never for a command |
//! | `newcomers` | connections that have not finished Connect, and who of them makes room |
//! | `connection` | one TCP connection: its reader, its life and its end |
//! | `patience` | how a host is judged that has been silent |
//! | `output` | what a connection has to send; one writer, one send per turn |
//! | `ticket` | a command that must be answered exactly once |
//! | `transfer` | data that R2Ts asked for |
//! | `memory` | how much payload memory may be taken |
//! | `footprint` | what memory each command takes: pure |
//! | `connect` | Fabrics commands |
//! | `controller` | a controller: what hosts set, its events, its error log |
//! | `admin`, `identify`, `logs`, `features` | the admin command set |
//! | `discovery` | the discovery log |
//! | `io`, `fused` | the NVM command set |

mod admin;
mod connect;
mod connection;
mod controller;
mod discovery;
mod errors;
mod events;
mod features;
mod footprint;
mod fused;
mod identify;
mod io;
mod limits;
mod logs;
mod memory;
mod newcomers;
mod output;
mod patience;
mod portal;
mod registry;
mod signal;
mod status;
mod target;
mod ticket;
mod told;
mod traffic;
mod transfer;

pub use limits::{Limits, LimitsError};
pub use portal::{BindError, Portal, PortalKind};
pub use registry::ConnectedHost;
pub use target::{Service, Target, TargetConfig};
