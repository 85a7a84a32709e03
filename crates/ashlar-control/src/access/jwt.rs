//! JSON web tokens (RFC 7519) that somebody else signs, whose public key was registered: a client
//! may do what the token's claim `role` says, and no more than the key's role.

use ashlar_block::printable;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::{Deserialize, Serialize};

use super::Role;
use crate::types::Key;

/// How far the clocks of both sides may be apart.
const LEEWAY_SECONDS: u64 = 60;
/// Longest part of a token's subject that is shown.
const SUBJECT_CHARS_MAX: usize = 64;
/// What a public key begins with, and the longest one.
const BEGINNING: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_BYTES_MAX: usize = 16 << 10;

/// A registered key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct KeptKey {
    pub name: String,
    pub role: Role,
    /// RFC 3339.
    pub created_at: String,
    /// The public key, as PEM has it.
    pem: String,
}

/// Why a key is not taken.
#[derive(Debug, thiserror::Error)]
#[error("it is no public key for RS256 or EdDSA in PEM (-----BEGIN PUBLIC KEY-----)")]
pub(super) struct NoKey;

/// What a token says.
#[derive(Deserialize)]
struct Claims {
    #[serde(default)]
    sub: Option<String>,
    role: Role,
}

impl KeptKey {
    /// # Errors
    /// When it cannot check a signature.
    pub fn new(name: &str, role: Role, created_at: String, pem: &str) -> Result<Self, NoKey> {
        let (name, pem) = (name.to_owned(), pem.trim().to_owned());
        if !pem.starts_with(BEGINNING) || pem.len() > PEM_BYTES_MAX {
            return Err(NoKey);
        }
        let key = KeptKey { name, role, created_at, pem };
        key.decoding().map(|_| key.clone()).ok_or(NoKey)
    }

    /// The key for the only algorithm that it may be used with: a token does not choose.
    fn decoding(&self) -> Option<(Algorithm, DecodingKey)> {
        let pem = self.pem.as_bytes();
        let of_eddsa = DecodingKey::from_ed_pem(pem).map(|key| (Algorithm::EdDSA, key));
        of_eddsa.or_else(|_| DecodingKey::from_rsa_pem(pem).map(|key| (Algorithm::RS256, key))).ok()
    }

    fn algorithm(&self) -> &'static str {
        match self.decoding() {
            Some((Algorithm::EdDSA, _)) => "EdDSA",
            _ => "RS256",
        }
    }

    /// Who shows that token and what they may do, if this key has signed it and it holds now.
    pub fn check(&self, shown: &str) -> Option<(String, Role)> {
        let (algorithm, key) = self.decoding()?;
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.validate_aud = false;
        validation.set_required_spec_claims(&["exp"]);
        let claims = decode::<Claims>(shown, &key, &validation).ok()?.claims;
        let subject = claims.sub.map_or_else(String::new, |subject| {
            let shown: String = subject.chars().take(SUBJECT_CHARS_MAX).collect();
            format!(" ({})", printable(&shown))
        });
        Some((format!("key {}{subject}", self.name), claims.role.min(self.role)))
    }

    /// What is shown of it.
    pub fn shown(&self) -> Key {
        Key {
            name: self.name.clone(),
            role: self.role,
            algorithm: self.algorithm().to_owned(),
            created_at: self.created_at.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
