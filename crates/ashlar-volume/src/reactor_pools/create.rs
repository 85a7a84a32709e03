//! Taking drives for a new pool: nobody's data is overwritten unasked, and after a refusal nothing
//! has changed.

use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_block::{Device, DriveId, DriveUuid, PoolUuid, within};
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{
    AddError, CreateError, NewPool, OPEN_ANSWER_MAX, OpenPolicy, Options, RestoreError,
    label_to_restore, restore_label,
};
use futures_util::future::join_all;

use super::members::{FoundMember, FoundPool};
use super::{Opening, PoolDrive, PoolStore, ReactorPools};
use crate::drive_provider::{
    DriveContent, DriveFacts, DriveProvider, ProvidedDrive, inspect, read_superblock,
};
use crate::error::NodeError;
use crate::report::{HeldDrive, PoolRecord};

/// A pool to be made.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    /// What it is to be.
    pub new: NewPool,
    /// Its drives, as people name them.
    pub drives: Vec<String>,
    /// Take drives that hold something.
    pub force: bool,
    /// How it is opened then.
    pub options: Options,
}

/// What a drive is and holds.
#[derive(Clone, Debug)]
pub struct DriveReading {
    /// What is known of it.
    pub facts: DriveFacts,
    /// What it holds.
    pub content: DriveContent,
}

pub(super) type Taken<B> = Vec<ProvidedDrive<<B as DriveProvider>::Device>>;

impl<B: DriveProvider> ReactorPools<B> {
    /// Makes a pool of blank drives, or of any with `force`, and opens it.
    ///
    /// # Errors
    /// [`NodeError`]; the drives are as they were, and files that were made are gone again.
    pub async fn create_pool(&self, request: CreateRequest) -> Result<PoolRecord, NodeError> {
        let drives = self.open_for_pool(&request.drives, true).await?;
        match self.create_on(&request, &drives).await {
            Ok(pool) => self.open_created(pool, drives, request).await,
            Err(error) => {
                self.give_back(drives);
                Err(error)
            }
        }
    }

    async fn create_on(
        &self,
        request: &CreateRequest,
        drives: &Taken<B>,
    ) -> Result<PoolUuid, NodeError> {
        self.check_may_take(drives, request.force).await?;
        let devices = drives.iter().map(|drive| drive.device.clone()).collect();
        let created = ashlar_store::create(&self.world, &request.new, devices).await;
        created.map_err(|error| not_created(error, drives))
    }

    /// Nobody's data is on them, or nobody wants them.
    pub(super) async fn check_may_take(
        &self,
        drives: &Taken<B>,
        force: bool,
    ) -> Result<(), NodeError> {
        if force {
            return self.check_not_elsewhere(drives).await;
        }
        for drive in drives {
            self.check_blank(drive).await?;
        }
        Ok(())
    }

    async fn check_blank(&self, drive: &ProvidedDrive<B::Device>) -> Result<(), NodeError> {
        let spec = &drive.facts.spec;
        match self.content_of(drive).await? {
            DriveContent::Blank => Ok(()),
            other => {
                let (spec, content, is_of_pool) =
                    (spec.clone(), other.describe(), other.is_of_pool());
                Err(NodeError::Holds { spec, content, is_of_pool })
            }
        }
    }

    /// What a drive holds, unless it hangs.
    pub(super) async fn content_of(
        &self,
        drive: &ProvidedDrive<B::Device>,
    ) -> Result<DriveContent, NodeError> {
        let spec = &drive.facts.spec;
        let content = async {
            inspect(&self.provider, &drive.device).await.map_err(|error| failed(spec, error))
        };
        self.in_time(spec, content).await
    }

    /// Does something with a drive, unless it hangs: whatever else is to change waits for it.
    pub(super) async fn in_time<T>(
        &self,
        spec: &str,
        work: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        let done = within(&self.world, OPEN_ANSWER_MAX, work).await;
        done.unwrap_or_else(|| Err(NodeError::NoAnswer(spec.to_owned())))
    }

    async fn open_created(
        &self,
        pool: PoolUuid,
        drives: Taken<B>,
        request: CreateRequest,
    ) -> Result<PoolRecord, NodeError> {
        let mut members = Vec::new();
        for drive in drives {
            let spec = &drive.facts.spec;
            let superblock =
                async { read_superblock(&drive.device).await.map_err(|error| failed(spec, error)) };
            let superblock = self.in_time(spec, superblock).await?;
            members.push(FoundMember::new(superblock, drive));
        }
        let found = FoundPool {
            uuid: pool,
            name: request.new.name,
            rename: None,
            members,
            others: Vec::new(),
            skipped_drives: Vec::new(),
        };
        self.open_members(found, request.options, OpenPolicy::Most, &Opening::default()).await
    }

    /// Opens each drive once, all at a time. None stays open after an error, and none that was made
    /// for it stays.
    pub(super) async fn open_for_pool(
        &self,
        specs: &[String],
        make: bool,
    ) -> Result<Taken<B>, NodeError> {
        if specs.is_empty() {
            return Err(NodeError::NoDrives);
        }
        self.check_distinct(specs)?;
        let opened = join_all(specs.iter().map(|spec| self.open_one(spec, make))).await;
        let (taken, mut refused): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        let taken: Taken<B> = taken.into_iter().flatten().collect();
        if refused.is_empty() {
            return Ok(taken);
        }
        self.give_back(taken);
        Err(refused.swap_remove(0).err().unwrap_or(NodeError::NoDrives))
    }

    /// A file that is to be made takes as long as its size needs; what is there answers soon, or
    /// hangs.
    async fn open_one(
        &self,
        spec: &str,
        make: bool,
    ) -> Result<ProvidedDrive<B::Device>, NodeError> {
        let open = async { self.provider.open(spec, make).await.map_err(NodeError::Drive) };
        if make && !self.provider.exists(spec) {
            open.await
        } else {
            self.in_time(spec, open).await
        }
    }

    /// Closes drives, and removes those that were made.
    pub(super) fn give_back(&self, drives: Taken<B>) {
        let made = drives.iter().filter(|drive| drive.made).map(|drive| drive.facts.spec.clone());
        let made: Vec<String> = made.collect();
        drop(drives);
        made.iter().for_each(|spec| self.provider.unmake(spec));
    }

    fn check_distinct(&self, specs: &[String]) -> Result<(), NodeError> {
        let mut seen: BTreeMap<String, &String> = BTreeMap::new();
        let in_use = self.identities_in_use();
        for spec in specs {
            let Some(identity) = self.provider.identity(spec) else { continue };
            if let Some(held) = in_use.get(&identity) {
                return Err(held.refuses(spec));
            }
            if let Some(other) = seen.insert(identity, spec) {
                return Err(NodeError::SameDrive(other.clone(), spec.clone()));
            }
        }
        Ok(())
    }

    fn identities_in_use(&self) -> BTreeMap<String, HeldDrive> {
        let held = self.held().into_iter();
        held.filter_map(|held| Some((self.provider.identity(&held.spec)?, held))).collect()
    }

    /// Takes a blank drive into a pool, or any with `force`, instead of an old one if it is for
    /// that. Returns what is to be remembered of the pool.
    ///
    /// # Errors
    /// [`NodeError`]; a file that was made for it is gone again, unless it may be a member all the
    /// same.
    pub async fn add_drive(
        &self,
        uuid: PoolUuid,
        old: Option<DriveId>,
        spec: String,
        force: bool,
    ) -> Result<PoolRecord, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.turn_to_change().await?;
        pool.store.check_room_below()?;
        let drives = self.open_for_pool(std::slice::from_ref(&spec), true).await?;
        let added = self.add_to(&pool.store, &drives[0], old, force).await;
        let member = match &added {
            Ok(uuid) => {
                let status = pool.store.status();
                let member =
                    status.drives.iter().find(|it| it.uuid == *uuid).expect("it is a member");
                Some((member.drive, member.uuid))
            }
            // Some drive may say already that it is a member.
            Err(NodeError::AddDrive { error: AddError::Unsettled { drive, uuid, .. }, .. }) => {
                Some((*drive, *uuid))
            }
            Err(_) => None,
        };
        match member {
            Some((id, uuid)) => pool.drives.borrow_mut().extend(drives.into_iter().map(|drive| {
                let pool_bytes = drive.device.size_bytes();
                PoolDrive { id, uuid, drive, pool_bytes }
            })),
            None => self.give_back(drives),
        }
        added.map(|_| pool.record(&self.provider))
    }

    async fn add_to(
        &self,
        store: &PoolStore<B>,
        drive: &ProvidedDrive<B::Device>,
        old: Option<DriveId>,
        force: bool,
    ) -> Result<DriveUuid, NodeError> {
        self.check_may_add(store, drive, force).await?;
        let spec = drive.facts.spec.clone();
        let added = store.add_drive(drive.device.clone(), old).await;
        added.map_err(|error| NodeError::AddDrive { spec, error })
    }

    /// Nobody's data is on it, or nobody wants them.
    pub(super) async fn check_may_add(
        &self,
        store: &PoolStore<B>,
        drive: &ProvidedDrive<B::Device>,
        force: bool,
    ) -> Result<(), NodeError> {
        if force {
            self.check_not_elsewhere(std::slice::from_ref(drive)).await
        } else {
            self.check_free(store, drive).await
        }
    }

    /// One that was being added when the daemon was killed carries the pool's label, and holds
    /// nothing.
    async fn check_free(
        &self,
        store: &PoolStore<B>,
        drive: &ProvidedDrive<B::Device>,
    ) -> Result<(), NodeError> {
        let checked = self.check_blank(drive).await;
        if !matches!(checked, Err(NodeError::Holds { .. })) {
            return checked;
        }
        let is_free = async {
            match read_superblock(&drive.device).await {
                Ok(superblock) => Ok(store.was_about_to_be_added(&superblock, &drive.device).await),
                Err(_) => Ok(false),
            }
        };
        if self.in_time(&drive.facts.spec, is_free).await? { Ok(()) } else { checked }
    }

    /// Makes sure that a drive can be taken into the pool later. It is let go of again.
    ///
    /// # Errors
    /// [`NodeError`]; a file that was made for it is gone again.
    pub async fn prepare_spare(
        &self,
        uuid: PoolUuid,
        spec: String,
        force: bool,
    ) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let drives = self.open_for_pool(std::slice::from_ref(&spec), true).await?;
        // What is true of a drive that is added, or comes for another one, is true of a spare.
        let fits = pool.store.check_size(drives[0].device.size_bytes());
        let prepared = match fits {
            Ok(()) => self.make_blank(&drives[0], force).await,
            Err(error) => Err(NodeError::AddDrive { spec, error }),
        };
        if prepared.is_err() {
            self.give_back(drives);
        }
        prepared
    }

    async fn make_blank(
        &self,
        drive: &ProvidedDrive<B::Device>,
        force: bool,
    ) -> Result<(), NodeError> {
        let checked = self.check_blank(drive).await;
        if checked.is_ok() || !force {
            return checked;
        }
        self.check_not_elsewhere(std::slice::from_ref(drive)).await?;
        let spec = &drive.facts.spec;
        let labelled = async { Ok(read_superblock(&drive.device).await.ok()) };
        if let Some(superblock) = self.in_time(spec, labelled).await? {
            self.wipe(drive, superblock.drive_bytes).await?;
        }
        self.wipe(drive, drive.device.size_bytes()).await?;
        self.check_blank(drive).await
    }

    pub(super) async fn wipe(
        &self,
        drive: &ProvidedDrive<B::Device>,
        size_bytes: u64,
    ) -> Result<(), NodeError> {
        let spec = &drive.facts.spec;
        let wiped = ashlar_store::wipe(&drive.device, size_bytes);
        self.in_time(spec, async { wiped.await.map_err(|error| failed(spec, error)) }).await
    }

    /// Looks what a drive is and holds. It is let go of again.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub async fn inspect_drive(&self, spec: String) -> Result<DriveReading, NodeError> {
        let drives = self.open_for_pool(std::slice::from_ref(&spec), false).await?;
        let drive = drives.into_iter().next().expect("one was asked for");
        let content = self.content_of(&drive).await?;
        Ok(DriveReading { facts: drive.facts, content })
    }

    /// Takes the label of whatever pool it belonged to off a drive. Of other content only with
    /// `force`.
    ///
    /// # Errors
    /// When it holds something that is not Ashlar's, or cannot be written.
    pub async fn clear_label(
        self: &Rc<Self>,
        spec: String,
        force: bool,
    ) -> Result<DriveReading, NodeError> {
        let drives = self.open_for_pool(std::slice::from_ref(&spec), false).await?;
        let drive = drives.into_iter().next().expect("one was asked for");
        let content = self.content_of(&drive).await?;
        if let DriveContent::Foreign(what) = &content
            && !force
        {
            return Err(NodeError::holds_foreign(&spec, what));
        }
        self.check_not_elsewhere(std::slice::from_ref(&drive)).await?;
        let size_bytes =
            content.label().map_or(drive.device.size_bytes(), |label| label.drive_bytes);
        self.wipe(&drive, size_bytes).await?;
        Ok(DriveReading { facts: drive.facts, content })
    }

    /// What a drive holds whose label was overwritten, and the label that it would get back.
    ///
    /// # Errors
    /// When it has a label, or no copy of one is left.
    pub async fn restorable_label(
        &self,
        spec: String,
    ) -> Result<(DriveReading, Superblock), NodeError> {
        let drives = self.open_for_pool(std::slice::from_ref(&spec), false).await?;
        let drive = drives.into_iter().next().expect("one was asked for");
        let content = self.content_of(&drive).await?;
        let label = self.label_to_restore(&drive).await?;
        Ok((DriveReading { facts: drive.facts, content }, label))
    }

    /// Writes a drive's label anew from the copy that partition tools do not reach. Returns what is
    /// on the drive then.
    ///
    /// # Errors
    /// As of [`Self::restorable_label`], or when it cannot be written.
    pub async fn restore_label(&self, spec: String) -> Result<DriveReading, NodeError> {
        let drives = self.open_for_pool(std::slice::from_ref(&spec), false).await?;
        let drive = drives.into_iter().next().expect("one was asked for");
        self.label_to_restore(&drive).await?;
        self.of_label(&spec, restore_label(&drive.device)).await?;
        let content = self.content_of(&drive).await?;
        Ok(DriveReading { facts: drive.facts, content })
    }

    /// The label, unless another machine has its pool open, with this drive.
    async fn label_to_restore(
        &self,
        drive: &ProvidedDrive<B::Device>,
    ) -> Result<Superblock, NodeError> {
        let spec = &drive.facts.spec;
        let label = self.of_label(spec, label_to_restore(&drive.device)).await?;
        self.check_not_open_elsewhere(drive, &label).await?;
        Ok(label)
    }

    async fn of_label(
        &self,
        spec: &str,
        work: impl Future<Output = Result<Superblock, RestoreError>>,
    ) -> Result<Superblock, NodeError> {
        self.in_time(spec, async { work.await.map_err(|error| failed(spec, error)) }).await
    }
}

/// Why a pool cannot be made, by the name of the drive.
pub(super) fn not_created<D>(error: CreateError, drives: &[ProvidedDrive<D>]) -> NodeError {
    match error {
        CreateError::TooSmall { index, .. } | CreateError::Drive { index, .. } => {
            NodeError::CreateDrive { spec: drives[index].facts.spec.clone(), error }
        }
        error => error.into(),
    }
}

fn failed(spec: &str, error: impl std::fmt::Display) -> NodeError {
    NodeError::Drive(format!("{spec}: {error}"))
}
