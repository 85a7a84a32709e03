//! The NVMe/TCP target.
//!
//! | module | what it owns |
//! |---|---|
//! | `target` | what one process serves, and its part on each reactor: accepting, start and end |
//! | `portal` | where it listens |
//! | `limits` | what hosts may take |
//! | `registry` | who is connected, over all reactors; locked when a host comes or goes, never for a command |
//! | `newcomers` | connections that have not finished Connect, and who of them makes room |
//! | `connection` | one TCP connection: its reader, its handshake, its life and its end; Fabrics commands find their way here |
//! | `idle_timeout` | how a host is judged that has been silent |
//! | `signal` | what happens once, and who waits for it |
//! | `output` | what a connection has to send; one writer, one send per turn |
//! | `ticket` | a command that must be answered exactly once |
//! | `transfer` | data that hosts send: in capsules, or as R2Ts asked for them |
//! | `memory` | how much payload memory may be taken |
//! | `footprint` | what memory each command takes: pure |
//! | `connect` | Connect: what makes a controller, and adds I/O queues to it |
//! | `controller` | a controller: its properties, its reset and shutdown, its keep alive |
//! | `events` | asynchronous events of a controller |
//! | `errors` | the error log of a controller |
//! | `admin`, `identify`, `logs`, `features` | the admin command set |
//! | `discovery` | the discovery log |
//! | `io`, `fused` | the NVM command set |
//! | `status` | what a cause of the volume's is to a host: pure |
//! | `traffic` | what was transferred, counted |
//! | `shared_nqn` | names that two hosts use at once: pure |
//! | `visits` | hosts that connect and go, each told with its reason, and counted |
//! | `told` | what the log is told of only now and then |

mod admin;
mod connect;
mod connected_host;
mod connection;
mod controller;
mod discovery;
mod errors;
mod events;
mod features;
mod footprint;
mod fused;
mod host_meter;
mod identify;
mod idle_timeout;
mod io;
mod limits;
mod log_rate_limit;
mod logs;
mod memory;
mod newcomers;
mod output;
mod portal;
mod registry;
mod sanitize;
mod shared_nqn;
mod signal;
mod status;
mod target;
mod ticket;
mod traffic;
mod transfer;
mod vendor;
mod visits;

pub use connected_host::{ConnectedHost, HostId};
pub use host_meter::{Answered, GONE_HOSTS_MAX, HostCounts};
pub use limits::{Limits, LimitsError};
pub use portal::{BindError, Portal, PortalKind};
pub use shared_nqn::SharedNqn;
pub use target::{Service, Target, TargetConfig};
pub use visits::{TakenVisits, VISITS_QUEUED_MAX, Visit, VisitEnd, VisitEndReason, VisitTotals};
