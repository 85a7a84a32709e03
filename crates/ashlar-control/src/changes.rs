//! Each change that a client asks for is an event: what, by whom, and with what result.

use axum::body::Bytes;
use axum::extract::connect_info::Connected;
use axum::http::Method;
use axum::response::Response;
use axum::serve::IncomingStream;
use serde_json::Value;

use crate::consent::CONFIRMATION_NEEDED;
use crate::error::ErrorBody;
use crate::listen::Renewable;
use crate::types::{Happening, Severity};

/// Longest part of what a request brings that its event repeats, in bytes.
const DETAILS_BYTES_MAX: usize = 256;
/// Longest name of a pool or volume that an event repeats, in bytes: one that is asked for in vain
/// may be longer.
const TARGET_BYTES_MAX: usize = 160;

/// Who asks, as the kernel says of the other end of the socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peer {
    /// The user.
    pub uid: Option<u32>,
    /// The process.
    pub pid: Option<i32>,
}

impl Connected<IncomingStream<'_, Renewable>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Renewable>) -> Self {
        let credentials = stream.io().peer_cred();
        credentials.map_or_else(
            |_| Peer::default(),
            |credentials| Peer { uid: Some(credentials.uid()), pid: credentials.pid() },
        )
    }
}

/// A change that is asked for.
pub struct Change {
    operation: &'static str,
    pool: Option<String>,
    volume: Option<String>,
    details: String,
    peer: Peer,
}

impl Change {
    /// The change that a request at `path`, below the API's root, asks for. `None`: it changes
    /// nothing.
    pub fn of(method: &Method, path: &str, body: &Bytes, peer: Peer) -> Option<Self> {
        let path: Vec<&str> = path.trim_matches('/').split('/').collect();
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let operation = operation(method, &path, &asked)?;
        let named = |name: &str| cut(name, TARGET_BYTES_MAX);
        let said = |key: &str| asked[key].as_str().map(named);
        let at = |at: usize| path.get(at).copied().map(named);
        let (pool, volume) = match path[..] {
            ["volumes"] => (said("pool"), said("name")),
            ["volumes", ..] => (at(1), at(2)),
            ["pools"] => (said("name"), None),
            ["pools", ..] => (at(1), None),
            ["import-pool"] => (said("pool").or_else(|| said("name")), None),
            _ => (None, None),
        };
        let body = String::from_utf8_lossy(body).split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Change { operation, pool, volume, details: cut(&body, DETAILS_BYTES_MAX), peer })
    }

    /// What is told of it, once it was answered. `None`: nothing was done, and the client was asked
    /// whether it may be.
    pub fn happening(self, response: &Response) -> Option<Happening> {
        let refusal: Option<&ErrorBody> = response.extensions().get();
        if refusal.is_some_and(|refusal| refusal.code == CONFIRMATION_NEEDED) {
            return None;
        }
        let is_done = response.status().is_success();
        let result = match refusal {
            _ if is_done => "done".to_owned(),
            Some(refusal) => format!("refused: {}", refusal.message),
            None => format!("refused: {}", response.status()),
        };
        let severity = if is_done { Severity::Info } else { Severity::Warning };
        let happening = Happening::new(
            severity,
            "change",
            format!("{} by {}: {result}", self.what(), self.peer),
        );
        Some(Happening {
            operation: Some(self.operation.to_owned()),
            result: Some(if is_done { "done" } else { "refused" }.to_owned()),
            uid: self.peer.uid,
            pid: self.peer.pid,
            pool: self.pool,
            volume: self.volume,
            ..happening
        })
    }

    fn what(&self) -> String {
        let target: Vec<&str> = self.pool.iter().chain(&self.volume).map(String::as_str).collect();
        let words = [self.operation, &target.join("/"), &self.details];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.uid, self.pid) {
            (Some(uid), Some(pid)) => write!(f, "user {uid}, process {pid}"),
            (Some(uid), None) => write!(f, "user {uid}"),
            _ => f.write_str("somebody unknown"),
        }
    }
}

/// The change that is `asked` for, as the command line calls it.
fn operation(method: &Method, path: &[&str], asked: &Value) -> Option<&'static str> {
    Some(match (method.as_str(), path) {
        ("POST", ["pools"]) => "pool create",
        ("POST", ["import-pool"]) => "pool import",
        ("PATCH", ["pools", _]) => "pool set",
        ("DELETE", ["pools", _]) => "pool destroy",
        ("POST", ["pools", _, "erase"]) => "pool destroy --secure",
        ("POST", ["pools", _, "export"]) => "pool export",
        ("POST", ["pools", _, "scrub"]) => "pool scrub",
        ("DELETE", ["pools", _, "scrub"]) => "pool scrub --stop",
        ("POST", ["pools", _, "grow"]) => "pool grow",
        ("POST", ["pools", _, "trim"]) => "pool trim",
        ("POST", ["pools", _, "verify"]) => "pool verify",
        ("POST", ["pools", _, "set-capacity"]) => "pool set-capacity",
        ("POST", ["pools", _, "release-reserve"]) => "pool release-reserve",
        ("POST", ["pools", _, "rebalance"]) => "pool rebalance",
        ("DELETE", ["pools", _, "rebalance"]) => "pool rebalance --stop",
        ("POST", ["pools", _, "rename"]) => "pool rename",
        ("POST", ["pools", _, "drives"]) => "pool add-drive",
        ("POST", ["pools", _, "spares"]) => "pool spare add",
        ("POST", ["pools", _, "remove-spare"]) => "pool spare remove",
        ("POST", ["pools", _, "fail-drive"]) => "drive fail",
        ("POST", ["pools", _, "remove-drive"]) if asked["cancel"] == true => {
            "pool remove-drive --cancel"
        }
        ("POST", ["pools", _, "remove-drive"]) => "pool remove-drive",
        ("POST", ["pools", _, "return-drive"]) => "drive return",
        ("POST", ["pools", _, "replace-drive"]) => "pool replace",
        ("POST", ["drives", "label-clear"]) => "drive label-clear",
        ("POST", ["drives", "label-restore"]) => "drive label-restore",
        (_, ["volumes", ..]) => return operation_on_volume(method, path, asked),
        _ => return None,
    })
}

/// The same, about volumes.
fn operation_on_volume(method: &Method, path: &[&str], asked: &Value) -> Option<&'static str> {
    Some(match (method.as_str(), path) {
        ("POST", ["volumes"]) => "volume create",
        ("POST", ["volumes", _, _, "wipe"]) => "volume wipe",
        ("PATCH", ["volumes", _, _]) if asked["size_bytes"].is_u64() => "volume resize",
        ("PATCH", ["volumes", _, _]) if asked["name"].is_string() => "volume rename",
        ("PATCH", ["volumes", _, _]) => "volume set",
        ("DELETE", ["volumes", _, _]) => "volume delete",
        ("POST", ["volumes", _, _, "allow"]) => "volume allow",
        ("POST", ["volumes", _, _, "deny"]) => "volume deny",
        _ => return None,
    })
}

/// The text without control characters, and no longer than that.
fn cut(text: &str, bytes_max: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    if plain.len() <= bytes_max {
        return plain;
    }
    let end = (0..=bytes_max).rev().find(|end| plain.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...", &plain[..end])
}

#[cfg(test)]
mod tests;
