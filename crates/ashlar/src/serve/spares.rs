//! Spare drives: which of them a pool has, and which is taken for what it has lost. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_drive::Machine;
use serde::{Deserialize, Serialize};

/// The spares of a pool, as the daemon remembers them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spares {
    /// How those are named that wait, in the order in which they are taken.
    pub waiting: Vec<String>,
    /// Members that were lost and for which a drive has come, by their UUIDs.
    pub made_good: Vec<String>,
    /// The one that is being taken. After a crash it may be a member already.
    pub taking: Option<Taking>,
    /// What tells those that wait from other drives, by how they are named; of one of which nothing
    /// tells there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub identities: BTreeMap<String, String>,
}

/// A spare that is being taken.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taking {
    /// How it is named.
    pub spec: String,
    /// The UUID of the member that it is for, unless that is forgotten already.
    #[serde(default)]
    pub lost: Option<String>,
}

/// What a pool lacks.
#[derive(Clone, Copy, Debug)]
pub struct Lacking<'a> {
    /// Members that are lost and not restored yet, by their UUIDs.
    pub lost: &'a [String],
    /// All is restored, on fewer drives than the pool was made of.
    pub is_reduced: bool,
}

impl Spares {
    /// There is nothing to remember.
    pub fn is_empty(&self) -> bool {
        *self == Spares::default()
    }

    /// The spare to be taken now, if one is: the first that has not been `refused`.
    pub fn next(&self, lacking: Lacking<'_>, refused: &BTreeSet<&str>) -> Option<Taking> {
        let lost = lacking.lost.iter().find(|uuid| !self.made_good.contains(uuid)).cloned();
        if lost.is_none() && !lacking.is_reduced {
            return None;
        }
        let spec = self.waiting.iter().find(|spec| !refused.contains(spec.as_str()))?.clone();
        Some(Taking { spec, lost })
    }

    /// A drive waits from now on.
    pub fn add(&mut self, spec: String, identity: Option<String>) {
        self.identities.remove(&spec);
        self.identities.extend(identity.map(|identity| (spec.clone(), identity)));
        self.waiting.push(spec);
    }

    /// It waits no more.
    pub fn remove(&mut self, spec: &str) {
        self.waiting.retain(|waiting| *waiting != spec);
        self.identities.remove(spec);
    }

    /// Whether the drive that is named so is still the one that became a spare, by what tells it
    /// now.
    pub fn is_still(&self, spec: &str, now: Option<&str>) -> bool {
        let is_it = |known: &String| now.is_some_and(|now| Machine::is_same_drive(known, now));
        self.identities.get(spec).is_none_or(is_it)
    }

    /// What was being taken is a member of the pool now.
    pub fn taken(&mut self) {
        let Some(Taking { spec, lost }) = self.taking.take() else { return };
        self.remove(&spec);
        self.made_good.extend(lost);
    }

    /// A member that was to be replaced stays: if it is lost, a spare is to come for it.
    pub fn stays(&mut self, member: &str) {
        self.made_good.retain(|uuid| uuid != member);
    }

    /// Forgets what was made good of members that the pool has no more.
    pub fn keep_members(&mut self, members: &[String]) {
        self.made_good.retain(|uuid| members.contains(uuid));
    }
}

#[cfg(test)]
mod tests;
