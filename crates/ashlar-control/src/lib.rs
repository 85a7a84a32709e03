//! The control plane: a node's REST API.
//!
//! The [`NodeApi`] is what the API stands before: whoever assembles a node implements it.
//! [`types`] are what goes over the wire, for servers and clients alike; the same document is
//! served as OpenAPI.
//!
//! This crate knows no PDUs, no rows and no reactors: it waits for answers and knows not where they
//! are made.

mod access;
mod alerts;
mod audit;
mod body;
mod changes;
mod consent;
mod dashboard;
mod error;
mod events;
mod hints;
mod jobs;
mod listen;
mod log;
mod metrics;
mod node_api;
mod notifier;
mod operation;
mod progress_text;
mod qos_api;
mod query;
mod routes;
mod secure;
mod serve;
pub mod types;
mod watch;

pub use access::{Accounts, Role, Shown, Vault, VaultError};
pub use audit::AuditLog;
pub use changes::Reloaded;
pub use consent::{CONFIRM, Consent};
pub use error::{ApiError, ErrorCode, ErrorMeaning, PROBLEM_JSON, Problem};
pub use events::{
    EventKind, EventLog, EventMeaning, EventSubject, hint_of_drive_state, hint_of_pool_state,
    severity_of_drive_state, severity_of_pool_state,
};
pub use listen::{ListenError, Socket, SocketGroup, SocketPlace};
pub use log::{Archive, Entry, FOLLOWERS_MAX, Keeping, Log, RECENT_MAX, Reader, Wanted};
pub use metrics::{MetricMeaning, metrics};
pub use node_api::{
    Answer, Erase, ErasedBy, HostEnd, HostVisit, HostVisits, Look, Loss, NodeApi, Occurred,
    Occurrence, Occurrences, SharedHostNqn, Warning,
};
pub use notifier::Notifier;
pub use operation::Operation;
pub use progress_text::{ProgressText, Span};
pub use qos_api::QosApi;
pub use routes::{API_ROOT, openapi, operations, router};
pub use secure::{Identity, IdentityError, OwnCertificate, fingerprint_of};
pub use serve::{Network, NetworkFacts, SharedFacts, SharedIdentity, serve};
pub use watch::Watcher;
