//! What becomes of a pool whose work has panicked: it goes out of service, and everything else goes
//! on.

use std::future::Future;
use std::rc::Rc;

use ashlar_block::{PoolUuid, Spawn};

use super::{OpenPool, ReactorPools};
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::fuse::{Blown, Fuse};
use crate::table::Table;

/// A pool that a fault in Ashlar itself has stopped. Its drives are let go of; what was
/// acknowledged is on them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoppedPool {
    /// Its UUID.
    pub uuid: PoolUuid,
    /// Its name.
    pub name: String,
    /// What the panic said, and where.
    pub why: String,
    /// Nothing of it is left, and its drives can be opened. It is told of at once when it is
    /// stopped, and then again.
    pub is_let_go: bool,
}

impl<B: DriveProvider> OpenPool<B> {
    pub(super) fn fuse(&self) -> &Rc<Fuse> {
        self.store.world().fuse()
    }
}

impl<B: DriveProvider> ReactorPools<B> {
    /// The fuse of a pool that is to be opened.
    pub(super) fn fuse_of(&self, uuid: PoolUuid, name: &str) -> Rc<Fuse> {
        let (told, name) = (self.told.clone(), name.to_owned());
        Fuse::new(uuid, move |blown| {
            let (name, why) = (name.clone(), blown.why.to_string());
            tracing::error!(
                pool = name,
                "a fault in Ashlar itself takes the pool out of service: {why}"
            );
            told(StoppedPool { uuid, name, why, is_let_go: false });
        })
    }

    /// `work` of a pool, under its fuse.
    ///
    /// # Errors
    /// Those of `work`, [`NodeError::NoSuchPool`] and [`NodeError::Stopped`].
    pub(crate) async fn guarded<T>(
        &self,
        uuid: PoolUuid,
        work: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        let (fuse, name) = {
            let pool = self.pool(uuid)?;
            (pool.fuse().clone(), pool.name())
        };
        let done = fuse.guard(work).await;
        if done.is_err() && !self.pools.borrow().contains_key(&uuid) {
            // It was just being closed.
            out_of_service(&self.table, uuid);
        }
        done.map_err(|blown| stopped(name, blown))?
    }

    /// What `tell` says of each pool that works.
    pub(super) fn of_pools<T>(&self, tell: impl Fn(&OpenPool<B>) -> T) -> Vec<T> {
        let pools: Vec<Rc<OpenPool<B>>> = self.pools.borrow().values().cloned().collect();
        pools.iter().filter_map(|pool| pool.fuse().call(|| tell(pool)).ok()).collect()
    }

    /// Takes the pool that is being opened, or is open, out of service if its fuse blows.
    pub(super) fn stop_if_blown(&self, fuse: &Rc<Fuse>, uuid: PoolUuid, name: &str) {
        let (pools, table, told) = (self.pools.clone(), self.table.clone(), self.told.clone());
        let (fuse, name) = (fuse.clone(), name.to_owned());
        self.world.spawn(async move {
            let Some(blown) = fuse.spent().await else { return };
            out_of_service(&table, uuid);
            let is_its = |pool: &Rc<OpenPool<B>>| Rc::ptr_eq(pool.fuse(), &fuse);
            let pool = {
                let mut pools = pools.borrow_mut();
                pools.get(&uuid).is_some_and(is_its).then(|| pools.remove(&uuid)).flatten()
            };
            if let Some(pool) = pool {
                fuse.discard(|| {
                    let volumes = pool.all_volumes();
                    volumes.iter().for_each(|volume| table.release(volume.attributes().nsid));
                });
                // Its drives are let go of by this.
                fuse.discard(|| drop(pool));
            }
            told(StoppedPool { uuid, name, why: blown.why.to_string(), is_let_go: true });
        });
    }
}

/// Hosts keep the pool's namespaces, as those of any pool that is not open.
fn out_of_service(table: &Table, uuid: PoolUuid) {
    table.suspend_pool(uuid);
    table.remove_health(uuid);
}

pub(super) fn stopped(pool: String, blown: Blown) -> NodeError {
    NodeError::Stopped { pool, why: blown.why.to_string() }
}
