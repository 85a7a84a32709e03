//! A door onto one volume that never changes, such as one that keeps nothing: for measuring what is
//! in front of the door.

use std::future::{Future, pending};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Cause, IoError, VolumeUuid};
use bytes::Bytes;

use crate::door::{
    AccessList, Door, FormatRequest, HealthFigures, HostNqn, NamespaceInfo, Nsid, SanitizeState,
    SubsystemInfo, VolumeIo,
};

/// Sectors of the volume, in bytes.
const LBA_BYTES: u32 = 4096;
/// What it says of atomic writes, in bytes: as pools do.
const ATOMIC_WRITE_BYTES_MAX: u32 = 256 << 10;
const ATOMIC_BOUNDARY_BYTES: u32 = 1 << 20;

/// A node with one namespace, number 1, that every host may see and that never changes. Stays on
/// its reactor.
#[derive(Clone)]
pub struct PlainDoor<V> {
    shared: Rc<(SubsystemInfo, NamespaceInfo, V)>,
}

/// Takes every write, keeps none, and reads as zeros.
#[derive(Clone, Copy, Debug)]
pub struct NullVolume;

impl<V> PlainDoor<V> {
    /// A door onto `volume` of `size_bytes`, a multiple of 4 KiB, in the subsystem `nqn`.
    pub fn new(nqn: &str, size_bytes: u64, volume: V) -> Self {
        let subsystem = SubsystemInfo {
            nqn: nqn.to_owned(),
            serial: "ASHLARPLAIN".to_owned(),
            model: "Ashlar without pools".to_owned(),
            firmware: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let info = NamespaceInfo {
            nsid: Nsid(1),
            // Version 8: made by rules of our own.
            uuid: VolumeUuid([0, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 1]),
            size_bytes,
            lba_bytes: LBA_BYTES,
            used_bytes: 0,
            atomic_write_bytes_max: ATOMIC_WRITE_BYTES_MAX,
            atomic_boundary_bytes: ATOMIC_BOUNDARY_BYTES,
            atomic_announced_bytes: ATOMIC_WRITE_BYTES_MAX,
            sanitize: SanitizeState::Never,
            write_protected: false,
            is_ready: true,
            generation: 1,
            access: AccessList::AllowAny.into(),
        };
        PlainDoor { shared: Rc::new((subsystem, info, volume)) }
    }

    fn info(&self) -> &NamespaceInfo {
        &self.shared.1
    }
}

impl<V: VolumeIo> Door for PlainDoor<V> {
    type Volume = V;

    fn subsystem(&self) -> SubsystemInfo {
        self.shared.0.clone()
    }

    fn generation(&self) -> u64 {
        self.info().generation
    }

    fn changed(&self, _: u64) -> impl Future<Output = ()> {
        pending()
    }

    fn namespaces(&self, _: &HostNqn) -> Vec<NamespaceInfo> {
        vec![self.info().clone()]
    }

    fn with_namespace<T>(
        &self,
        _: &HostNqn,
        nsid: Nsid,
        with: impl FnOnce(&NamespaceInfo, &V) -> T,
    ) -> Option<T> {
        (nsid == self.info().nsid).then(|| with(self.info(), &self.shared.2))
    }

    fn health(&self, _: &HostNqn) -> HealthFigures {
        HealthFigures { spare_percent: 100, ..HealthFigures::default() }
    }

    /// Refused: the volume never changes.
    async fn format(&self, _: &HostNqn, _: Nsid, _: FormatRequest) -> Result<(), IoError> {
        Err(Cause::WriteProtected.into())
    }

    /// Refused: the volume never changes.
    async fn set_write_protected(&self, _: &HostNqn, _: Nsid, _: bool) -> Result<(), IoError> {
        Err(Cause::WriteProtected.into())
    }
}

impl VolumeIo for NullVolume {
    async fn read(&self, _: u64, bytes: usize) -> Result<AlignedBuf, IoError> {
        Ok(AlignedBuf::zeroed(bytes))
    }

    async fn write(&self, _: u64, _: Bytes) -> Result<(), IoError> {
        Ok(())
    }

    async fn write_zeroes(&self, _: u64, _: u64) -> Result<(), IoError> {
        Ok(())
    }

    async fn deallocate(&self, _: Range<u64>) -> Result<(), IoError> {
        Ok(())
    }

    async fn compare(&self, _: u64, expected: Bytes) -> Result<(), IoError> {
        if expected.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(Cause::Miscompare.into()) }
    }

    async fn compare_and_write(
        &self,
        offset: u64,
        expected: Bytes,
        _: Bytes,
    ) -> Result<(), IoError> {
        self.compare(offset, expected).await
    }

    async fn verify(&self, _: u64, _: u64) -> Result<(), IoError> {
        Ok(())
    }

    async fn flush(&self) -> Result<(), IoError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
