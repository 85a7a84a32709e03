//! Tokens: who shows one may do what its role may. The daemon keeps a hash of each and no more.
//!
//! A token is `ashlar_`, its identifier and 256 random bits, in hexadecimal. What is random needs
//! no slow hash: nobody guesses it. The identifier finds the token, and only the hash of that one
//! is compared, in a time that does not depend on where they differ.

use std::time::SystemTime;

use blake3::Hash;
use humantime::{format_rfc3339_seconds, parse_rfc3339};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Role;
use crate::types::Token;

/// What each token begins with: a scan for secrets that were published finds it.
const MARK: &str = "ashlar_";
/// Characters of the identifier.
const ID_CHARS: usize = 12;
/// Characters of the random part.
const SECRET_CHARS: usize = 64;

/// A token, as the daemon keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct KeptToken {
    pub id: String,
    pub name: String,
    pub role: Role,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339; null: never.
    pub expires_at: Option<String>,
    /// BLAKE3 of the whole token, in hexadecimal.
    hash: String,
}

impl KeptToken {
    /// A new one, and what its owner shows, which nobody can say again.
    pub fn new(
        name: &str,
        role: Role,
        now: SystemTime,
        expires: Option<SystemTime>,
    ) -> (Self, String) {
        let random = || Uuid::new_v4().simple().to_string();
        // Six bits of each UUID are fixed: three have more than 256 that are random.
        let digest = blake3::hash([random(), random(), random()].concat().as_bytes());
        let id = random()[..ID_CHARS].to_owned();
        let secret = format!("{MARK}{id}{}", digest.to_hex());
        let plain = |time: SystemTime| format_rfc3339_seconds(time).to_string();
        let kept = KeptToken {
            id,
            name: name.to_owned(),
            role,
            created_at: plain(now),
            expires_at: expires.map(plain),
            hash: blake3::hash(secret.as_bytes()).to_hex().to_string(),
        };
        (kept, secret)
    }

    /// The identifier of what looks like a token.
    pub fn id_of(shown: &str) -> Option<&str> {
        let rest = shown.strip_prefix(MARK)?;
        let is_one = rest.len() == ID_CHARS + SECRET_CHARS && rest.is_ascii();
        is_one.then(|| &rest[..ID_CHARS])
    }

    /// Whether that is this token.
    pub fn is(&self, shown: &str) -> bool {
        let shown = blake3::hash(shown.as_bytes());
        // The comparison of hashes takes the same time wherever they differ.
        Hash::from_hex(&self.hash).is_ok_and(|kept| kept == shown)
    }

    pub fn has_expired(&self, now: SystemTime) -> bool {
        // One that cannot be read is not believed.
        let ends = |at: &String| parse_rfc3339(at).unwrap_or(SystemTime::UNIX_EPOCH);
        self.expires_at.as_ref().is_some_and(|at| ends(at) <= now)
    }

    /// What is shown of it.
    pub fn shown(&self, now: SystemTime) -> Token {
        let state = if self.has_expired(now) { "expired" } else { "valid" };
        Token {
            id: self.id.clone(),
            name: self.name.clone(),
            role: self.role,
            states: vec![state.to_owned()],
            created_at: self.created_at.clone(),
            expires_at: self.expires_at.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
