//! The control plane: a node's REST API.
//!
//! The [`NodeApi`] is what the API stands before: whoever assembles a node implements it.
//! [`types`] are what goes over the wire, for servers and clients alike; the same document is
//! served as OpenAPI.
//!
//! This crate knows no PDUs, no rows and no reactors: it waits for answers and knows not where they
//! are made.

mod body;
mod changes;
mod consent;
mod error;
mod events;
mod listen;
mod node_api;
mod progress_text;
mod routes;
pub mod types;
mod watch;

pub use consent::{CONFIRM, CONFIRMATION_NEEDED, Consent};
pub use error::{ApiError, ErrorBody, ErrorKind};
pub use events::{EVENTS_MAX, EventLog, FOLLOWERS_MAX};
pub use listen::{ListenError, Socket, SocketPlace};
pub use node_api::{Answer, HostVisits, NodeApi, SharedHostNqn, Warning};
pub use progress_text::{ProgressText, Span};
pub use routes::{API_ROOT, router};
pub use watch::Watcher;
