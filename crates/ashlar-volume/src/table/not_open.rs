//! Namespaces of pools that are not open: hosts keep them, or else they would give up what they
//! have made of them.

use std::collections::BTreeMap;

use ashlar_block::{PoolUuid, VolumeId};

use super::{NSID_MAX, Place, ReactorIndex, Row, Table};
use crate::door::NamespaceInfo;

/// A namespace of a pool, as it is remembered while the pool is not open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolNamespace {
    /// The number of its volume in the pool.
    pub volume: VolumeId,
    /// What hosts see of it.
    pub info: NamespaceInfo,
}

/// Where a volume of a pool that is not open is asked for. It is not there.
const NOT_THERE: ReactorIndex = ReactorIndex(0);

impl Table {
    /// Hosts see these namespaces of a pool from now on, none of which is ready before the pool is
    /// open. What another pool has the number of is left out.
    pub fn expect_pool(&self, pool: PoolUuid, namespaces: Vec<PoolNamespace>) {
        self.change(|inner, generation| {
            for PoolNamespace { volume, info } in namespaces {
                let nsid = info.nsid;
                let is_free = !inner.rows.contains_key(&nsid) && !inner.claimed.contains(&nsid);
                if !is_free || !(1..=NSID_MAX).contains(&nsid.0) {
                    continue;
                }
                let info = NamespaceInfo { is_ready: false, generation, ..info };
                let place = Place { home: NOT_THERE, pool, volume };
                let (used_bytes, throttle, is_shared) = Default::default();
                let row = Row { info, place, used_bytes, throttle, is_shared };
                inner.rows_mut().insert(nsid, row);
                inner.unseen.remove(&nsid);
                inner.nsid_high = inner.nsid_high.max(nsid.0);
            }
        });
    }

    /// A pool is about to be opened anew: its namespaces are not ready until it is open.
    pub(crate) fn suspend_pool(&self, pool: PoolUuid) {
        self.change(|inner, generation| {
            inner.open.remove(&pool);
            for row in inner.rows_mut().values_mut().filter(|row| row.place.pool == pool) {
                row.info.is_ready = false;
                row.info.generation = generation;
            }
        });
    }

    /// The number of changes so far, and the namespaces of the pools that are open, in order of
    /// their numbers.
    pub fn open_pools(&self) -> (u64, BTreeMap<PoolUuid, Vec<PoolNamespace>>) {
        let inner = self.inner();
        let mut pools: BTreeMap<_, Vec<_>> =
            inner.open.iter().map(|pool| (*pool, Vec::new())).collect();
        for row in inner.rows.values() {
            if let Some(namespaces) = pools.get_mut(&row.place.pool) {
                namespaces.push(PoolNamespace { volume: row.place.volume, info: row.info.clone() });
            }
        }
        (self.generation(), pools)
    }
}

#[cfg(test)]
mod tests;
