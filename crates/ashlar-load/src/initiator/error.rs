use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use ashlar_nvme::pdu::PduFault;
use ashlar_nvme::status::Status;

/// Why no association could be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// TCP said no.
    #[error("cannot reach the target at {address}: {source}")]
    Unreachable {
        /// The target's address.
        address: SocketAddr,
        /// Why.
        source: Rc<io::Error>,
    },
    /// The target did not answer in time.
    #[error("the target at {address} did not answer in time")]
    TimedOut {
        /// The target's address.
        address: SocketAddr,
    },
    /// The connection broke, or the target broke the protocol, before the queue was usable.
    #[error("the connection to {address} broke while it was set up: {reason}")]
    Broken {
        /// The target's address.
        address: SocketAddr,
        /// Why.
        reason: CommandError,
    },
    /// The target refused.
    #[error("the target refused to {step}: {status} (result {result:#x})")]
    Refused {
        /// What was asked.
        step: &'static str,
        /// Its status.
        status: Status,
        /// Its result dwords: for Connect which parameter it means.
        result: u64,
    },
    /// The target's answer cannot be worked with.
    #[error("the target cannot be used: {0}")]
    Unusable(String),
}

/// Why a command failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommandError {
    /// The target answered with an error.
    #[error("{0}")]
    Status(Status),
    /// The connection broke before an answer came. Whether the command was done is not known.
    #[error("the connection was lost{}", .0.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    Lost(Option<Rc<str>>),
    /// The target sent what it may not.
    #[error("the target broke the protocol: {0}")]
    Protocol(PduFault),
    /// The association could not be made again.
    #[error("reconnecting failed: {0}")]
    GaveUp(Box<ConnectError>),
    /// The host has closed the association.
    #[error("the association is closed")]
    Closed,
    /// The command does not fit the namespace or the target's limits.
    #[error("{0}")]
    Invalid(String),
}

impl CommandError {
    pub(super) fn lost(why: impl ToString) -> Self {
        CommandError::Lost(Some(why.to_string().into()))
    }

    /// Whether the answer never came: the command may have been done or not.
    pub fn is_unknown_outcome(&self) -> bool {
        !matches!(self, CommandError::Status(_) | CommandError::Invalid(_))
    }

    /// The target's status, if it answered.
    pub fn status(&self) -> Option<Status> {
        if let CommandError::Status(status) = self { Some(*status) } else { None }
    }
}
