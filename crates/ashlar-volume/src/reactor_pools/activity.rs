//! What goes on in the pools of a reactor, and what hosts do by its connections.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use ashlar_block::latency::{Activity, Histogram, Meter, OpKind};
use ashlar_block::{Clock, Device, PoolUuid, Spawn, VolumeUuid};

use super::{OpenPool, PoolDrive, ReactorPools};
use crate::activity::{DriveActivity, Measured, PoolActivity, Scope, VolumeActivity};
use crate::drive_provider::DriveProvider;
use crate::qos::gate::Gate;
use crate::qos::throttle::Throttle;

/// Volumes that are counted in one turn of the reactor: hosts wait for no more of them.
const VOLUMES_PER_TURN: usize = 32;

impl<B: DriveProvider> ReactorPools<B> {
    /// Who counts what hosts do with that volume by connections of this reactor.
    pub(crate) fn meter(&self, volume: VolumeUuid) -> Rc<Meter> {
        self.meters.borrow_mut().entry(volume).or_default().clone()
    }

    /// Who waits for the limits of that volume at this reactor. One that was opened anew has other
    /// limits: who waits for the old ones goes on with them.
    pub(crate) fn gate(&self, volume: VolumeUuid, throttle: &Arc<Throttle>) -> Rc<Gate<B::World>> {
        let mut gates = self.gates.borrow_mut();
        match gates.get(&volume).filter(|gate| gate.is_of(throttle)) {
            Some(gate) => gate.clone(),
            None => {
                let gate = Rc::new(Gate::new(self.world.clone(), throttle.clone()));
                gates.insert(volume, gate.clone());
                gate
            }
        }
    }

    /// Forgets what was counted of volumes that are not these.
    pub(crate) fn keep_meters(&self, volumes: &BTreeSet<VolumeUuid>) {
        self.meters.borrow_mut().retain(|volume, _| volumes.contains(volume));
        self.gates.borrow_mut().retain(|volume, _| volumes.contains(volume));
    }

    /// The pools of this reactor, as far as they are wanted: with what goes on in their drives, and
    /// without what hosts do with their volumes, which each reactor counts for itself.
    pub fn activity(&self, scope: &Scope) -> Vec<PoolActivity> {
        let pools = self.of_pools(|pool| pool.activity(&self.provider, scope));
        let is_wanted = |pool: &PoolActivity| {
            pool.is_whole || !pool.volumes.is_empty() || !pool.drives.is_empty()
        };
        pools.into_iter().filter(is_wanted).collect()
    }

    /// What hosts do with these volumes by connections of this reactor; those left out with which
    /// they do nothing.
    pub async fn volume_activity(&self, volumes: &[VolumeUuid]) -> Vec<(VolumeUuid, Activity)> {
        let mut all = Vec::new();
        for some in volumes.chunks(VOLUMES_PER_TURN) {
            {
                let meters = self.meters.borrow();
                let known = some.iter().filter_map(|it| Some((*it, meters.get(it)?.activity())));
                all.extend(known);
            }
            self.world.yield_now().await;
        }
        all
    }

    /// How long commands of that kind took for these volumes, all together: those that came by
    /// connections of this reactor.
    pub async fn latency(&self, volumes: &[VolumeUuid], kind: OpKind) -> Histogram {
        let mut all = Histogram::default();
        for some in volumes.chunks(VOLUMES_PER_TURN) {
            {
                let meters = self.meters.borrow();
                let known = some.iter().filter_map(|volume| meters.get(volume));
                known.for_each(|meter| all.add(&meter.latency(kind)));
            }
            self.world.yield_now().await;
        }
        all
    }

    /// Counts anew what hosts do with that volume by connections of this reactor.
    pub(crate) fn reset_activity(&self, volume: VolumeUuid) {
        if let Some(meter) = self.meters.borrow().get(&volume) {
            meter.reset();
        }
    }

    /// How long commands for that volume took that came by connections of this reactor.
    pub fn volume_measured(&self, volume: VolumeUuid) -> Measured {
        self.meters.borrow().get(&volume).map(|meter| measured(meter)).unwrap_or_default()
    }

    /// How long operations of that drive took, by its name in the pool. `None`: there is none of
    /// that name, or it counts nothing.
    pub fn drive_measured(&self, pool: PoolUuid, drive: &str) -> Option<Measured> {
        let pool = self.pools.borrow().get(&pool).cloned()?;
        let drives = pool.drives.borrow();
        let names = pool.drive_names();
        let given = drives.iter().find(|given| names(given) == drive)?;
        given.drive.device.meter().map(|meter| measured(meter))
    }
}

fn measured(meter: &Meter) -> Measured {
    Measured { in_flight: meter.in_flight(), ended: meter.latencies() }
}

impl<B: DriveProvider> OpenPool<B> {
    fn activity(&self, provider: &B, scope: &Scope) -> PoolActivity {
        let (name, uuid) = (self.name(), self.uuid);
        let (volumes, drives) = (Vec::new(), Vec::new());
        let mut pool = PoolActivity { name, uuid, is_whole: false, volumes, drives };
        pool.is_whole = scope.wants_pool(&pool);
        let mut volumes = self.volumes_for_activity();
        volumes.retain(|volume| scope.wants_volume(&pool, volume));
        volumes.sort_by(|one, other| one.name.cmp(&other.name));
        if scope.may_want_drives(&pool) {
            let mut drives = self.drives_activity(provider);
            drives.retain(|drive| scope.wants_drive(&pool, drive));
            pool.drives = drives;
        }
        pool.volumes = volumes;
        pool
    }

    fn volumes_for_activity(&self) -> Vec<VolumeActivity> {
        let volumes = self.volumes.borrow();
        let known = |open: &super::OpenVolume<B>| {
            let (name, uuid) = open.volume.with_attributes(|it| (it.name.to_string(), it.uuid));
            let (usage, delays) = (open.volume.usage(), open.throttle.delays());
            VolumeActivity { name, uuid, usage, activity: Activity::default(), delays }
        };
        volumes.values().map(known).collect()
    }

    fn drives_activity(&self, provider: &B) -> Vec<DriveActivity> {
        let (names, now) = (self.drive_names(), self.store.world().now());
        let known = |given: &PoolDrive<B::Device>| {
            let (facts, meter) = (given.facts(provider), given.drive.device.meter());
            DriveActivity {
                name: names(given),
                uuid: given.uuid,
                place: facts.place().to_owned(),
                kernel_name: facts.kernel,
                activity: meter.map(|meter| meter.activity()).unwrap_or_default(),
                busy: meter.map(|meter| meter.busy(now)).unwrap_or_default(),
            }
        };
        self.drives.borrow().iter().map(known).collect()
    }

    /// What its drives are called. One that came back has several records, of which the newest
    /// comes last.
    fn drive_names(&self) -> impl Fn(&PoolDrive<B::Device>) -> String + use<B> {
        let records = self.store.status().drives;
        move |given| {
            let record = records.iter().rfind(|record| record.uuid == given.uuid);
            format!("drive-{}", record.map_or(given.id, |record| record.drive).0)
        }
    }
}
