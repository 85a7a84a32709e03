//! The pools that live on one reactor.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use ashlar_block::latency::Meter;
use ashlar_block::{Cause, DriveId, DriveUuid, Nanos, PoolUuid, VolumeId, VolumeUuid};
use ashlar_store::{DriveCondition, DriveStatus, FailError, Opened, Store};
use futures_util::future::{Either, join_all, select};
use futures_util::lock::{Mutex, MutexGuard};

use crate::drive_provider::{DriveFacts, DriveProvider, ProvidedDrive};
use crate::error::NodeError;
use crate::fuse::PoolWorld;
use crate::qos::fair::FairShare;
use crate::qos::gate::Gate;
use crate::report::{HeldDrive, Order, PoolRecord, PoolReport, SettingsChange};
use crate::store_volume::{Erasing, StoreVolume};
use crate::table::{Place, ReactorIndex, Row, Table};
use destroy::Erases;
use notes::Notes;
use open_volume::OpenVolume;
use qos::Policies;
use volumes::namespace_info;

mod activity;
mod change;
mod create;
mod destroy;
mod elsewhere;
mod erasing;
mod members;
mod notes;
mod open;
mod open_volume;
mod opening;
mod plan;
mod qos;
mod rejoin;
mod reports;
mod room;
mod stopped;
mod turns;
mod volumes;
mod watch;

pub use change::{Resize, VolumeChange};
pub use create::{CreateRequest, DriveReading};
pub use destroy::{DriveErase, EraseMethod, EraseOutcome};
pub use open::{Given, KnownPool, OpenRequest};
pub use opening::{Opening, OpeningStage};
pub use plan::{DrivePlan, PoolPlan};
pub use qos::{PoliciesReport, PolicyReport, QosChoice};
pub use stopped::StoppedPool;
pub(crate) use turns::{TurnKey, TurnKeys, Turns};
pub use volumes::{NewVolume, check_volume_size};

/// The store of a pool that is open on this machine.
type PoolStore<B> = Store<PoolWorld<<B as DriveProvider>::World>>;
/// A volume of it.
pub(crate) type PoolVolume<B> = StoreVolume<PoolWorld<<B as DriveProvider>::World>>;

/// What its volumes take turns by.
type PoolFairShare<B> = FairShare<PoolWorld<<B as DriveProvider>::World>>;

/// An erase of it.
type PoolErasing<B> = Erasing<PoolWorld<<B as DriveProvider>::World>>;

/// The pools of one reactor, and what they need of it. Stays on its reactor.
pub struct ReactorPools<B: DriveProvider> {
    index: ReactorIndex,
    provider: B,
    world: B::World,
    table: Arc<Table>,
    pools: Rc<RefCell<BTreeMap<PoolUuid, Rc<OpenPool<B>>>>>,
    /// What hosts do by connections of this reactor, wherever the volumes live.
    meters: RefCell<BTreeMap<VolumeUuid, Rc<Meter>>>,
    /// Who of them waits for the limits of a volume.
    gates: RefCell<BTreeMap<VolumeUuid, Rc<Gate<B::World>>>>,
    /// Turns that commands of other reactors have asked for, and the names of those that commands
    /// of this one ask for elsewhere.
    turns: Turns<PoolWorld<B::World>>,
    turn_keys: Rc<TurnKeys>,
    /// Drives that are being erased, and the last ones that were.
    erases: Rc<RefCell<Erases>>,
    /// Hears of pools that a fault in Ashlar itself has stopped.
    told: Rc<dyn Fn(StoppedPool)>,
}

/// A member drive that was given when the pool was opened.
struct PoolDrive<D> {
    id: DriveId,
    uuid: DriveUuid,
    drive: ProvidedDrive<D>,
    /// The size that the pool uses: where the second superblock is.
    pool_bytes: u64,
}

impl<D> PoolDrive<D> {
    /// What is known of it, with the name that it has by now: udev may give it one after it was
    /// opened.
    fn facts<B: DriveProvider<Device = D>>(&self, provider: &B) -> DriveFacts {
        let facts = self.drive.facts.clone();
        let stable_name = facts.kernel.as_deref().and_then(|kernel| provider.stable_name(kernel));
        DriveFacts { stable_name: stable_name.or(facts.stable_name), ..facts }
    }
}

/// What becomes of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removal {
    /// It is to be removed.
    Begin,
    /// It stays.
    Cancel,
}

struct OpenPool<B: DriveProvider> {
    uuid: PoolUuid,
    store: PoolStore<B>,
    opened: Opened,
    /// Who goes first of its volumes.
    fair: Rc<PoolFairShare<B>>,
    policies: RefCell<Policies>,
    drives: RefCell<Vec<PoolDrive<B::Device>>>,
    notes: Notes,
    /// When drives that have failed were first seen to have.
    failed_at: RefCell<BTreeMap<DriveId, Nanos>>,
    /// Drives whose label is being taken off, because they are no members any more.
    parting: RefCell<Vec<String>>,
    volumes: RefCell<BTreeMap<VolumeId, OpenVolume<B>>>,
    /// Those that are being sanitized.
    erasing: RefCell<BTreeMap<VolumeId, Rc<PoolErasing<B>>>>,
    /// It is being closed: nothing is told of it any more, though its store still works.
    is_leaving: Cell<bool>,
    /// Held over each change to the volumes, so that two of them never pass each other.
    changing: Mutex<()>,
}

impl<B: DriveProvider> ReactorPools<B> {
    /// The reactor `index` without pools. `told` hears of those that a fault in Ashlar itself has
    /// stopped.
    pub fn new(
        index: ReactorIndex,
        provider: B,
        table: Arc<Table>,
        told: impl Fn(StoppedPool) + 'static,
    ) -> Rc<Self> {
        let world = provider.world();
        Rc::new(ReactorPools {
            index,
            provider,
            world,
            table,
            pools: Rc::default(),
            meters: RefCell::default(),
            gates: RefCell::default(),
            turns: Turns::default(),
            turn_keys: Rc::new(TurnKeys::new(index)),
            erases: Rc::default(),
            told: Rc::new(told),
        })
    }

    /// This reactor's number.
    pub fn index(&self) -> ReactorIndex {
        self.index
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Turns that commands of other reactors have asked for.
    pub(crate) fn turns(&self) -> &Turns<PoolWorld<B::World>> {
        &self.turns
    }

    /// The names of turns that commands of this reactor ask for elsewhere.
    pub(crate) fn turn_keys(&self) -> &Rc<TurnKeys> {
        &self.turn_keys
    }

    fn pool(&self, uuid: PoolUuid) -> Result<Rc<OpenPool<B>>, NodeError> {
        let pool = self.pools.borrow().get(&uuid).cloned();
        pool.ok_or_else(|| NodeError::NoSuchPool(uuid.to_string()))
    }

    /// The volume at `place`, if it lives here.
    pub(crate) fn volume(&self, place: Place) -> Option<PoolVolume<B>> {
        let pools = self.pools.borrow();
        let volumes = pools.get(&place.pool)?.volumes.borrow();
        volumes.get(&place.volume).map(|open| open.volume.clone())
    }

    /// Everything there is to say of the pools of this reactor.
    pub fn reports(&self) -> Vec<PoolReport> {
        self.of_pools(|pool| pool.report(&self.provider, self.index, &self.table))
    }

    /// All drives that the pools of this reactor have open and that are there: another drive may be
    /// by now where one was that is not.
    pub fn held(&self) -> Vec<HeldDrive> {
        let of_pools = self.of_pools(|pool| pool.held(&self.provider)).concat();
        of_pools.into_iter().chain(self.erases.borrow().held()).collect()
    }

    /// What has to be remembered of a pool.
    pub fn record(&self, uuid: PoolUuid) -> Result<PoolRecord, NodeError> {
        let pool = self.pool(uuid)?;
        let record = pool.fuse().call(|| pool.record(&self.provider));
        record.map_err(|blown| stopped::stopped(pool.name(), blown))
    }

    /// Closes a pool: its namespaces go away, what is under way ends, everything is durable. Its
    /// drives are let go of.
    ///
    /// # Errors
    /// When the store cannot write its last root; the pool is closed all the same, and the next
    /// opening replays.
    pub async fn close_pool(&self, uuid: PoolUuid) -> Result<(), NodeError> {
        Ok(self.take_pool(uuid).await?.store.close().await?)
    }

    /// Gives a drive of a pool up as if it had been pulled. With `force` the pool may halt for
    /// that.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn fail_drive(
        &self,
        uuid: PoolUuid,
        drive: DriveId,
        force: bool,
    ) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        // The others may have no room either for a root that says so: it comes once they do.
        let failed = pool.store.fail_drive(drive, force);
        let failed = match select(pin!(failed), pin!(pool.store.hangs())).await {
            Either::Left((failed, _)) => failed,
            Either::Right((why, _)) => Err(FailError::Pool(why)),
        };
        match failed {
            Err(FailError::Pool(_)) if force && pool.has_halted_without(drive) => Ok(()),
            done => done.map_err(|error| NodeError::FailDrive { pool: pool.name(), error }),
        }
    }

    /// Refuses what [`Self::fail_drive`] would refuse now.
    ///
    /// # Errors
    /// [`NodeError`].
    pub fn may_fail_drive(
        &self,
        uuid: PoolUuid,
        drive: DriveId,
        force: bool,
    ) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        match pool.store.may_fail_drive(drive, force) {
            Err(FailError::Pool(_)) if force && pool.has_halted_without(drive) => Ok(()),
            checked => checked.map_err(|error| NodeError::FailDrive { pool: pool.name(), error }),
        }
    }

    /// Refuses what [`Self::remove_drive`] would refuse now.
    ///
    /// # Errors
    /// [`NodeError`].
    pub fn may_remove_drive(&self, uuid: PoolUuid, drive: DriveId) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let checked = pool.store.may_remove_drive(drive);
        checked.map_err(|error| NodeError::RemoveDrive { pool: pool.name(), error })
    }

    /// Removes a drive of a pool once what lives on it is on others, or lets one stay that was to
    /// be removed.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn remove_drive(
        &self,
        uuid: PoolUuid,
        drive: DriveId,
        removal: Removal,
    ) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        pool.store.check_room_below()?;
        let done = match removal {
            Removal::Begin => pool.store.remove_drive(drive).await,
            Removal::Cancel => pool.store.keep_drive(drive).await,
        };
        done.map_err(|error| NodeError::RemoveDrive { pool: pool.name(), error })
    }

    /// Gives a pool another name.
    ///
    /// # Errors
    /// [`NodeError`]; it has its old name then.
    pub async fn rename_pool(&self, uuid: PoolUuid, name: &str) -> Result<PoolRecord, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.turn_to_change().await?;
        let renamed = pool.store.rename(name).await;
        renamed.map_err(|error| NodeError::RenamePool { pool: pool.name(), error })?;
        Ok(pool.record(&self.provider))
    }

    /// Changes what an operator has chosen for a pool.
    ///
    /// # Errors
    /// [`NodeError`]; it may hold until the daemon ends all the same.
    pub async fn set_pool(&self, uuid: PoolUuid, change: SettingsChange) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let settings = change.of(pool.store.settings());
        if !settings.levels.are_in_order() {
            return Err(NodeError::Levels(settings.levels));
        }
        Ok(pool.store.set_settings(settings).await?)
    }

    /// Begins a scrub of a pool, or stops the one that is under way.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn scrub(&self, uuid: PoolUuid, order: Order) -> Result<(), NodeError> {
        let store = &self.pool(uuid)?.store;
        match order {
            Order::Start => store.start_scrub()?,
            Order::Stop => store.stop_scrub().await?,
        }
        Ok(())
    }

    /// Begins a rebalance of a pool, or stops the one that is under way.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn rebalance(&self, uuid: PoolUuid, order: Order) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        match order {
            Order::Start => pool.store.start_rebalance().await?,
            Order::Stop => pool.store.stop_rebalance().await?,
        }
        Ok(())
    }

    /// Takes a pool out of service: nobody sees it any more, and nothing of its volumes is under
    /// way.
    async fn take_pool(&self, uuid: PoolUuid) -> Result<Rc<OpenPool<B>>, NodeError> {
        let taken = self.suspend_pool(uuid).await?;
        self.table.remove_pool(uuid);
        Ok(taken)
    }

    /// The same, but hosts see its namespaces still. What waits for a drive that hangs is not
    /// waited for longer than the store is.
    async fn suspend_pool(&self, uuid: PoolUuid) -> Result<Rc<OpenPool<B>>, NodeError> {
        let pool = self.pool(uuid)?;
        let changing = pool.unless_it_hangs(pool.changing.lock()).await;
        self.pools.borrow_mut().remove(&uuid).ok_or_else(|| NodeError::NoSuchPool(pool.name()))?;
        pool.is_leaving.set(true);
        pool.fuse().retire();
        let volumes = pool.all_volumes();
        pool.lift_limits();
        volumes.iter().for_each(|volume| self.table.release(volume.attributes().nsid));
        pool.unless_it_hangs(join_all(volumes.iter().map(|volume| volume.close(Cause::NotReady))))
            .await;
        drop(changing);
        Ok(pool)
    }
}

impl<B: DriveProvider> OpenPool<B> {
    /// # Errors
    /// [`NodeError::Taken`]: its drives are another machine's.
    fn is_not_taken(&self) -> Result<(), NodeError> {
        let pool = self.name();
        self.store.taken_by().map_or(Ok(()), |holder| Err(NodeError::Taken { pool, holder }))
    }

    /// Whether it takes no writes any more, and has given the drive up.
    fn has_halted_without(&self, drive: DriveId) -> bool {
        let is_given_up = |it: &DriveStatus| {
            it.drive == drive && matches!(it.condition, DriveCondition::Failed(_))
        };
        self.store.halted().is_some() && self.store.status().drives.iter().any(is_given_up)
    }

    /// Waits for its turn to change the pool's drives, behind which changes of other pools wait. A
    /// change before it may wait for a drive that hangs.
    async fn turn_to_change(&self) -> Result<MutexGuard<'_, ()>, NodeError> {
        match select(pin!(self.changing.lock()), pin!(self.store.hangs())).await {
            Either::Left((turn, _)) => Ok(turn),
            Either::Right((why, _)) => Err(why.into()),
        }
    }

    /// What `work` comes to. `None`: a drive hangs that the pool cannot do without.
    async fn unless_it_hangs<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match select(pin!(work), pin!(self.store.hangs())).await {
            Either::Left((done, _)) => Some(done),
            Either::Right((why, _)) => {
                tracing::warn!(pool = self.name(), %why, "closing the pool although something of it is under way");
                None
            }
        }
    }

    fn all_volumes(&self) -> Vec<PoolVolume<B>> {
        self.volumes.borrow().values().map(|open| open.volume.clone()).collect()
    }

    fn row(&self, home: ReactorIndex, open: &OpenVolume<B>) -> Row {
        let place = Place { home, pool: self.uuid, volume: open.volume.id() };
        Row {
            info: namespace_info(&open.volume),
            place,
            used_bytes: open.used_bytes.clone(),
            throttle: open.throttle.clone(),
            is_shared: self.fair.is_shared().clone(),
        }
    }

    fn name(&self) -> String {
        self.store.name()
    }
}
