//! What the daemon remembers of its pools while it runs, and what is missing of it.

use std::collections::BTreeMap;

use ashlar_control::{ApiError, ErrorKind};
use ashlar_volume::PoolRecord;

use super::state::{DriveState, PoolState, StateDir};

/// What is remembered, and what is missing of it.
pub struct Memory {
    state: StateDir,
    /// Why a pool is not open, by UUID.
    unavailable: BTreeMap<String, String>,
}

impl Memory {
    /// What `state` remembers; pools of `unavailable` are not open, for the reason given with their UUID.
    pub fn new(state: StateDir, unavailable: Vec<(String, String)>) -> Self {
        Memory { state, unavailable: unavailable.into_iter().collect() }
    }

    /// A pool by its UUID.
    pub fn pool(&self, uuid: &str) -> Option<&PoolState> {
        self.state.node.pools.iter().find(|pool| pool.uuid == uuid)
    }

    /// A pool that is not open, by its name or UUID.
    pub fn unavailable_pool(&self, name: &str) -> Option<&PoolState> {
        let named = |pool: &&PoolState| pool.name == name || pool.uuid == name;
        self.state.node.pools.iter().filter(|pool| self.unavailable.contains_key(&pool.uuid)).find(named)
    }

    /// Remembers a pool, and where members were that are not there. It is open all the same if that fails: the error says what is to be done.
    pub fn remember(&mut self, record: &PoolRecord) -> Result<(), ApiError> {
        let mut pool = PoolState::of(record);
        let is_away = |drive: &&DriveState| {
            let is_member = record.members.iter().any(|member| member.to_string() == drive.uuid);
            is_member && record.drives.iter().all(|(_, there)| there.to_string() != drive.uuid)
        };
        let known = self.pool(&pool.uuid).map_or(&[][..], |known| known.drives.as_slice());
        pool.drives.extend(known.iter().filter(is_away).cloned());
        self.unavailable.remove(&pool.uuid);
        let changed = self.state.change(|node| {
            node.pools.retain(|known| known.uuid != pool.uuid);
            node.pools.push(pool);
        });
        let name = &record.name;
        changed.map_err(|error| {
            not_remembered(&format!("pool '{name}' is open, but will not be at the next start"), &error)
        })
    }

    /// Numbers up to `high` are never given out again, also after a restart.
    pub fn remember_nsids(&mut self, high: u32) -> Result<(), ApiError> {
        let noted = self.state.note_nsids(high);
        noted.map_err(|error| not_remembered("the namespace numbers that are in use cannot be noted", &error))
    }

    /// A pool that was open is so no more, for this reason.
    pub fn is_not_open(&mut self, uuid: String, why: String) {
        self.unavailable.insert(uuid, why);
    }

    /// Why pools are not open, each with what is known of it.
    pub fn unavailable(&self) -> impl Iterator<Item = (&PoolState, &str)> {
        self.unavailable.iter().filter_map(|(uuid, why)| Some((self.pool(uuid)?, why.as_str())))
    }

    /// Forgets a pool. It is closed all the same if that fails: the error says what is to be done.
    pub fn forget(&mut self, uuid: &str) -> Result<(), ApiError> {
        self.unavailable.remove(uuid);
        let changed = self.state.change(|node| node.pools.retain(|known| known.uuid != uuid));
        changed.map_err(|error| {
            not_remembered("the pool is closed, but will be looked for at the next start", &error)
        })
    }
}

fn not_remembered(what: &str, error: &anyhow::Error) -> ApiError {
    ApiError::new(ErrorKind::Internal, "state_not_written", format!("{what}: {error:#}"))
}

#[cfg(test)]
mod tests;
