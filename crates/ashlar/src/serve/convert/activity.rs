//! What goes on, as it goes over the wire.

use ashlar_block::latency::{Activity, Latencies, OpKind, SizeClass};
use ashlar_control::types::{
    IoCounts, IoStat, IoStatDrive, IoStatPool, IoStatVolume, KindLatency, Latency, SizedLatency,
};
use ashlar_volume::{DriveActivity, Measured, PoolActivity, VolumeActivity};

use super::{BLOCK_BYTES, SLOT_BYTES, ratio};

/// What goes on in pools; when that was read is for the caller to say.
pub fn iostat(pools: &[PoolActivity]) -> IoStat {
    let volumes = |of: &PoolActivity| {
        let pool = of.name.clone();
        of.volumes.iter().map(move |it| volume(&pool, it)).collect::<Vec<_>>()
    };
    let drives = |of: &PoolActivity| {
        let pool = of.name.clone();
        of.drives.iter().map(move |it| drive(&pool, it)).collect::<Vec<_>>()
    };
    IoStat {
        pools: pools.iter().filter(|pool| pool.is_whole).map(pool).collect(),
        volumes: pools.iter().flat_map(volumes).collect(),
        drives: pools.iter().flat_map(drives).collect(),
        ..IoStat::default()
    }
}

fn pool(of: &PoolActivity) -> IoStatPool {
    let sum = |part: fn(&VolumeActivity) -> u64| of.volumes.iter().map(part).sum::<u64>();
    let logical = sum(|volume| volume.usage.blocks * BLOCK_BYTES);
    let stored = sum(|volume| volume.usage.slots * SLOT_BYTES);
    IoStatPool {
        name: of.name.clone(),
        uuid: of.uuid.to_string(),
        compression_ratio: ratio(logical, stored),
    }
}

fn volume(pool: &str, of: &VolumeActivity) -> IoStatVolume {
    let [reads, writes, trims] = counts(&of.activity);
    let (logical, stored) = (of.usage.blocks * BLOCK_BYTES, of.usage.slots * SLOT_BYTES);
    IoStatVolume {
        name: of.name.clone(),
        pool: pool.to_owned(),
        uuid: of.uuid.to_string(),
        compression_ratio: ratio(logical, stored),
        operations_in_flight: of.activity.in_flight,
        reads,
        writes,
        trims,
        waiting_operations: of.delays.waiting,
        delayed_operations: of.delays.commands,
        delayed_seconds: of.delays.total.as_secs_f64(),
    }
}

fn drive(pool: &str, of: &DriveActivity) -> IoStatDrive {
    let [reads, writes, trims] = counts(&of.activity);
    IoStatDrive {
        name: of.name.clone(),
        pool: pool.to_owned(),
        uuid: of.uuid.to_string(),
        spec: of.place.clone(),
        operations_in_flight: of.activity.in_flight,
        busy_seconds: of.busy.as_secs_f64(),
        reads,
        writes,
        trims,
    }
}

fn counts(of: &Activity) -> [IoCounts; 3] {
    of.ended.each_ref().map(IoCounts::from)
}

/// How long operations took; of what is for the caller to say.
pub fn latency(measured: &Measured) -> Latency {
    let of = |kind| kind_latency(&measured.ended, kind);
    Latency {
        operations_in_flight: measured.in_flight,
        reads: of(OpKind::Read),
        writes: of(OpKind::Write),
        trims: of(OpKind::Trim),
        ..Latency::default()
    }
}

fn kind_latency(all: &Latencies, kind: OpKind) -> KindLatency {
    let sized = |class| Some(SizedLatency::of_class(class, all.of(kind, class)?));
    KindLatency {
        all: SizedLatency::of_any(&all.of_kind(kind)),
        classes: SizeClass::ALL.into_iter().filter_map(sized).collect(),
    }
}
