//! A volume of an open pool.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ashlar_block::BLOCK_BYTES;
use ashlar_store::Compression;

use super::PoolVolume;
use crate::drive_provider::DriveProvider;
use crate::qos::Policy;
use crate::qos::throttle::Throttle;

/// A volume, and what of it other reactors may read.
pub(super) struct OpenVolume<B: DriveProvider> {
    pub(super) volume: PoolVolume<B>,
    pub(super) compression: Compression,
    pub(super) used_bytes: Arc<AtomicU64>,
    pub(super) throttle: Arc<Throttle>,
    /// The policy that it is held to, and the size that this was for.
    pub(super) held_to: Cell<Option<(Policy, u64)>>,
    traffic: Traffic,
}

/// Whether hosts use a volume now, as looks at it tell, a second apart.
#[derive(Default)]
struct Traffic {
    /// Operations at the last look.
    seen: Cell<u64>,
    /// There were some between the last two looks.
    was_busy: Cell<bool>,
}

impl<B: DriveProvider> OpenVolume<B> {
    pub(super) fn new(volume: PoolVolume<B>, compression: Compression) -> Self {
        let open = OpenVolume {
            volume,
            compression,
            used_bytes: Arc::default(),
            throttle: Arc::default(),
            held_to: Cell::default(),
            traffic: Traffic::default(),
        };
        open.refresh();
        open
    }

    pub(super) fn refresh(&self) {
        let bytes = self.volume.usage().blocks * BLOCK_BYTES as u64;
        self.used_bytes.store(bytes.min(self.volume.size_bytes()), Ordering::Relaxed);
        let operations = self.volume.operations();
        let before = self.traffic.seen.replace(operations);
        self.traffic.was_busy.set(before != operations);
    }

    /// Hosts have used it within the last two seconds.
    pub(super) fn is_busy(&self) -> bool {
        self.traffic.was_busy.get() || self.traffic.seen.get() != self.volume.operations()
    }
}
