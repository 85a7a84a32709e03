//! What the daemon remembers of its pools while it runs, and what is missing of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ashlar_control::{ApiError, ErrorKind};
use ashlar_volume::PoolRecord;

use super::bay::name_the_same;
use super::spares::{Lacking, Spares, Taking};
use super::state::{DriveState, PoolState, StateDir};

/// When a spare that could not be taken is tried again.
const REFUSED_RETRY: Duration = Duration::from_secs(60);

/// What is remembered, and what is missing of it.
pub struct Memory {
    state: StateDir,
    /// Why a pool is not open, by UUID.
    unavailable: BTreeMap<String, String>,
    /// Spares that could not be taken, by how they are named.
    refused: BTreeMap<String, Refused>,
}

/// Why a spare could not be taken, and when.
struct Refused {
    why: String,
    at: Instant,
}

impl Memory {
    /// What `state` remembers; pools of `unavailable` are not open, for the reason given with their UUID.
    pub fn new(state: StateDir, unavailable: Vec<(String, String)>) -> Self {
        Memory { state, unavailable: unavailable.into_iter().collect(), refused: BTreeMap::new() }
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
        if let Some(known) = self.pool(&pool.uuid) {
            pool.drives.extend(known.drives.iter().filter(is_away).cloned());
            pool.spares = known.spares.clone();
            pool.spares.keep_members(&record.members.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
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

    /// Numbers above `high` were given out to nobody. If that cannot be noted, they are passed over.
    pub fn take_back_nsids(&mut self, high: u32) {
        if let Err(error) = self.state.take_back_nsids(high) {
            tracing::warn!("namespace numbers that nobody has seen are passed over: {error:#}");
        }
    }

    /// The name of the pool that has this drive as a spare.
    pub fn pool_with_spare(&self, drive: &str) -> Option<String> {
        let has = |pool: &&PoolState| pool.spares.waiting.iter().any(|spec| name_the_same(spec, drive));
        self.state.node.pools.iter().find(has).map(|pool| pool.name.clone())
    }

    /// The pools that have spares, or are about to have taken one.
    pub fn pools_with_spares(&self) -> Vec<String> {
        let has = |pool: &&PoolState| !pool.spares.waiting.is_empty() || pool.spares.taking.is_some();
        self.state.node.pools.iter().filter(has).map(|pool| pool.uuid.clone()).collect()
    }

    /// A spare of a pool as it was named when it became one.
    pub fn spare_of(&self, uuid: &str, drive: &str) -> Option<String> {
        let waiting = &self.pool(uuid)?.spares.waiting;
        waiting.iter().find(|spec| name_the_same(spec, drive)).cloned()
    }

    /// The spare that is to be taken for what a pool lacks.
    pub fn next_spare(&self, uuid: &str, lacking: Lacking<'_>) -> Option<Taking> {
        let is_recent = |refused: &Refused| refused.at.elapsed() < REFUSED_RETRY;
        let refused = self.refused.iter().filter(|(_, refused)| is_recent(refused));
        let refused: BTreeSet<&str> = refused.map(|(spec, _)| spec.as_str()).collect();
        self.pool(uuid)?.spares.next(lacking, &refused)
    }

    /// Changes what is remembered of a pool's spares, durably; after an error nothing has changed.
    pub fn change_spares(&mut self, uuid: &str, change: impl FnOnce(&mut Spares)) -> Result<(), ApiError> {
        let changed = self.state.change(|node| {
            if let Some(pool) = node.pools.iter_mut().find(|pool| pool.uuid == uuid) {
                change(&mut pool.spares);
            }
        });
        changed.map_err(|error| not_remembered("the spares of the pool are as they were", &error))
    }

    /// A spare could not be taken.
    pub fn spare_is_refused(&mut self, spec: String, why: String) {
        self.refused.insert(spec, Refused { why, at: Instant::now() });
    }

    /// Nothing is known against a spare any more.
    pub fn spare_is_well(&mut self, spec: &str) {
        self.refused.remove(spec);
    }

    /// Why a spare could not be taken.
    pub fn refusal(&self, spec: &str) -> Option<&str> {
        self.refused.get(spec).map(|refused| refused.why.as_str())
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
