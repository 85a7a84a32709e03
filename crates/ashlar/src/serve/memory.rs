//! What the daemon remembers of its pools while it runs, and what is missing of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar_control::{ApiError, ErrorCode, Warning};
use ashlar_node::name_the_same;
use ashlar_volume::{Opening, OpeningStage, PoolRecord};

use super::finder::WantedPool;
use super::returns::Returns;
use super::spares::{Lacking, Spares, Taking};
use super::state::{
    Directory, DriveState, NodeState, PoolState, StateDir, ToWrite, WriteError, Written,
};

/// When a spare that could not be taken is tried again.
const REFUSED_RETRY: Duration = Duration::from_secs(60);

/// What is remembered, and what is missing of it.
pub struct Memory {
    state: StateDir,
    /// Pools that are not open, by UUID.
    not_open: BTreeMap<String, NotOpen>,
    /// Spares that could not be taken, by how they are named.
    refused: BTreeMap<String, Refused>,
    /// Drives that may not come back by themselves.
    pub returns: Returns,
    /// Who has to know which drives are looked for.
    on_change: Box<dyn Fn(Vec<WantedPool>) + Send>,
}

/// Why a pool is not open.
#[derive(Clone, Debug)]
pub enum NotOpen {
    /// It is being opened.
    Opening(Opening),
    /// It could not be opened.
    Unavailable(String),
    /// A fault in Ashlar itself has stopped it, and it is not opened by itself.
    Stopped(String),
    /// It was memory, of which nothing is left.
    Gone,
}

const GONE: &str = "its drives were in memory and ended with their daemon: `ashlar pool export` makes \
                    this node forget the pool";

impl NotOpen {
    /// In a word.
    pub fn state(&self) -> &'static str {
        match self {
            NotOpen::Opening(_) => "opening",
            NotOpen::Unavailable(_) | NotOpen::Stopped(_) | NotOpen::Gone => "unavailable",
        }
    }

    /// As a sentence to be continued.
    pub fn why(&self) -> String {
        match self {
            NotOpen::Unavailable(why) | NotOpen::Stopped(why) => why.clone(),
            NotOpen::Gone => GONE.to_owned(),
            NotOpen::Opening(opening) => match opening.stage() {
                OpeningStage::Looking => "looking for its drives".to_owned(),
                OpeningStage::Waiting(drives) if drives.is_empty() => {
                    "waiting for its drives".to_owned()
                }
                OpeningStage::Waiting(drives) => format!("waiting for {}", drives.join(", ")),
                OpeningStage::Reading => "reading what is on its drives".to_owned(),
            },
        }
    }
}

/// Why a spare could not be taken, and when.
struct Refused {
    why: String,
    at: Instant,
}

impl Memory {
    /// What `state` remembers. None of its pools is open yet. `on_change` is told of all pools
    /// whenever one of them changes.
    pub fn new(state: StateDir, on_change: impl Fn(Vec<WantedPool>) + Send + 'static) -> Self {
        let not_open =
            state.node.pools.iter().map(|pool| (pool.uuid.clone(), not_open_yet(pool))).collect();
        let on_change = Box::new(on_change);
        Memory { state, not_open, refused: BTreeMap::new(), returns: Returns::default(), on_change }
    }

    /// All pools, in the order in which they came.
    pub fn pools(&self) -> &[PoolState] {
        &self.state.node.pools
    }

    /// All that is remembered of the node.
    pub fn node(&self) -> &NodeState {
        &self.state.node
    }

    /// The daemon's directory.
    pub fn directory(&self) -> Arc<Directory> {
        self.state.directory().clone()
    }

    fn tell(&self) {
        (self.on_change)(self.state.node.pools.iter().map(PoolState::wanted).collect());
    }

    /// A pool by its UUID.
    pub fn pool(&self, uuid: &str) -> Option<&PoolState> {
        self.state.node.pools.iter().find(|pool| pool.uuid == uuid)
    }

    /// A pool that is not open, by its name or UUID.
    pub fn unavailable_pool(&self, name: &str) -> Option<&PoolState> {
        let named = |pool: &&PoolState| pool.name == name || pool.uuid == name;
        self.state
            .node
            .pools
            .iter()
            .filter(|pool| self.not_open.contains_key(&pool.uuid))
            .find(named)
    }

    /// Why a pool is not open; `None`: it is.
    pub fn not_open(&self, uuid: &str) -> Option<&NotOpen> {
        self.not_open.get(uuid)
    }

    /// Remembers a pool, and where members were that are not there.
    pub fn remember(&mut self, record: &PoolRecord) {
        let mut pool = PoolState::of(record);
        let is_away = |drive: &&DriveState| {
            let is_member = record.members.iter().any(|member| member.to_string() == drive.uuid);
            is_member && record.drives.iter().all(|(_, there)| there.to_string() != drive.uuid)
        };
        if let Some(known) = self.pool(&pool.uuid) {
            pool.drives.extend(known.drives.iter().filter(is_away).cloned());
            pool.spares = known.spares.clone();
            // One that was taken and not remembered waits no more.
            record.drives.iter().for_each(|(there, _)| pool.spares.remove(there));
            pool.spares
                .keep_members(&record.members.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        self.not_open.remove(&pool.uuid);
        self.state.change(|node| {
            // It keeps its place: of two pools of one name the first is opened.
            match node.pools.iter_mut().find(|known| known.uuid == pool.uuid) {
                Some(known) => *known = pool,
                None => node.pools.push(pool),
            }
        });
        self.tell();
    }

    /// Refuses what is worse forgotten than not done, as long as nothing can be remembered.
    ///
    /// # Errors
    /// Why `what` is not done.
    pub fn check_remembers(&mut self, what: &str) -> Result<(), ApiError> {
        self.state.write().map_err(|error| not_remembered(what, error))
    }

    /// The numbers up to `high` that volumes have brought are never given out again, also after a
    /// restart.
    pub fn remember_nsids(&mut self, high: u32) {
        self.state.note_nsids(high);
    }

    /// The same of numbers for volumes that are to be made.
    ///
    /// # Errors
    /// When that cannot be remembered: then they are not to be used.
    pub fn remember_new_nsids(&mut self, high: u32) -> Result<(), ApiError> {
        let what = "Ashlar makes no volume now: a start that did not know its namespace number would \
                    give that to another one";
        self.state.note_nsids_durably(high).map_err(|error| not_remembered(what, error))
    }

    /// Numbers above `high` were given out to nobody.
    pub fn take_back_nsids(&mut self, high: u32) {
        self.state.take_back_nsids(high);
    }

    /// What is to be in the daemon's file. [`Self::note_written`] has to hear what comes of it.
    pub fn begin_write(&mut self) -> ToWrite {
        self.state.begin_write()
    }

    /// Takes note of what came of a write.
    pub fn note_written(&mut self, written: Written) {
        self.state.note(written);
    }

    /// What is not remembered, and the way out.
    pub fn warning(&self) -> Option<Warning> {
        let message = self.state.warning()?;
        Some(Warning { file: self.state.file().display().to_string(), message })
    }

    /// What is not remembered of a pool, as notes about it.
    pub fn unremembered_of(&self, uuid: &str) -> Vec<String> {
        let note =
            |what| format!("a start of the daemon would not know {what}: `ashlar status` says why");
        self.state.unwritten_of(uuid).into_iter().map(note).collect()
    }

    /// The name of the pool that has this drive as a spare.
    pub fn pool_with_spare(&self, drive: &str) -> Option<String> {
        let has =
            |pool: &&PoolState| pool.spares.waiting.iter().any(|spec| name_the_same(spec, drive));
        self.state.node.pools.iter().find(has).map(|pool| pool.name.clone())
    }

    /// The pools that have spares, or are about to have taken one.
    pub fn pools_with_spares(&self) -> Vec<String> {
        let has =
            |pool: &&PoolState| !pool.spares.waiting.is_empty() || pool.spares.taking.is_some();
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

    /// Changes what is remembered of a pool's spares.
    pub fn change_spares(&mut self, uuid: &str, change: impl FnOnce(&mut Spares)) {
        self.state.change(|node| {
            if let Some(pool) = node.pools.iter_mut().find(|pool| pool.uuid == uuid) {
                change(&mut pool.spares);
            }
        });
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

    /// A pool is not open, for this reason. One that is open or forgotten by now stays that.
    pub fn is_not_open(&mut self, uuid: &str, why: NotOpen) {
        if let Some(known) = self.not_open.get_mut(uuid) {
            *known = why;
        }
    }

    /// A pool that was open is so no more, for this reason.
    pub fn was_closed(&mut self, uuid: String, why: NotOpen) {
        self.not_open.insert(uuid, why);
    }

    /// A pool that was to be opened anew has stayed open.
    pub fn is_open(&mut self, uuid: &str) {
        self.not_open.remove(uuid);
    }

    /// Why pools are not open, each with what is known of it.
    pub fn unavailable(&self) -> impl Iterator<Item = (&PoolState, &NotOpen)> {
        self.not_open.iter().filter_map(|(uuid, why)| Some((self.pool(uuid)?, why)))
    }

    /// Forgets a pool.
    pub fn forget(&mut self, uuid: &str) {
        self.not_open.remove(uuid);
        self.state.change(|node| node.pools.retain(|known| known.uuid != uuid));
        self.tell();
    }
}

/// Why a pool is not open that no daemon has begun to open.
fn not_open_yet(pool: &PoolState) -> NotOpen {
    if pool.volatile { NotOpen::Gone } else { NotOpen::Opening(Opening::default()) }
}

fn not_remembered(what: &str, error: &WriteError) -> ApiError {
    let refusal = ApiError::new(ErrorCode::StateNotWritten, format!("{what}: {error}"));
    refusal.with_hint(error.way_out())
}

#[cfg(test)]
mod tests;
