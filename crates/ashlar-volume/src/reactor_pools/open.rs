//! Opening a pool: its drives by their labels, its volumes by their attributes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{DriveId, PoolUuid, VolumeId, World, check_name};
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{
    FoundDrive, OpenError, OpenPolicy, Opened, Options, Store, VolumeEntry, VolumeState,
};
use futures_util::lock::Mutex;

use super::members::{FoundMember, FoundPool, reasons};
use super::notes::{Notes, difference_in_size};
use super::qos::policies_of;
use super::stopped::stopped;
use super::{OpenPool, OpenVolume, Opening, OpeningStage, PoolDrive, PoolStore, ReactorPools};
use crate::attributes::Attributes;
use crate::door::Nsid;
use crate::drive_provider::{DriveProvider, NoMember};
use crate::error::NodeError;
use crate::fuse::{Fuse, PoolWorld};
use crate::qos::fair::FairShare;
use crate::report::PoolRecord;
use crate::store_volume::StoreVolume;
use crate::table::Table;
use ashlar_block::place::path_of;

/// How often a pool is opened that another machine may have had open meanwhile.
const OPEN_TRIES: u32 = 3;
/// How long drives are waited for that an earlier try has not let go of.
const UNLOCKED_MAX: Duration = Duration::from_secs(5);

/// A pool to be opened.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// Which, by name or UUID. Without it, the drives are those of one pool.
    pub pool: Option<String>,
    /// What people call it, as far as that is known.
    pub name: Option<String>,
    /// Where its drives may be.
    pub drives: Vec<String>,
    /// They are looked for by their labels instead, and by `pool`'s UUID: see
    /// [`DriveProvider::sought`].
    pub seek: bool,
    /// Why others are none, each a sentence: they were looked at before.
    pub skipped_drives: Vec<String>,
    /// The name that it is to have from then on, if not its own.
    pub rename: Option<String>,
    /// Names that other open pools have: a pool of such a name is not opened.
    pub names_taken: Vec<String>,
    /// Pools that are not open, and keep their names from others.
    pub closed: Vec<KnownPool>,
    /// What is taken as said.
    pub policy: OpenPolicy,
    /// How it is opened.
    pub options: Options,
    /// How long members are waited for that the pool counts on and that are not there yet.
    pub member_wait: Duration,
    /// Who looks on.
    pub opening: Opening,
}

/// Where the drives of a pool may be, as somebody has looked for them.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// See [`OpenRequest::drives`].
    pub drives: Vec<String>,
    /// See [`OpenRequest::skipped_drives`].
    pub skipped_drives: Vec<String>,
    /// See [`OpenRequest::rename`].
    pub rename: Option<String>,
}

impl From<Vec<String>> for Given {
    fn from(drives: Vec<String>) -> Self {
        Given { drives, skipped_drives: Vec::new(), rename: None }
    }
}

impl OpenRequest {
    /// That the pool can be called by its name, or is asked for by its UUID: what it holds is not
    /// lost for its name.
    ///
    /// # Errors
    /// [`NodeError::PoolName`].
    fn check_callable<D>(&self, found: &FoundPool<D>) -> Result<(), NodeError> {
        let uuid = found.uuid.to_string();
        if self.pool.as_deref() == Some(&uuid) || check_name(&found.name).is_ok() {
            return Ok(());
        }
        Err(NodeError::PoolName(found.name.escape_default().to_string(), uuid))
    }

    fn is_name_taken<D>(&self, found: &FoundPool<D>) -> bool {
        let uuid = found.uuid.to_string();
        let keeps_it = |other: &KnownPool| other.name == found.name && other.uuid != uuid;
        self.names_taken.contains(&found.name) || self.closed.iter().any(keeps_it)
    }
}

/// A pool that a node has had.
#[derive(Clone, Debug)]
pub struct KnownPool {
    /// Its UUID.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// Where its drives are.
    pub drives: Vec<String>,
}

impl<B: DriveProvider> ReactorPools<B> {
    /// Opens the pool that drives belong to. Drives that are not there, or belong to no pool or
    /// another one, are left out: the store decides whether enough remain.
    ///
    /// # Errors
    /// [`NodeError`]; nothing is open then.
    pub async fn open_pool(&self, mut request: OpenRequest) -> Result<PoolRecord, NodeError> {
        if request.drives.is_empty() && !request.seek {
            return Err(NodeError::NoDrives);
        }
        request.rename.as_deref().map_or(Ok(()), check_name)?;
        let mut tries = OPEN_TRIES;
        loop {
            let mut found = self.find_pool(&request).await?;
            found.rename = request.rename.clone();
            found.name = request.rename.clone().unwrap_or(found.name);
            if self.pools.borrow().contains_key(&found.uuid) || request.is_name_taken(&found) {
                return Err(NodeError::PoolExists(found.name));
            }
            request.check_callable(&found)?;
            tries -= 1;
            request.opening.enter(OpeningStage::Reading);
            let (options, opening) = (request.options.clone(), &request.opening);
            match self.open_members(found, options, request.policy, opening).await {
                Err(error @ NodeError::Open { error: OpenError::Unsure, .. }) if tries > 0 => {
                    tracing::info!(%error, "opening a pool once more");
                    // What the last try had begun to write may keep drives locked for a while.
                    request.member_wait = request.member_wait.max(UNLOCKED_MAX);
                }
                opened => return opened,
            }
        }
    }

    pub(super) async fn open_members(
        &self,
        found: FoundPool<B::Device>,
        options: Options,
        policy: OpenPolicy,
        opening: &Opening,
    ) -> Result<PoolRecord, NodeError> {
        let (fuse, name) = (self.fuse_of(found.uuid, &found.name), found.name.clone());
        self.stop_if_blown(&fuse, found.uuid, &name);
        let opened = fuse.guard(self.open_under(&fuse, found, options, policy, opening)).await;
        let opened = opened.map_err(|blown| stopped(name, blown));
        if let Ok(Err(_)) = opened {
            fuse.retire();
        }
        opened?
    }

    async fn open_under(
        &self,
        fuse: &Rc<Fuse>,
        found: FoundPool<B::Device>,
        options: Options,
        policy: OpenPolicy,
        opening: &Opening,
    ) -> Result<PoolRecord, NodeError> {
        let FoundPool { uuid, name, rename, members, others, skipped_drives } = found;
        let (found, drives): (Vec<_>, Vec<_>) = members.into_iter().map(FoundMember::split).unzip();
        let (given, superblocks) = (places_of(&drives), superblocks_of(&found));
        let world = PoolWorld::new(self.world.clone(), fuse.clone());
        let opened = Store::open(&world, found, options, policy).await;
        let (store, mut opened) = opened.map_err(|error| {
            let others: Vec<String> = reasons(&others).into_iter().chain(skipped_drives).collect();
            not_opened(&name, error, &others, &given)
        })?;
        settle_name(&store, rename.as_deref(), &superblocks).await?;
        let (drives, unknown) = part_with_unknown(&store, drives, &mut opened);
        unknown.iter().for_each(|unknown| tracing::warn!(pool = name, "{}", unknown.why));
        let notes =
            Notes { difference: difference_in_size(&superblocks, &drives), others, unknown };
        tracing::info!(pool = name, replayed = opened.replayed, "the pool is open");
        let pool = Rc::new(OpenPool::new(uuid, store, opened, drives, notes));
        let claimed = self.open_volumes(&pool).await;
        opening.has_opened();
        self.pools.borrow_mut().insert(uuid, pool.clone());
        claimed.keep();
        self.table
            .put_pool(uuid, pool.volumes.borrow().values().map(|open| pool.row(self.index, open)));
        self.watch(&pool);
        self.table.occurrences().ring();
        self.go_on_erasing(&pool);
        Ok(pool.record(&self.provider))
    }

    async fn open_volumes(&self, pool: &OpenPool<B>) -> Claimed<'_> {
        let mut claimed = Claimed { table: &self.table, pool: pool.uuid, nsids: Vec::new() };
        let entries: BTreeMap<VolumeId, VolumeEntry> = pool.store.volumes();
        for (id, entry) in entries.into_iter().filter(|(_, entry)| entry.state == VolumeState::Live)
        {
            match Attributes::decode(&entry.attributes) {
                Ok(attributes) => {
                    self.open_volume(pool, &mut claimed, id, &entry, attributes).await
                }
                Err(error) => {
                    tracing::error!(pool = pool.name(), volume = id.0, %error, "a volume is not served");
                }
            }
        }
        claimed
    }

    /// A volume whose number another one has by now gets a new one: for good, if that can be noted.
    async fn open_volume(
        &self,
        pool: &OpenPool<B>,
        claimed: &mut Claimed<'_>,
        id: VolumeId,
        entry: &VolumeEntry,
        mut attributes: Attributes,
    ) {
        let wanted = attributes.nsid;
        attributes.nsid = match claimed.claim(wanted) {
            Ok(nsid) => nsid,
            Err(error) => {
                let (pool, volume) = (pool.name(), &attributes.name);
                return tracing::error!(pool, %volume, %error, "a volume is not served");
            }
        };
        if attributes.has_other_policy() {
            tracing::warn!(volume = %attributes.name, "this version does not understand its own policy, and holds it to none");
        }
        let changed = attributes.nsid != wanted;
        let volume = StoreVolume::taking_turns(
            pool.store.clone(),
            &pool.fair,
            id,
            entry.blocks,
            attributes.clone(),
        );
        if changed {
            tracing::warn!(volume = %attributes.name, was = wanted.0, is = attributes.nsid.0, "namespace number taken");
            if let Err(error) = volume.change_attributes(|_| attributes).await {
                tracing::warn!(pool = pool.name(), volume = id.0, %error, "its new number holds until the pool is closed");
            }
        }
        pool.volumes.borrow_mut().insert(id, OpenVolume::new(volume, entry.compression));
        pool.apply_qos(id);
    }
}

impl<B: DriveProvider> OpenPool<B> {
    /// A pool that has just been opened. Its volumes are not open yet.
    fn new(
        uuid: PoolUuid,
        store: PoolStore<B>,
        opened: Opened,
        drives: Vec<PoolDrive<B::Device>>,
        notes: Notes,
    ) -> Self {
        let (fair, policies) = (FairShare::new(store.world().clone()), policies_of(&store));
        OpenPool {
            uuid,
            store,
            fair,
            policies,
            opened,
            drives: RefCell::new(drives),
            notes,
            failed_at: RefCell::default(),
            parting: RefCell::default(),
            volumes: RefCell::default(),
            erasing: RefCell::default(),
            is_leaving: Cell::new(false),
            changing: Mutex::default(),
        }
    }
}

/// The numbers of the volumes of a pool that is being opened. Without a pool that has them they are
/// let go of: its work may panic before it is open.
struct Claimed<'a> {
    table: &'a Table,
    pool: PoolUuid,
    nsids: Vec<Nsid>,
}

impl Claimed<'_> {
    fn claim(&mut self, wanted: Nsid) -> Result<Nsid, NodeError> {
        let nsid = self.table.claim_for(self.pool, wanted)?;
        self.nsids.push(nsid);
        Ok(nsid)
    }

    /// The pool has them from now on.
    fn keep(mut self) {
        self.nsids.clear();
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.nsids.iter().for_each(|nsid| self.table.release(*nsid));
    }
}

/// Gives the pool its name: another one if that is asked for, and its own to drives that say an
/// older one. One that cannot be called so is not opened.
async fn settle_name<W: World>(
    store: &Store<W>,
    rename: Option<&str>,
    superblocks: &[Superblock],
) -> Result<(), NodeError> {
    store.settle_name(superblocks).await;
    let Some(name) = rename.filter(|name| *name != store.name()) else { return Ok(()) };
    let renamed = store.rename(name).await;
    if renamed.is_err()
        && let Err(error) = store.close().await
    {
        tracing::info!(pool = store.name(), %error, "closing a pool that cannot have another name");
    }
    renamed.map_err(|error| NodeError::RenamePool { pool: store.name(), error })
}

fn superblocks_of<D>(found: &[FoundDrive<D>]) -> Vec<Superblock> {
    found.iter().map(|drive| drive.superblock.clone()).collect()
}

fn places_of<D>(drives: &[PoolDrive<D>]) -> Vec<(DriveId, String)> {
    drives.iter().map(|given| (given.id, given.drive.facts.spec.clone())).collect()
}

/// Lets go of drives with the pool's label that no record of a member is about, and says of each
/// what it is: a daemon was killed while it added, brought back or removed one, or it is of another
/// line. Nobody else could have it while it is open here.
fn part_with_unknown<W: World>(
    store: &Store<W>,
    drives: Vec<PoolDrive<W::Device>>,
    opened: &mut Opened,
) -> (Vec<PoolDrive<W::Device>>, Vec<NoMember>) {
    let status = store.status();
    let is_known =
        |given: &PoolDrive<W::Device>| status.drives.iter().any(|drive| drive.uuid == given.uuid);
    let (known, unknown): (Vec<_>, Vec<_>) = drives.into_iter().partition(is_known);
    for drive in &unknown {
        // A member may have its number by now.
        if let Some(place) = opened.stale.iter().position(|stale| *stale == drive.id) {
            opened.stale.remove(place);
        }
    }
    let note = |drive: PoolDrive<W::Device>| {
        let (spec, id, pool) = (drive.drive.facts.spec, drive.id, &status.name);
        let why = format!(
            "{spec} carries a label as {id} of pool '{pool}', which has no such drive, so Ashlar \
             leaves it alone. If you want nothing on it: `ashlar drive label-clear`, then `ashlar \
             pool add-drive` or `ashlar pool replace` takes it as a new drive"
        );
        NoMember { spec, why }
    };
    (known, unknown.into_iter().map(note).collect())
}

/// Where drives are missing, what the `others` are that were given says why; where they contradict
/// each other, where those are that carry the pool's label.
pub(super) fn not_opened(
    name: &str,
    error: OpenError,
    others: &[String],
    given: &[(DriveId, String)],
) -> NodeError {
    let why = match &error {
        OpenError::TooManyMissing { missing, .. } => why_missing(others, &stale(missing, given)),
        OpenError::NotWhole { missing, .. } | OpenError::HalfMissing { missing, .. } => {
            let stale = stale(missing, given);
            why_missing(others, &stale) + &way_out_of_stale(name, &stale)
        }
        OpenError::Cloned(drive) => format!(". The two are {}", places(given, |id| id == *drive)),
        OpenError::Diverged { drive } => {
            let (its, theirs) =
                (places(given, |id| id == *drive), places(given, |id| id != *drive));
            format!(". That drive is {its}, and the others are {theirs}")
        }
        _ => String::new(),
    };
    NodeError::Open { name: name.to_owned(), error, why }
}

/// Drives that are missing and were given all the same: the pool has gone on without them.
fn stale(missing: &[DriveId], given: &[(DriveId, String)]) -> Vec<(DriveId, String)> {
    given.iter().filter(|(id, _)| missing.contains(id)).cloned().collect()
}

fn why_missing(others: &[String], stale: &[(DriveId, String)]) -> String {
    let stale = stale.iter().map(|(id, spec)| {
        let path = path_of(spec);
        format!("{path} is {id}, but stale: the pool has gone on without it, or it does not answer")
    });
    match Vec::from_iter(stale.chain(others.iter().cloned()))[..] {
        [] => ". No drives were given that might be these".to_owned(),
        ref given => format!(". Of those that were given: {}", given.join("; ")),
    }
}

fn way_out_of_stale(pool: &str, stale: &[(DriveId, String)]) -> String {
    let [(DriveId(first), _), ..] = stale else { return String::new() };
    format!(
        ". Open the pool with `--degraded`; then `ashlar drive return {pool}/drive-{first}` restores \
         what a stale drive has missed"
    )
}

fn places(given: &[(DriveId, String)], are_meant: impl Fn(DriveId) -> bool) -> String {
    let meant = given.iter().filter(|(id, _)| are_meant(*id)).map(|(_, spec)| path_of(spec));
    meant.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests;
