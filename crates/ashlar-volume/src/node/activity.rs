//! What goes on in a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use ashlar_block::VolumeUuid;
use ashlar_block::latency::{Activity, Histogram, OpKind};

use super::Node;
use crate::activity::{Measured, PoolActivity, Scope};
use crate::dispatcher::{Dispatcher, Gone};
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::table::ReactorIndex;

/// What hosts do with these volumes, over all reactors that `dispatcher` reaches.
pub(crate) async fn of_volumes<B: DriveProvider, C: Dispatcher<B>>(
    dispatcher: &C,
    volumes: Arc<[VolumeUuid]>,
) -> Result<BTreeMap<VolumeUuid, Activity>, Gone> {
    let mut all = BTreeMap::<VolumeUuid, Activity>::new();
    for reactor in 0..dispatcher.reactors() {
        let volumes = volumes.clone();
        let counted = dispatcher.call(ReactorIndex(reactor), move |home| async move {
            home.volume_activity(&volumes).await
        });
        for (volume, activity) in counted.await? {
            all.entry(volume).or_default().add(&activity);
        }
    }
    Ok(all)
}

/// How long commands of that kind took for these volumes, all together, over all reactors that
/// `dispatcher` reaches.
pub(crate) async fn latency_of<B: DriveProvider, C: Dispatcher<B>>(
    dispatcher: &C,
    volumes: Arc<[VolumeUuid]>,
    kind: OpKind,
) -> Result<Histogram, Gone> {
    let mut all = Histogram::default();
    for reactor in 0..dispatcher.reactors() {
        let volumes = volumes.clone();
        let took = dispatcher.call(ReactorIndex(reactor), move |home| async move {
            home.latency(&volumes, kind).await
        });
        all.add(&took.await?);
    }
    Ok(all)
}

/// Counts anew what hosts do with these volumes, on all reactors that `dispatcher` reaches. One
/// that has ended counts nothing.
pub(crate) async fn reset<B: DriveProvider, C: Dispatcher<B>>(
    dispatcher: &C,
    volumes: Arc<[VolumeUuid]>,
) {
    for reactor in 0..dispatcher.reactors() {
        let volumes = volumes.clone();
        let counted = dispatcher.call(ReactorIndex(reactor), move |home| async move {
            volumes.iter().for_each(|volume| home.reset_activity(*volume));
        });
        let _ = counted.await;
    }
}

impl<B: DriveProvider, C: Dispatcher<B> + Send + Sync> Node<B, C> {
    /// What goes on in the pools that are open, by name, as far as it is wanted.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn activity(&self, scope: Scope) -> Result<Vec<PoolActivity>, Gone> {
        let scope = Arc::new(scope);
        let mut pools = Vec::new();
        for reactor in 0..self.dispatcher.reactors() {
            let scope = scope.clone();
            let told = self
                .dispatcher
                .call(ReactorIndex(reactor), |home| async move { home.activity(&scope) });
            pools.extend(told.await?);
        }
        pools.sort_by(|one: &PoolActivity, other| one.name.cmp(&other.name));
        let volumes = pools.iter().flat_map(|pool| &pool.volumes).map(|volume| volume.uuid);
        let mut counted = of_volumes(&self.dispatcher, volumes.collect()).await?;
        for volume in pools.iter_mut().flat_map(|pool| &mut pool.volumes) {
            volume.activity = counted.remove(&volume.uuid).unwrap_or_default();
        }
        Ok(pools)
    }

    /// How long commands for a volume took, by kind and size.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn volume_measured(&self, volume: VolumeUuid) -> Result<Measured, Gone> {
        let mut all = Measured::default();
        for reactor in 0..self.dispatcher.reactors() {
            let measured = self.dispatcher.call(ReactorIndex(reactor), move |home| async move {
                home.volume_measured(volume)
            });
            all.add(&measured.await?);
        }
        Ok(all)
    }

    /// How long operations of a drive took, by its name in the pool. `None`: no drive of that name
    /// is open.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn drive_measured(
        &self,
        pool: &str,
        drive: String,
    ) -> Result<Option<Measured>, NodeError> {
        let at = self.locate(pool).await?;
        let measured =
            move |home: std::rc::Rc<_>, uuid| async move { drive_measured(&home, uuid, &drive) };
        self.at_pool(at, measured).await
    }
}

fn drive_measured<B: DriveProvider>(
    home: &crate::reactor_pools::ReactorPools<B>,
    pool: ashlar_block::PoolUuid,
    drive: &str,
) -> Result<Option<Measured>, NodeError> {
    Ok(home.drive_measured(pool, drive))
}
