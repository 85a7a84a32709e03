//! Policies as they lie in the store.
//!
//! What the store keeps with a pool are tagged fields:
//!
//! | tag | bytes | field |
//! |---|---|---|
//! | 1 | … | a policy: once for each |
//! | 2 | 1 … 64 | name of the policy of volumes of which nothing is said |
//!
//! A policy consists of fields as well. A limit of 0 is none:
//!
//! | tag | bytes | field |
//! |---|---|---|
//! | 1 | 1 … 64 | name; not of a volume's own |
//! | 2 | 24 | commands per second: all, reads, writes |
//! | 3 | 24 | bytes per second: all, reads, writes |
//! | 4 | 24 | commands per second for each GiB: all, reads, writes |
//! | 5 | 4 | burst in milliseconds; 100 without it |
//! | 6 | 2 | weight; 100 without it |
//!
//! A policy that only a newer version understands, or that is out of the bounds that this one
//! knows, is kept as it is, and shown to nobody: volumes that name it are not limited. Its name is
//! taken, and it can be deleted.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use ashlar_store::format::codec::{Malformed, Reader, Writer};
use ashlar_store::format::fields::{FieldsError, Kept, put_field, put_kept, take_fields};
use bytes::Bytes;

use super::policy::{Flows, Policy, PolicySource, Resolved, VolumeQos};

const WHAT: &str = "pool's policies";

/// The policies of a pool.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolPolicies {
    by_name: BTreeMap<String, Stored>,
    default: Option<String>,
    /// Policies that this version does not understand, with their names where these are known.
    not_understood: Vec<(Option<String>, Bytes)>,
    kept: Kept,
}

/// A policy, with what a newer version has added to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Stored {
    policy: Policy,
    kept: Kept,
}

impl PoolPolicies {
    /// The policies that `bytes` hold. None at all for no bytes.
    ///
    /// # Errors
    /// They are cut off, say what cannot be, or what only a newer version understands.
    pub fn decode(bytes: &[u8]) -> Result<Self, FieldsError> {
        let mut policies = PoolPolicies::default();
        policies.kept = take_fields(WHAT, bytes, |tag, r| policies.take(tag, r))?;
        Ok(policies)
    }

    fn take(&mut self, tag: u16, r: &mut Reader<'_>) -> Result<bool, FieldsError> {
        match tag {
            1 => {
                let bytes = r.bytes(r.rest().len())?;
                let (name, stored) = take_policy(bytes)?;
                match (name, stored) {
                    (Some(name), Some(stored)) => drop(self.by_name.insert(name, stored)),
                    (None, Some(_)) => return Err(r.malformed().into()),
                    (name, None) => {
                        self.not_understood.push((name, Bytes::copy_from_slice(bytes)));
                    }
                }
            }
            2 => self.default = Some(text(r)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The bytes for the store.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        for (name, Stored { policy, kept }) in &self.by_name {
            put_field(&mut w, 1, |w| {
                put_field(w, 1, |w| w.bytes(name.as_bytes()));
                put_policy(w, policy);
                put_kept(w, kept);
                w
            });
        }
        for (_, bytes) in &self.not_understood {
            put_field(&mut w, 1, |w| w.bytes(bytes));
        }
        if let Some(name) = &self.default {
            put_field(&mut w, 2, |w| w.bytes(name.as_bytes()));
        }
        put_kept(&mut w, &self.kept);
        w.0
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Policy)> {
        self.by_name.iter().map(|(name, stored)| (name.as_str(), &stored.policy))
    }

    /// How many there are, with those that are not understood.
    pub fn count(&self) -> usize {
        self.by_name.len() + self.not_understood.len()
    }

    /// The one that is called so.
    pub fn named(&self, name: &str) -> Option<&Policy> {
        self.by_name.get(name).map(|stored| &stored.policy)
    }

    /// Whether one is called so, be it understood or not.
    pub fn has_name(&self, name: &str) -> bool {
        self.by_name.contains_key(name) || self.knows_not(name)
    }

    /// Whether one is called so that this version does not understand.
    pub fn knows_not(&self, name: &str) -> bool {
        self.not_understood.iter().any(|(known, _)| known.as_deref() == Some(name))
    }

    /// The name of the one that counts for volumes of which nothing is said.
    pub fn default_name(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// Adds one, or changes the one that is called so.
    pub fn put(&mut self, name: &str, policy: Policy) {
        self.by_name.entry(name.to_owned()).or_default().policy = policy;
    }

    /// Takes one away. Whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let count = self.count();
        self.by_name.remove(name);
        self.not_understood.retain(|(known, _)| known.as_deref() != Some(name));
        self.count() < count
    }

    /// Says which one counts for volumes of which nothing is said.
    pub fn set_default(&mut self, name: Option<String>) {
        self.default = name;
    }

    /// What counts for a volume. One whose policy is not there is not limited.
    pub fn resolve(&self, choice: &VolumeQos) -> Resolved {
        let named = |name: &str, source| Resolved {
            name: Some(name.to_owned()),
            policy: self.named(name).copied().unwrap_or_default(),
            source,
        };
        let unnamed = |policy, source| Resolved { name: None, policy, source };
        match (choice, &self.default) {
            (VolumeQos::Named(name), _) => named(name, PolicySource::Volume),
            (VolumeQos::Own(policy), _) => unnamed(*policy, PolicySource::Volume),
            (VolumeQos::Unlimited, _) => unnamed(Policy::default(), PolicySource::Volume),
            (VolumeQos::PoolDefault, Some(name)) => named(name, PolicySource::Pool),
            (VolumeQos::PoolDefault, None) => unnamed(Policy::default(), PolicySource::Nobody),
        }
    }
}

/// Writes the fields of a policy, but for its name.
pub(crate) fn put_policy(w: &mut Writer, policy: &Policy) {
    let Policy { limits, weight } = policy;
    let all = [(2, &limits.iops), (3, &limits.bytes_per_second), (4, &limits.iops_per_gib)];
    for (tag, flows) in all {
        if flows.0.iter().any(Option::is_some) {
            put_field(w, tag, |w| put_flows(w, flows));
        }
    }
    put_field(w, 5, |w| w.u32(limits.burst.as_millis() as u32));
    put_field(w, 6, |w| w.u16(*weight));
}

fn put_flows<'w>(w: &'w mut Writer, flows: &Flows<Option<NonZeroU64>>) -> &'w mut Writer {
    flows.0.iter().fold(w, |w, limit| w.u64(limit.map_or(0, NonZeroU64::get)))
}

/// A volume's own policy. `None`: only a newer version understands it.
///
/// # Errors
/// It is cut off, or says what cannot be.
pub(crate) fn take_own(bytes: &[u8]) -> Result<Option<(Policy, Kept)>, FieldsError> {
    let (_, stored) = take_policy(bytes)?;
    Ok(stored.map(|Stored { policy, kept }| (policy, kept)))
}

/// A policy and its name. None of it: this version does not understand what it says, or what it
/// says is out of the bounds that this version has.
fn take_policy(bytes: &[u8]) -> Result<(Option<String>, Option<Stored>), FieldsError> {
    let (mut name, mut policy) = (None, Policy::default());
    let limits = &mut policy.limits;
    let kept = take_fields(WHAT, bytes, |tag, r| {
        match tag {
            1 => name = Some(text(r)?),
            2 => limits.iops = take_flows(r)?,
            3 => limits.bytes_per_second = take_flows(r)?,
            4 => limits.iops_per_gib = take_flows(r)?,
            5 => limits.burst = Duration::from_millis(r.u32()?.into()),
            6 => policy.weight = r.u16()?,
            _ => return Ok(false),
        }
        Ok(true)
    });
    let kept = match kept {
        Ok(kept) => kept,
        Err(FieldsError::Unknown { .. }) => return Ok((name, None)),
        Err(error) => return Err(error),
    };
    let is_understood = policy.check().is_ok();
    Ok((name, is_understood.then_some(Stored { policy, kept })))
}

fn take_flows(r: &mut Reader<'_>) -> Result<Flows<Option<NonZeroU64>>, Malformed> {
    let mut flows = Flows::default();
    for limit in &mut flows.0 {
        *limit = NonZeroU64::new(r.u64()?);
    }
    Ok(flows)
}

pub(crate) fn text(r: &mut Reader<'_>) -> Result<String, Malformed> {
    let bytes = r.bytes(r.rest().len())?;
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| r.malformed())
}

#[cfg(test)]
mod tests;
