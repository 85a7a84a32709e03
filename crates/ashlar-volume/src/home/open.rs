//! Opening a pool: its drives by their labels, its volumes by their attributes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ashlar_block::{PoolUuid, VolumeId};
use ashlar_store::{FoundDrive, OpenPolicy, Options, Store, VolumeEntry, VolumeState};
use futures_util::lock::Mutex;

use super::create::notes_on;
use super::{Home, OpenPool, OpenVolume, PoolDrive};
use crate::attributes::Attributes;
use crate::bay::{DriveBay, DriveContent, inspect};
use crate::error::NodeError;
use crate::report::PoolRecord;
use crate::store_volume::StoreVolume;

/// A pool to be opened.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// Which, by name or UUID. Without it, the drives are those of one pool.
    pub pool: Option<String>,
    /// Where its drives may be.
    pub drives: Vec<String>,
    /// Names that other pools have: a pool of such a name is not opened.
    pub names_taken: Vec<String>,
    /// What is taken as said.
    pub policy: OpenPolicy,
    /// How it is opened.
    pub options: Options,
}

/// What was found on the drives that were given.
struct Found<D> {
    members: Vec<(FoundDrive<D>, PoolDrive<D>)>,
    /// Drives that are no members of any pool, and what they are.
    others: Vec<String>,
}

impl<B: DriveBay> Home<B> {
    /// Opens the pool that drives belong to. Drives that are not there, or belong to no pool or another one,
    /// are left out: the store decides whether enough remain.
    ///
    /// # Errors
    /// [`NodeError`]; nothing is open then.
    pub async fn open_pool(&self, request: OpenRequest) -> Result<PoolRecord, NodeError> {
        if request.drives.is_empty() {
            return Err(NodeError::NoDrives);
        }
        let mut found = self.find_members(&request.drives).await;
        let (uuid, name) = choose_pool(&found, request.pool.as_deref())?;
        if self.pools.borrow().contains_key(&uuid) || request.names_taken.contains(&name) {
            return Err(NodeError::PoolExists(name));
        }
        found.members.retain(|(drive, _)| drive.superblock.pool == uuid);
        let (drives, members): (Vec<_>, Vec<_>) = found.members.into_iter().unzip();
        let mut notes = notes_on(&drives, &members);
        notes.extend(found.others);
        self.open_members(uuid, name, drives, members, notes, request.options, request.policy).await
    }

    async fn find_members(&self, specs: &[String]) -> Found<B::Device> {
        let mut found = Found { members: Vec::new(), others: Vec::new() };
        for spec in specs {
            let drive = match self.open_for_pool(std::slice::from_ref(spec), false) {
                Ok(mut drives) => drives.remove(0),
                Err(error) => {
                    found.others.push(error.to_string());
                    continue;
                }
            };
            match inspect(&self.bay, &drive.device).await {
                Ok(DriveContent::Member(superblock)) => {
                    let member = PoolDrive::new(&superblock, drive.clone());
                    found
                        .members
                        .push((FoundDrive { superblock: *superblock, device: drive.device }, member));
                }
                Ok(DriveContent::Damaged(error)) => found.others.push(format!("{spec}: {error}")),
                Ok(other) => found.others.push(format!("{spec} holds {}", other.describe())),
                Err(error) => found.others.push(format!("{spec}: {error}")),
            }
        }
        found
    }

    #[expect(clippy::too_many_arguments, reason = "each is a part of the pool that is put together here")]
    pub(super) async fn open_members(
        &self,
        uuid: PoolUuid,
        name: String,
        found: Vec<FoundDrive<B::Device>>,
        drives: Vec<PoolDrive<B::Device>>,
        notes: Vec<String>,
        options: Options,
        policy: OpenPolicy,
    ) -> Result<PoolRecord, NodeError> {
        let opened = Store::open(&self.world, found, options, policy).await;
        let (store, opened) = opened.map_err(|error| NodeError::Open { name: name.clone(), error })?;
        tracing::info!(pool = name, replayed = opened.replayed, missing = ?opened.missing, "the pool is open");
        let volumes = RefCell::default();
        let (changing, is_leaving) = (Mutex::default(), Cell::new(false));
        let pool =
            Rc::new(OpenPool { uuid, name, store, opened, drives, notes, volumes, is_leaving, changing });
        if let Err(error) = self.open_volumes(&pool).await {
            pool.all_volumes().iter().for_each(|volume| self.table.release(volume.attributes().nsid));
            let _ = pool.store.close().await;
            return Err(error);
        }
        self.pools.borrow_mut().insert(uuid, pool.clone());
        self.table.put(pool.volumes.borrow().values().map(|open| pool.row(self.index, open)));
        self.watch(&pool);
        Ok(pool.record())
    }

    async fn open_volumes(&self, pool: &OpenPool<B>) -> Result<(), NodeError> {
        let entries: BTreeMap<VolumeId, VolumeEntry> = pool.store.volumes();
        for (id, entry) in entries.into_iter().filter(|(_, entry)| entry.state == VolumeState::Live) {
            match Attributes::decode(&entry.attributes) {
                Ok(attributes) => self.open_volume(pool, id, &entry, attributes).await?,
                Err(error) => {
                    tracing::error!(pool = pool.name, volume = id.0, %error, "a volume is not served");
                }
            }
        }
        Ok(())
    }

    /// A volume whose number another one has by now gets a new one, for good.
    async fn open_volume(
        &self,
        pool: &OpenPool<B>,
        id: VolumeId,
        entry: &VolumeEntry,
        mut attributes: Attributes,
    ) -> Result<(), NodeError> {
        let wanted = attributes.nsid;
        attributes.nsid = self.table.claim(Some(wanted));
        let changed = attributes.nsid != wanted;
        let volume = StoreVolume::new(pool.store.clone(), id, entry.blocks, attributes.clone());
        if changed {
            tracing::warn!(volume = %attributes.name, was = wanted.0, is = attributes.nsid.0, "namespace number taken");
            volume.set_attributes(attributes).await?;
        }
        pool.volumes.borrow_mut().insert(id, OpenVolume::new(volume, entry.compression));
        Ok(())
    }
}

/// The pool that is meant, of those that the drives belong to.
fn choose_pool<D>(found: &Found<D>, wanted: Option<&str>) -> Result<(PoolUuid, String), NodeError> {
    let pool = |(drive, _): &(FoundDrive<D>, _)| (drive.superblock.pool, drive.superblock.pool_name.clone());
    let pools: BTreeSet<(PoolUuid, String)> = found.members.iter().map(pool).collect();
    let is_wanted = |(uuid, name): &(PoolUuid, String)| match wanted {
        Some(wanted) => name == wanted || uuid.to_string() == wanted,
        None => true,
    };
    let mut meant: Vec<(PoolUuid, String)> = pools.into_iter().filter(is_wanted).collect();
    match meant.len() {
        1 => Ok(meant.remove(0)),
        0 => {
            let pool = wanted.map_or("a pool".to_owned(), |name| format!("pool '{name}'"));
            let why = if found.others.is_empty() {
                "they belong to other pools".to_owned()
            } else {
                found.others.join("; ")
            };
            Err(NodeError::NoMembers { pool, why })
        }
        _ => {
            let names = meant.iter().map(|(uuid, name)| format!("{name} {uuid}"));
            Err(NodeError::SeveralPools(names.collect::<Vec<_>>().join(", ")))
        }
    }
}
