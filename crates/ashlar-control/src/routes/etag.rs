//! Which version of a pool, a volume or a policy a client has seen: its entity tag (RFC 9110,
//! section 8.8.3).
//!
//! It covers what people choose, not what goes on: figures that change by themselves would make
//! each look another version.

use axum::Json;
use axum::http::header::ETAG;
use axum::http::{HeaderName, HeaderValue};
use blake3::Hasher;
use serde::Serialize;

use crate::error::ApiError;
use crate::types::{Pool, PoolDrive, QosPolicy, Volume, VolumeQos};

#[cfg(test)]
mod tests;

/// What is answered, with its tag.
pub(super) type WithTag<T> = ([(HeaderName, HeaderValue); 1], Json<T>);
pub(super) type Tagged<T> = Result<WithTag<T>, ApiError>;

pub(super) fn tagged_volume(volume: Volume) -> WithTag<Volume> {
    ([(ETAG, ETag::of_volume(&volume).header())], Json(volume))
}

pub(super) fn tagged_policy(policy: QosPolicy) -> WithTag<QosPolicy> {
    ([(ETAG, ETag::of_policy(&policy).header())], Json(policy))
}

/// What people may have decided of a drive: whether it is used, is to leave, or is given up. How
/// far the pool is with what lived on it is what goes on.
fn standing(drive: &PoolDrive) -> &'static str {
    let is = |state: &str| drive.states.iter().any(|it| it == state);
    match () {
        () if is("online") => "used",
        () if is("evacuating") => "leaving",
        () => "lost",
    }
}

/// The tag of one version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ETag(String);

impl ETag {
    /// The tag of a pool: `policies` are those of all pools, one of which may be its default.
    pub fn of_pool(pool: &Pool, policies: &[QosPolicy]) -> Self {
        let formatted_bytes = pool.of_space(|space| space.formatted_bytes);
        let spares: Vec<&str> = pool.spares.iter().map(|spare| &*spare.spec).collect();
        let drives: Vec<_> = pool.drives.iter().map(|it| (&*it.uuid, standing(it))).collect();
        let is_default = |it: &&QosPolicy| it.pool == pool.name && it.default;
        let default = policies.iter().find(is_default).map(|it| &*it.name);
        let chosen = (pool.settings, formatted_bytes, default);
        Self::of(&(&pool.uuid, &pool.name, chosen, spares, drives))
    }

    pub fn of_volume(volume: &Volume) -> Self {
        let seen_by_hosts = (volume.size_bytes, &volume.access, volume.atomic_write_bytes);
        // What its limits have held up is nothing that somebody has chosen.
        let VolumeQos { policy, source, limits, weight, .. } = &volume.qos;
        let chosen = (&volume.compression, volume.write_protected, policy, source, limits, weight);
        Self::of(&(&volume.uuid, &volume.pool, &volume.name, seen_by_hosts, chosen))
    }

    pub fn of_policy(policy: &QosPolicy) -> Self {
        let QosPolicy { name, pool, limits, weight, default, .. } = policy;
        Self::of(&(pool, name, limits, weight, default))
    }

    fn of(chosen: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(chosen).expect("it is plain data");
        let hash = Hasher::new().update(&bytes).finalize().to_hex();
        ETag(format!("\"{}\"", &hash[..32]))
    }

    /// Whether the header `If-Match` means this version (RFC 9110, section 13.1.1).
    pub fn is_in(&self, if_match: &str) -> bool {
        if_match.trim() == "*" || if_match.split(',').any(|tag| tag.trim() == self.0)
    }

    /// As the header `ETag` has it.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("it is ASCII")
    }
}
