//! A door onto volumes in memory, for tests and for measuring what is in front of the door.
//!
//! Unlike a real door it may be shared by threads, so that a test can change volumes while reactors
//! serve them; a mutex guards each volume.

mod volume;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use ashlar_block::{Cause, IoError, Notify, VolumeUuid, wait_for};

use crate::door::{
    AccessList, Door, FormatRequest, HealthFigures, HostNqn, NamespaceInfo, Nsid, SANITIZE_WHOLE,
    SanitizeState, SubsystemInfo, VolumeIo,
};
pub use volume::MemoryVolume;

/// Volumes in memory, lost with the process. Clones are the same door.
#[derive(Clone)]
pub struct MemoryDoor {
    shared: Arc<Mutex<State>>,
}

struct State {
    subsystem: SubsystemInfo,
    namespaces: BTreeMap<Nsid, (NamespaceInfo, MemoryVolume)>,
    health: HealthFigures,
    generation: u64,
    changed: Arc<Notify>,
}

impl State {
    fn count_change(&mut self) -> u64 {
        self.generation += 1;
        self.changed.notify_waiters();
        self.generation
    }
}

/// What a new volume is like.
#[derive(Clone, Debug)]
pub struct MemoryVolumeOptions {
    /// Size, a multiple of the sector size.
    pub size_bytes: u64,
    /// 512 or 4096.
    pub lba_bytes: u32,
    /// Who may see it.
    pub access: AccessList,
    /// Takes every write, keeps none, and reads as zeros: a null volume.
    pub keeps_nothing: bool,
}

impl MemoryVolumeOptions {
    /// A volume of 4 KiB sectors that every host may see.
    pub fn new(size_bytes: u64) -> Self {
        MemoryVolumeOptions {
            size_bytes,
            lba_bytes: 4096,
            access: AccessList::AllowAny,
            keeps_nothing: false,
        }
    }

    /// A volume that costs nothing: for measuring what is in front of it.
    pub fn null(size_bytes: u64) -> Self {
        MemoryVolumeOptions { keeps_nothing: true, ..Self::new(size_bytes) }
    }
}

/// The largest atomic write, in bytes, and the boundary that it must not cross.
const ATOMIC_WRITE_BYTES_MAX: u32 = 256 << 10;
const ATOMIC_BOUNDARY_BYTES: u32 = 1 << 20;

impl MemoryDoor {
    /// A door without volumes, of the subsystem `nqn`.
    pub fn new(nqn: &str) -> Self {
        let subsystem = SubsystemInfo {
            nqn: nqn.to_owned(),
            serial: "ASHLARMEM".to_owned(),
            model: "Ashlar in memory".to_owned(),
            firmware: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let health = HealthFigures {
            spare_percent: 100,
            spare_threshold_percent: 10,
            power_cycles: 1,
            ..HealthFigures::default()
        };
        let changed = Arc::default();
        let state =
            State { subsystem, namespaces: BTreeMap::new(), health, generation: 1, changed };
        MemoryDoor { shared: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().expect("no holder of the lock panics")
    }

    /// Adds a volume, or replaces the one of that number.
    pub fn add(&self, nsid: Nsid, options: MemoryVolumeOptions) -> MemoryVolume {
        let mut state = self.state();
        let generation = state.count_change();
        let volume = MemoryVolume::new(options.size_bytes, options.keeps_nothing);
        let info = NamespaceInfo {
            nsid,
            uuid: VolumeUuid(uuid_of(&state.subsystem.nqn, nsid)),
            size_bytes: options.size_bytes,
            lba_bytes: options.lba_bytes,
            used_bytes: 0,
            atomic_write_bytes_max: ATOMIC_WRITE_BYTES_MAX,
            atomic_boundary_bytes: ATOMIC_BOUNDARY_BYTES,
            atomic_announced_bytes: ATOMIC_WRITE_BYTES_MAX,
            sanitize: SanitizeState::Never,
            write_protected: false,
            is_ready: true,
            generation,
            access: options.access.into(),
        };
        state.namespaces.insert(nsid, (info, volume.clone()));
        volume
    }

    /// Removes a volume.
    pub fn remove(&self, nsid: Nsid) {
        let mut state = self.state();
        if state.namespaces.remove(&nsid).is_some() {
            state.count_change();
        }
    }

    /// Changes what hosts see of a volume; its generation counts up. What no longer fits is cut
    /// off.
    ///
    /// # Errors
    /// [`Cause::NoSuchVolume`].
    pub fn change(
        &self,
        nsid: Nsid,
        change: impl FnOnce(&mut NamespaceInfo),
    ) -> Result<(), IoError> {
        let mut state = self.state();
        let generation = state.generation + 1;
        let (info, volume) = state.namespaces.get_mut(&nsid).ok_or(Cause::NoSuchVolume)?;
        change(info);
        info.generation = generation;
        volume.resize(info.size_bytes);
        state.count_change();
        Ok(())
    }

    fn set_sanitize(&self, nsid: Nsid, sanitize: SanitizeState, refusal: Option<Cause>) {
        let volume = self.state().namespaces.get(&nsid).map(|(_, volume)| volume.clone());
        if let Some(volume) = volume {
            volume.refuse_with(refusal);
        }
        // It may have been removed meanwhile.
        let _ = self.change(nsid, |info| info.sanitize = sanitize);
    }

    /// Changes the figures for SMART logs.
    pub fn set_health(&self, health: HealthFigures) {
        let mut state = self.state();
        state.health = health;
        state.count_change();
    }
}

/// A UUID (version 8: made by rules of our own) that the subsystem's name and the number determine.
fn uuid_of(nqn: &str, nsid: Nsid) -> [u8; 16] {
    let mut words = [0xcbf2_9ce4_8422_2325_u64, 0x9e37_79b9_7f4a_7c15 ^ u64::from(nsid.0)];
    for byte in nqn.bytes() {
        words[0] = (words[0] ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        words[1] = words[1].rotate_left(7) ^ words[0];
    }
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&words[0].to_be_bytes());
    uuid[8..].copy_from_slice(&words[1].to_be_bytes());
    uuid[6] = 0x80 | uuid[6] & 0x0f;
    uuid[8] = 0x80 | uuid[8] & 0x3f;
    uuid
}

impl Door for MemoryDoor {
    type Volume = MemoryVolume;

    fn subsystem(&self) -> SubsystemInfo {
        self.state().subsystem.clone()
    }

    fn generation(&self) -> u64 {
        self.state().generation
    }

    fn changed(&self, seen: u64) -> impl Future<Output = ()> {
        let changed = self.state().changed.clone();
        async move { wait_for(&changed, || (self.generation() != seen).then_some(())).await }
    }

    fn namespaces(&self, host: &HostNqn) -> Vec<NamespaceInfo> {
        let state = self.state();
        let visible = state.namespaces.values().filter(|(info, _)| info.access.allows(host));
        visible.map(|(info, volume)| with_use(info, volume)).collect()
    }

    fn with_namespace<T>(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        with: impl FnOnce(&NamespaceInfo, &MemoryVolume) -> T,
    ) -> Option<T> {
        let state = self.state();
        let (info, volume) = state.namespaces.get(&nsid)?;
        info.access.allows(host).then(|| with(info, volume))
    }

    fn health(&self, _: &HostNqn) -> HealthFigures {
        self.state().health
    }

    async fn format(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        request: FormatRequest,
    ) -> Result<(), IoError> {
        let volume = self
            .with_namespace(host, nsid, |_, volume| volume.clone())
            .ok_or(Cause::NoSuchVolume)?;
        volume.clear().await?;
        self.change(nsid, |info| info.lba_bytes = request.lba_bytes)
    }

    async fn sanitize(&self, host: &HostNqn, mut progress: impl FnMut(u16)) -> Result<(), IoError> {
        let nsids: Vec<Nsid> = self.namespaces(host).iter().map(|info| info.nsid).collect();
        let refusal = Some(Cause::Sanitizing);
        nsids.iter().for_each(|nsid| self.set_sanitize(*nsid, SanitizeState::UnderWay, refusal));
        progress(0);
        let mut failed = None;
        for nsid in &nsids {
            let Some(volume) = self.with_namespace(host, *nsid, |_, volume| volume.clone()) else {
                continue;
            };
            failed = failed.or(volume.clear().await.err());
        }
        let (state, refusal) = match &failed {
            None => (SanitizeState::Done, None),
            Some(_) => (SanitizeState::Failed, Some(Cause::SanitizeFailed)),
        };
        progress(SANITIZE_WHOLE);
        nsids.iter().for_each(|nsid| self.set_sanitize(*nsid, state, refusal));
        failed.map_or(Ok(()), Err)
    }

    async fn exit_sanitize_failure(&self, host: &HostNqn) -> Result<(), IoError> {
        let of_failed = self.namespaces(host).into_iter();
        for info in of_failed.filter(|info| info.sanitize == SanitizeState::Failed) {
            self.set_sanitize(info.nsid, SanitizeState::Never, None);
        }
        Ok(())
    }

    async fn set_write_protected(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        protected: bool,
    ) -> Result<(), IoError> {
        let volume = self
            .with_namespace(host, nsid, |_, volume| volume.clone())
            .ok_or(Cause::NoSuchVolume)?;
        volume.flush().await?;
        self.change(nsid, |info| info.write_protected = protected)
    }
}

fn with_use(info: &NamespaceInfo, volume: &MemoryVolume) -> NamespaceInfo {
    NamespaceInfo { used_bytes: volume.used_bytes(), ..info.clone() }
}

#[cfg(test)]
mod tests;
