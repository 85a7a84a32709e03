//! JSON web tokens (RFC 7519) that somebody else signs, whose public key was registered: a client
//! may do what the token's claim `role` says, and no more than the key's role.

use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use ashlar_block::printable;
use jsonwebtoken::errors::ErrorKind;
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
/// Letters of Base64 in the PEM of RSA keys of 2048 to 8192 bits.
const RSA_PEM_CHARS: RangeInclusive<usize> = 392..=1420;
/// Latest end of a token that makes a difference: in some 8,000 years.
const EXP_MAX: f64 = 253_402_300_799.0;

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
#[derive(PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum NoKey {
    #[error("it is no public key for RS256 or EdDSA in PEM (-----BEGIN PUBLIC KEY-----)")]
    NotOne,
    #[error("an RSA key has to have 2048 to 8192 bits: nothing that this one signs is believed")]
    WrongSize,
}

/// What a token says.
#[derive(Deserialize)]
struct Claims {
    #[serde(default)]
    sub: Option<String>,
    role: Role,
    /// In seconds since 1970.
    exp: f64,
}

/// What a key says of what is shown.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Checked {
    /// It has signed that.
    Holds {
        account: String,
        role: Role,
        until: SystemTime,
    },
    /// It has signed that, which is over.
    Over,
    Unknown,
}

impl KeptKey {
    /// # Errors
    /// When it cannot check a signature.
    pub fn new(name: &str, role: Role, created_at: String, pem: &str) -> Result<Self, NoKey> {
        let (name, pem) = (name.to_owned(), pem.trim().to_owned());
        if !pem.starts_with(BEGINNING) || pem.len() > PEM_BYTES_MAX {
            return Err(NoKey::NotOne);
        }
        let key = KeptKey { name, role, created_at, pem };
        match key.decoding() {
            None => Err(NoKey::NotOne),
            Some((Algorithm::RS256, _)) if !key.has_size_of_rsa() => Err(NoKey::WrongSize),
            Some(_) => Ok(key),
        }
    }

    /// Whether signatures of an RSA key of that size can be checked. What is around the number in
    /// the PEM takes about as much in each.
    fn has_size_of_rsa(&self) -> bool {
        let lines = self.pem.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
        RSA_PEM_CHARS.contains(&lines.map(str::len).sum())
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
    pub fn check(&self, shown: &str) -> Checked {
        let Some((algorithm, key)) = self.decoding() else { return Checked::Unknown };
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.validate_aud = false;
        validation.set_required_spec_claims(&["exp"]);
        let claims = match decode::<Claims>(shown, &key, &validation) {
            Ok(decoded) => decoded.claims,
            // The signature is looked at first.
            Err(error) if *error.kind() == ErrorKind::ExpiredSignature => return Checked::Over,
            Err(_) => return Checked::Unknown,
        };
        let subject = claims.sub.map_or_else(String::new, |subject| {
            let shown: String = subject.chars().take(SUBJECT_CHARS_MAX).collect();
            format!(" ({})", printable(&shown))
        });
        let account = format!("key {}{subject}", self.name);
        let until = claims.exp.clamp(0.0, EXP_MAX) as u64 + LEEWAY_SECONDS;
        let until = SystemTime::UNIX_EPOCH + Duration::from_secs(until);
        Checked::Holds { account, role: claims.role.min(self.role), until }
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
pub(super) mod tests;
