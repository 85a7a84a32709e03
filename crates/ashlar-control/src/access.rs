//! Who asks, and what they may do.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorCode};
use crate::operation::Operation;

pub(crate) mod accounts;
mod attempts;
mod buckets;
mod jwt;
pub(crate) mod leave;
mod tokens;

pub use accounts::{Accounts, Shown, Vault, VaultError};
pub(crate) use attempts::Attempts;
pub(crate) use buckets::Buckets;

/// What a client may do. Each role may do what those before it may.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Look.
    #[default]
    Viewer,
    /// Change what can be changed back: volumes, settings, jobs, drives of a pool.
    Operator,
    /// Lose data, take drives and pools, decide who may do what.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        })
    }
}

/// By which way a client has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entrance {
    /// By the daemon's socket: the kernel says who it is.
    Socket { uid: u32, pid: Option<i32>, role: Role },
    /// By the network: it has to say who it is.
    Network(SocketAddr),
}

/// What counts as one address: of IPv6 a /64, of which one machine may have all addresses.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address => address,
    }
}

impl Entrance {
    /// Whether it is that of root or the daemon's own user, and of no group.
    pub fn is_of_owner(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        matches!(self, Entrance::Socket { uid, .. } if *uid == 0 || *uid == own)
    }

    /// Whoever is at the other end of the daemon's socket: root and the daemon's own user may do
    /// everything. All others were let in as members of the socket's group.
    pub fn of_socket(uid: u32, pid: Option<i32>, own_uid: u32, of_group: Role) -> Self {
        let role = if uid == 0 || uid == own_uid { Role::Admin } else { of_group };
        Entrance::Socket { uid, pid, role }
    }
}

/// Who asks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Caller {
    /// The user of this machine, if it is one.
    pub uid: Option<u32>,
    /// Their process.
    pub pid: Option<i32>,
    /// Where they come from, if that is another machine.
    pub address: Option<SocketAddr>,
    /// What they have shown: a token or a key, by its name.
    pub account: Option<String>,
    /// What they may do.
    pub role: Role,
}

impl Caller {
    /// Who it is, whatever process or port they come from.
    pub(crate) fn name(&self) -> String {
        match (self.uid, &self.account) {
            (Some(uid), _) => format!("user {uid}"),
            (None, Some(account)) => account.clone(),
            (None, None) => String::new(),
        }
    }

    /// Who follows, and whether that is root or the daemon's own user.
    pub(crate) fn follows_as(&self) -> (String, bool) {
        let own = rustix::process::geteuid().as_raw();
        (self.name(), self.uid.is_some_and(|uid| uid == 0 || uid == own))
    }

    /// Lets the caller on if they may ask for that.
    ///
    /// # Errors
    /// What they may not do, and who may.
    pub(crate) fn check(&self, operation: &Operation) -> Result<(), ApiError> {
        if self.role >= operation.role {
            return Ok(());
        }
        Err(self.lacks(operation.role, operation.id))
    }

    /// Lets the caller on if they may lose data.
    ///
    /// # Errors
    /// That they may not do `what`.
    pub(crate) fn check_may_lose_data(&self, what: &str) -> Result<(), ApiError> {
        if self.role >= Role::Admin { Ok(()) } else { Err(self.lacks(Role::Admin, what)) }
    }

    fn lacks(&self, needed: Role, what: &str) -> ApiError {
        let why = format!("{self} has the role {}, and {what} needs {needed}", self.role);
        let hint = match self.account {
            Some(_) => "ask with a token of that role: `ashlar token create` makes one",
            None => "ask as root, or have the role of the socket's group changed",
        };
        ApiError::new(ErrorCode::Forbidden, why).with_hint(hint)
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caller { uid, pid, address, account, .. } = self;
        match (uid, pid) {
            (Some(uid), Some(pid)) => return write!(f, "user {uid}, process {pid}"),
            (Some(uid), None) => return write!(f, "user {uid}"),
            _ => {}
        }
        f.write_str(account.as_deref().unwrap_or("somebody unknown"))?;
        address.map_or(Ok(()), |address| write!(f, " at {address}"))
    }
}

#[cfg(test)]
mod tests;
