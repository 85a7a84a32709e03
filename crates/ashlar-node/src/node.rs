//! What the control plane may ask of the pools of this machine.

use std::sync::Arc;
use std::time::Duration;

use ashlar_block::{DriveUuid, PoolUuid, VolumeUuid};
use ashlar_reactor::Stats as ReactorStats;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{NewPool, OpenPolicy, Options, WantedCapacity};
use ashlar_volume::qos::{Policy, PolicyChange};
use ashlar_volume::{
    AccessChange, DriveErase, DrivePlan, DriveReading, DriveReport, Given, Gone, HeldDrive,
    KnownPool, Measured, NewVolume, Node, NodeError, Nsid, Opening, Order, PoliciesReport,
    PoolActivity, PoolPlan, PoolRecord, PoolReport, Removal, Scope, SettingsChange, Table,
    VolumeChange, VolumeReport,
};
use futures_util::future::BoxFuture;

use crate::drives::MachineDrives;
use crate::reactors::Reactors;

/// All pools of this machine's daemon: a [`Node`] of real drives. Clones are the same node.
#[derive(Clone)]
pub struct MachineNode {
    node: Node<MachineDrives, Reactors>,
    reactors: Reactors,
}

/// Where a drive was that has this identity, if anybody remembers it.
type Remembered<'a> = Box<dyn FnOnce(DriveUuid) -> Option<String> + Send + 'a>;

/// Each of these is the one of the same name of [`Node`], which says what it does.
macro_rules! asked_of_the_node {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        impl MachineNode {
            $(
                #[doc = concat!("[`Node::", stringify!($name), "`].")]
                #[doc = "\n# Errors\nThe same."]
                pub fn $name<'a>(&'a self, $($argument: $type),*) -> BoxFuture<'a, $output> {
                    Box::pin(self.node.$name($($argument),*))
                }
            )*
        }
    };
}

asked_of_the_node! {
    fn reports() -> Result<Vec<PoolReport>, Gone>;
    fn held() -> Result<Vec<HeldDrive>, Gone>;
    fn report(pool: &'a str) -> Result<PoolReport, NodeError>;
    fn record(pool: &'a str) -> Result<PoolRecord, NodeError>;
    fn activity(scope: Scope) -> Result<Vec<PoolActivity>, Gone>;
    fn volume_measured(volume: VolumeUuid) -> Result<Measured, Gone>;
    fn drive_measured(pool: &'a str, drive: String) -> Result<Option<Measured>, NodeError>;

    fn policies() -> Result<Vec<PoliciesReport>, Gone>;
    fn create_policy(pool: &'a str, name: String, policy: Policy) -> Result<PoliciesReport, NodeError>;
    fn change_policy(
        pool: &'a str, name: String, change: PolicyChange
    ) -> Result<PoliciesReport, NodeError>;
    fn delete_policy(pool: &'a str, name: String) -> Result<PoliciesReport, NodeError>;
    fn set_default_policy(pool: &'a str, name: Option<String>) -> Result<PoliciesReport, NodeError>;

    fn create_pool(new: NewPool, drives: Vec<String>, force: bool) -> Result<PoolRecord, NodeError>;
    fn plan_pool(new: NewPool, drives: Vec<String>, force: bool) -> Result<PoolPlan, NodeError>;
    fn open_pool(
        pool: Option<String>, given: Given, policy: OpenPolicy, closed: Vec<KnownPool>
    ) -> Result<PoolRecord, NodeError>;
    fn open_known(
        pools: &'a [KnownPool], at: usize, member_wait: Duration, opening: Opening
    ) -> Result<PoolRecord, NodeError>;
    fn reopen_pool(pool: &'a str, name: &'a str, drives: Vec<String>) -> Result<PoolRecord, NodeError>;
    fn rename_pool(
        pool: &'a str, name: String, closed: Vec<KnownPool>
    ) -> Result<PoolRecord, NodeError>;
    fn set_pool(pool: &'a str, change: SettingsChange) -> Result<PoolReport, NodeError>;
    fn scrub(pool: &'a str, order: Order) -> Result<PoolReport, NodeError>;
    fn trim(pool: &'a str, order: Order) -> Result<PoolReport, NodeError>;
    fn verify(pool: &'a str, order: Order) -> Result<PoolReport, NodeError>;
    fn grow(pool: &'a str) -> Result<PoolReport, NodeError>;
    fn rebalance(pool: &'a str, order: Order) -> Result<PoolReport, NodeError>;
    fn set_capacity(
        pool: &'a str, wanted: WantedCapacity, is_forced: bool
    ) -> Result<PoolReport, NodeError>;
    fn release_reserve(pool: &'a str) -> Result<PoolReport, NodeError>;
    fn close_pool(pool: &'a str) -> Result<PoolUuid, NodeError>;
    fn close_all() -> Vec<(String, NodeError)>;
    fn destroy_pool(pool: &'a str) -> Result<PoolUuid, NodeError>;
    fn destroy_and_erase_pool(pool: &'a str) -> Result<PoolUuid, NodeError>;
    fn drive_erases() -> Result<Vec<DriveErase>, Gone>;

    fn inspect_drive(spec: String) -> Result<DriveReading, NodeError>;
    fn prepare_spare(pool: &'a str, spec: String, force: bool) -> Result<(), NodeError>;
    fn clear_label(spec: String, force: bool) -> Result<DriveReading, NodeError>;
    fn restorable_label(spec: String) -> Result<(DriveReading, Superblock), NodeError>;
    fn restore_label(spec: String) -> Result<DriveReading, NodeError>;
    fn drive_named(pool: &'a str, name: &'a str) -> Result<DriveReport, NodeError>;
    fn add_drive(pool: &'a str, spec: String, force: bool) -> Result<PoolRecord, NodeError>;
    fn plan_drive(pool: &'a str, spec: String, force: bool) -> Result<DrivePlan, NodeError>;
    fn may_fail_drive(pool: &'a str, name: &'a str, force: bool) -> Result<(), NodeError>;
    fn fail_drive(pool: &'a str, name: String, force: bool) -> Result<PoolReport, NodeError>;
    fn may_remove_drive(pool: &'a str, name: &'a str) -> Result<(), NodeError>;
    fn remove_drive(pool: &'a str, name: String, removal: Removal) -> Result<PoolReport, NodeError>;
    fn replace_drive(
        pool: &'a str, name: String, spec: String, force: bool
    ) -> Result<PoolRecord, NodeError>;
    fn return_drive(
        pool: &'a str, name: String, at: Option<String>, remembered: Remembered<'a>
    ) -> Result<PoolRecord, NodeError>;

    fn create_volume(pool: &'a str, nsid: Nsid, new: NewVolume) -> Result<VolumeReport, NodeError>;
    fn change_volume(
        pool: &'a str, name: String, change: VolumeChange
    ) -> Result<VolumeReport, NodeError>;
    fn wipe_volume(pool: &'a str, name: String) -> Result<VolumeReport, NodeError>;
    fn change_access(
        pool: &'a str, name: String, change: AccessChange
    ) -> Result<VolumeReport, NodeError>;
    fn delete_volume(pool: &'a str, name: String) -> Result<(), NodeError>;
}

impl MachineNode {
    /// The node that `reactors` serve. Its pools are opened with `options`.
    pub fn new(table: Arc<Table>, reactors: Reactors, options: Options) -> Self {
        MachineNode { node: Node::new(table, reactors.clone(), options), reactors }
    }

    /// What each reactor has done, and what it holds now.
    ///
    /// # Errors
    /// [`Gone`].
    pub fn reactor_stats(&self) -> BoxFuture<'_, Result<Vec<ReactorStats>, Gone>> {
        self.reactors.stats()
    }

    /// The table of its namespaces.
    pub fn table(&self) -> &Arc<Table> {
        self.node.table()
    }
}
