//! What the API stands before.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;

use crate::consent::Consent;
use crate::error::ApiError;
use crate::qos_api::QosApi;
use crate::types::{
    ChangePool, ChangeVolume, CreatePool, CreateVolume, DriveErase, DriveInfo, DriveLight,
    DrivePlan, FailDrive, FindDrives, FindPools, Host, HostFigures, ImportPool, ImportablePool,
    IoScope, IoStat, Latency, LocateDrive, NameDrive, NameHosts, NameSpare, PlanDrive, Pool,
    PoolDrive, PoolPlan, ProcessFigures, RemoveDrive, RenamePool, ReplaceDrive, ReturnDrive,
    SetCapacity, Status, Volume,
};

/// The answer to a request, in time.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ApiError>>;

/// A host has made a controller, or one of its controllers has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostVisit {
    /// When.
    pub at: SystemTime,
    /// The host's name.
    pub nqn: String,
    /// Where the controller comes from.
    pub address: String,
    /// The controller.
    pub controller_id: u16,
    /// Controllers that the host has since then.
    pub controllers: usize,
    /// Nothing: it has been made.
    pub end: Option<HostEnd>,
}

/// The end of a controller of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostEnd {
    /// Why, in a word that does not change.
    pub reason: &'static str,
    /// The same for people.
    pub text: &'static str,
    /// It is no fault of host or network.
    pub is_orderly: bool,
    /// How long it was there.
    pub lasted: Duration,
}

/// Hosts that have come and gone since somebody asked last.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HostVisits {
    /// In their order.
    pub visits: Vec<HostVisit>,
    /// Of so many more nothing is known.
    pub lost: u64,
}

/// What has happened in pools since somebody asked last.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Occurrences {
    /// In their order.
    pub all: Vec<Occurrence>,
    /// Of so many more nothing is known.
    pub lost: u64,
}

/// Something that has happened in a pool, put down when it did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// When.
    pub at: SystemTime,
    /// Grows from one to the next.
    pub number: u64,
    /// The pool's UUID.
    pub pool_uuid: String,
    /// What it was.
    pub what: Occurred,
}

/// What has happened in a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Occurred {
    /// It has lost something.
    Lost(Loss),
    /// A volume was erased, or was to be.
    Erased(Erase),
}

/// What a pool has lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Loss {
    /// A drive.
    Drive {
        /// Its name within the pool.
        drive: String,
        /// Why.
        why: String,
    },
    /// The answers of a drive: it has given none for a while, though it owes some.
    Answers {
        /// Its name within the pool.
        drive: String,
    },
    /// It takes no writes any more, for this reason.
    Writes(String),
}

/// The end of the erase of a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Erase {
    /// The pool's name.
    pub pool: String,
    /// The volume's name within the pool.
    pub volume: String,
    /// By what.
    pub by: ErasedBy,
    /// Why it has failed. Nothing: it has not.
    pub failed: Option<String>,
}

/// What has a volume erased.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErasedBy {
    /// A Format of the host of this name.
    Format(String),
    /// A Sanitize of the host of this name.
    Sanitize(String),
    /// The daemon, which has found it unfinished when it opened the pool.
    Start,
}

/// How everything is that is looked at regularly.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Look {
    /// All pools.
    pub pools: Vec<Pool>,
    /// Of pools that are open, by their UUIDs: the number of the last occurrence of which `pools`
    /// knows.
    pub known: BTreeMap<String, u64>,
    /// The drives that are being erased, and those that were.
    pub erases: Vec<DriveErase>,
}

/// A host name that two hosts use at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedHostNqn {
    /// The name.
    pub nqn: String,
    /// The identifiers of both, as UUIDs, and where they come from.
    pub hosts: [(String, String); 2],
}

/// Something that an operator has to see to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// The file of the node that cannot be written.
    pub file: String,
    /// Why, what that means, and the way out.
    pub message: String,
}

/// A node, as far as the API needs it. Each method ends once what it says is done and durable.
/// Those that take a [`Consent`] refuse without it what `consent.rs` says.
pub trait NodeApi: QosApi + Send + Sync + 'static {
    /// Everything at a glance, but for `alerts`, which the API makes of it.
    fn status(&self) -> Answer<'_, Status>;
    /// The hosts that are connected.
    fn hosts(&self) -> Answer<'_, Vec<Host>>;
    /// What hosts have done, those that are connected and some that were.
    fn host_figures(&self) -> Vec<HostFigures>;
    /// The hosts that have connected or gone since this was asked last: the watcher asks, and
    /// nobody else.
    fn take_host_visits(&self) -> HostVisits;
    /// Ends once a host has come or gone: then there may be some to take.
    fn host_visits_have_come(&self) -> BoxFuture<'_, ()>;
    /// How everything is that the watcher looks at.
    fn look(&self) -> Answer<'_, Look>;
    /// What has happened in pools since this was asked last: the watcher asks, and nobody else.
    fn take_occurrences(&self) -> Occurrences;
    /// Ends once something has happened in a pool: then there may be something to take, and
    /// something to look at.
    fn occurrences_have_come(&self) -> BoxFuture<'_, ()>;
    /// The host names that two hosts use at once.
    fn shared_host_nqns(&self) -> Vec<SharedHostNqn>;
    /// What it takes of the machine.
    fn process(&self) -> Answer<'_, ProcessFigures>;
    /// What it cannot remember.
    fn warnings(&self) -> Vec<Warning>;

    /// All pools.
    fn pools(&self) -> Answer<'_, Vec<Pool>>;
    /// Makes a pool.
    fn create_pool(&self, request: CreatePool) -> Answer<'_, Pool>;
    /// What [`Self::create_pool`] would make.
    fn plan_pool(&self, request: CreatePool) -> Answer<'_, PoolPlan>;
    /// Opens a pool.
    fn import_pool(&self, request: ImportPool) -> Answer<'_, Pool>;
    /// The pools that could be opened from these drives.
    fn find_pools(&self, request: FindPools) -> Answer<'_, Vec<ImportablePool>>;
    /// Drives that no pool has.
    fn find_drives(&self, request: FindDrives) -> Answer<'_, Vec<DriveInfo>>;
    /// Closes a pool and forgets it.
    fn export_pool(&self, pool: String, consent: Consent) -> Answer<'_, ()>;
    /// Closes a pool and takes its label off its drives.
    fn destroy_pool(&self, pool: String, consent: Consent) -> Answer<'_, ()>;
    /// Closes a pool, takes its label off its drives, and begins to erase them.
    fn destroy_and_erase_pool(&self, pool: String, consent: Consent)
    -> Answer<'_, Vec<DriveErase>>;
    /// The drives that are being erased, and those that were.
    fn drive_erases(&self) -> Answer<'_, Vec<DriveErase>>;
    /// Gives a pool another name.
    fn rename_pool(&self, pool: String, request: RenamePool) -> Answer<'_, Pool>;
    /// Changes what an operator has chosen for a pool.
    fn change_pool(&self, pool: String, request: ChangePool) -> Answer<'_, Pool>;

    /// Begins a scrub, unless one is under way.
    fn start_scrub(&self, pool: String) -> Answer<'_, Pool>;
    /// Takes the room of drives that have become larger.
    fn grow(&self, pool: String) -> Answer<'_, Pool>;
    /// Begins to tell drives of all space that is free, unless that goes on.
    fn start_trim(&self, pool: String) -> Answer<'_, Pool>;
    /// Stops that, if it goes on.
    fn stop_trim(&self, pool: String) -> Answer<'_, Pool>;
    /// Begins to prove the ledger of a pool, unless that goes on.
    fn start_verify(&self, pool: String) -> Answer<'_, Pool>;
    /// Stops that, if it goes on.
    fn stop_verify(&self, pool: String) -> Answer<'_, Pool>;
    /// What goes on in pools, volumes and drives.
    fn iostat(&self, scope: IoScope) -> Answer<'_, IoStat>;
    /// How long commands for a volume took.
    fn volume_latency(&self, pool: String, volume: String) -> Answer<'_, Latency>;
    /// How long operations of a drive took.
    fn drive_latency(&self, pool: String, drive: String) -> Answer<'_, Latency>;
    /// Stops the scrub that is under way, if one is.
    fn stop_scrub(&self, pool: String) -> Answer<'_, Pool>;

    /// Formats more or less of a pool.
    fn set_capacity(&self, pool: String, request: SetCapacity) -> Answer<'_, Pool>;

    /// Lets hosts have what was kept for when the pool is full.
    fn release_reserve(&self, pool: String) -> Answer<'_, Pool>;

    /// Begins to spread what lives over all drives, unless that goes on already.
    fn start_rebalance(&self, pool: String) -> Answer<'_, Pool>;
    /// Stops that, if it goes on.
    fn stop_rebalance(&self, pool: String) -> Answer<'_, Pool>;

    /// Takes a drive into a pool.
    fn add_drive(&self, pool: String, request: NameDrive) -> Answer<'_, Pool>;
    /// What it would come to if a pool took a drive.
    fn plan_drive(&self, pool: String, request: PlanDrive) -> Answer<'_, DrivePlan>;
    /// Gives a pool a spare.
    fn add_spare(&self, pool: String, request: NameDrive) -> Answer<'_, Pool>;
    /// Takes a spare from a pool.
    fn remove_spare(&self, pool: String, request: NameSpare) -> Answer<'_, Pool>;
    /// Gives a drive of a pool up as if it had been pulled.
    fn fail_drive(&self, pool: String, request: FailDrive, consent: Consent) -> Answer<'_, Pool>;
    /// Removes a drive of a pool once what lives on it is on others.
    fn remove_drive(
        &self,
        pool: String,
        request: RemoveDrive,
        consent: Consent,
    ) -> Answer<'_, Pool>;
    /// Takes a drive back that a pool has lost.
    fn return_drive(&self, pool: String, request: ReturnDrive) -> Answer<'_, Pool>;
    /// Takes a drive into a pool instead of another one.
    fn replace_drive(&self, pool: String, request: ReplaceDrive) -> Answer<'_, Pool>;

    /// The drives of all pools.
    fn drives(&self) -> Answer<'_, Vec<PoolDrive>>;
    /// Looks what a drive is and holds.
    fn inspect_drive(&self, request: NameDrive) -> Answer<'_, DriveInfo>;
    /// Switches the light of a drive's slot.
    fn locate_drive(&self, request: LocateDrive) -> Answer<'_, DriveLight>;
    /// Takes a pool's label off a drive. Answers what it held.
    fn clear_label(&self, request: NameDrive, consent: Consent) -> Answer<'_, DriveInfo>;
    /// Writes a drive's label anew from the copy inside it. Answers what the drive holds then.
    fn restore_label(&self, request: NameDrive, consent: Consent) -> Answer<'_, DriveInfo>;

    /// All volumes.
    fn volumes(&self) -> Answer<'_, Vec<Volume>>;
    /// Makes a volume.
    fn create_volume(&self, request: CreateVolume) -> Answer<'_, Volume>;
    /// Resizes or renames a volume.
    fn change_volume(
        &self,
        pool: String,
        volume: String,
        request: ChangeVolume,
        consent: Consent,
    ) -> Answer<'_, Volume>;
    /// Erases all that a volume holds.
    fn wipe_volume(&self, pool: String, volume: String, consent: Consent) -> Answer<'_, Volume>;
    /// Deletes a volume.
    fn delete_volume(&self, pool: String, volume: String, consent: Consent) -> Answer<'_, ()>;
    /// Lets hosts see a volume.
    fn allow(
        &self,
        pool: String,
        volume: String,
        request: NameHosts,
        consent: Consent,
    ) -> Answer<'_, Volume>;
    /// Lets hosts no longer see a volume.
    fn deny(
        &self,
        pool: String,
        volume: String,
        request: NameHosts,
        consent: Consent,
    ) -> Answer<'_, Volume>;
}
