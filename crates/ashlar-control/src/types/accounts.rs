//! Tokens and keys.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::Role;

/// Who asks, what they may do, and where the API is served.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Who asks, for people.
    pub caller: String,
    /// What they may do.
    pub role: Role,
    /// Where the API is served beside the daemon's socket: IP addresses with their ports.
    pub addresses: Vec<String>,
    /// The SHA-256 of the certificate that clients meet there, by which they know the daemon. Null:
    /// it is not served there.
    pub certificate_fingerprint: Option<String>,
}

/// A token to be made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// Its name, of up to 64 letters, digits, dots, underscores and hyphens.
    pub name: String,
    /// What whoever shows it may do.
    pub role: Role,
    /// Seconds until it expires; without that it never does.
    #[serde(default)]
    pub expires_seconds: Option<u64>,
}

/// A token, as far as anybody can see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its identifier, which is a part of it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What whoever shows it may do.
    pub role: Role,
    /// `valid` or `expired`.
    pub states: Vec<String>,
    /// When it was made: RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it expires: RFC 3339, UTC. Null: never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// A token that was made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct NewToken {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// What its owner shows. It is not kept, and nobody can say it again.
    pub secret: String,
}

/// A key to be registered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddKey {
    /// Its name, as that of a token.
    pub name: String,
    /// What those may do at most who show a token that it has signed.
    pub role: Role,
    /// The public key, in PEM: of Ed25519 (for EdDSA) or RSA (for RS256).
    pub public_key_pem: String,
}

/// A registered key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// What those may do at most who show a token that it has signed.
    pub role: Role,
    /// `EdDSA` or `RS256`.
    pub algorithm: String,
    /// When it was registered: RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
}
