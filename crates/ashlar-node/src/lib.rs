//! The data path of this machine, put together: drives, reactors with their pools, the target in
//! front of them, and the node that the control plane asks.
//!
//! | module | what it owns |
//! |---|---|
//! | `drives` | how a drive of this machine is opened, and when two texts name the same one |
//! | `reactors` | the reactors' threads, and the way to them |
//! | `node` | what the control plane may ask of the pools |
//!
//! Nothing that has work of the store in it is generic, and every public future is boxed. So the
//! store and the target are compiled once, in this crate, and not again in whoever uses it.
//!
//! This crate knows no API, no configuration and no state directory.

mod drives;
mod node;
mod reactors;

pub use ashlar_reactor::Stats as ReactorStats;
pub use drives::{KnownPlaces, MachineDrives, identity, name_the_same};
pub use node::MachineNode;
pub use reactors::{Reactors, ServeError, StartError, StopListener, Threads};
