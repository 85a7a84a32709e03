//! A command's namespace as it is now, and the wait for one that is not ready.

use std::ops::Range;
use std::pin::pin;

use ashlar_block::Cause;
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_reactor::timeout;
use ashlar_volume::{Door, NamespaceInfo, Nsid, VolumeIo};
use futures_util::future::{Either, select};

use super::IoQueue;
use crate::nvme_tcp::admin::NAMESPACE_INVALID;
use crate::nvme_tcp::ticket::Stop;

/// What a command needs to know of its namespace.
#[derive(Clone, Copy)]
pub(in crate::nvme_tcp) struct Geometry {
    pub(in crate::nvme_tcp) lba_bytes: u32,
    pub(in crate::nvme_tcp) size_bytes: u64,
    pub(in crate::nvme_tcp) atomic_write_bytes_max: u32,
    write_protected: bool,
    is_ready: bool,
}

impl Geometry {
    pub(super) fn of(info: &NamespaceInfo) -> Self {
        Geometry {
            lba_bytes: info.lba_bytes,
            size_bytes: info.size_bytes,
            atomic_write_bytes_max: info.atomic_write_bytes_max,
            write_protected: info.write_protected,
            is_ready: info.is_ready,
        }
    }

    /// The bytes of `count` blocks from `start`.
    pub(in crate::nvme_tcp) fn bytes_of(
        &self,
        start: u64,
        count: u64,
    ) -> Result<Range<u64>, Rejection> {
        let lba_bytes = u64::from(self.lba_bytes);
        let start = start.checked_mul(lba_bytes);
        let bytes = count * lba_bytes;
        let range = start.and_then(|start| Some(start..start.checked_add(bytes)?));
        range.filter(|range| range.end <= self.size_bytes).ok_or(OUT_OF_RANGE)
    }

    pub(in crate::nvme_tcp) fn check_writable(&self) -> Result<(), Rejection> {
        if self.write_protected { Err(Status::WRITE_PROTECTED.dnr().into()) } else { Ok(()) }
    }
}

const OUT_OF_RANGE: Rejection =
    Rejection { status: Status::LBA_OUT_OF_RANGE.dnr(), location: ErrorLocation::byte(40) };

/// The bytes of a volume that a command is for, as they were when it was looked up.
pub(in crate::nvme_tcp) struct Opened<D: Door> {
    pub(in crate::nvme_tcp) volume: D::Volume,
    pub(in crate::nvme_tcp) bytes: Range<u64>,
    is_ready: bool,
}

impl<D: Door> Opened<D> {
    pub(in crate::nvme_tcp) fn new(
        geometry: &Geometry,
        volume: D::Volume,
        bytes: Range<u64>,
    ) -> Self {
        Opened { volume, bytes, is_ready: geometry.is_ready }
    }

    /// The same as it is now, after a wait, with the turn that has come. The namespace may be
    /// another one, or have other blocks, for which the command was not meant.
    pub(in crate::nvme_tcp) fn again(
        self,
        open: impl Fn() -> Result<Self, Rejection>,
    ) -> Result<Self, Rejection> {
        let now = open()?;
        self.volume.hand_turn_to(&now.volume);
        if now.bytes == self.bytes { Ok(now) } else { Err(Status::INVALID_FIELD.into()) }
    }
}

impl<D: Door> IoQueue<D> {
    /// The volume that the host means by `nsid`, and its geometry, as they are now.
    pub(in crate::nvme_tcp) fn open(&self, nsid: u32) -> Result<(Geometry, D::Volume), Rejection> {
        let host = &self.association.host.nqn;
        let found = self
            .service
            .door
            .with_namespace(host, Nsid(nsid), |info, volume| (Geometry::of(info), volume.clone()));
        found.ok_or(NAMESPACE_INVALID)
    }

    /// What `open` opens of the namespace, once that is ready. Nothing is held and nothing done
    /// meanwhile: commands of other namespaces find the connection's memory free, and the host has
    /// been asked for no data.
    pub(in crate::nvme_tcp) async fn open_ready(
        &self,
        nsid: u32,
        open: impl Fn() -> Result<Opened<D>, Rejection>,
    ) -> Result<Opened<D>, Stop> {
        let before = match open() {
            Ok(opened) if opened.is_ready => return Ok(opened),
            Err(rejection) if !self.is_awaited(nsid) => return Err(rejection.into()),
            before => before,
        };
        self.until_ready(nsid).await?;
        // What is said of one that is not ready may be out of date.
        let opened = before.map_or_else(|_| open(), |before| before.again(&open));
        Ok(opened?)
    }

    /// The volume that the host means by `nsid`, and its geometry, once it is ready.
    pub(super) async fn open_whole(&self, nsid: u32) -> Result<(Geometry, D::Volume), Stop> {
        let (geometry, volume) = self.open(nsid)?;
        if geometry.is_ready {
            return Ok((geometry, volume));
        }
        self.until_ready(nsid).await?;
        Ok(self.open(nsid)?)
    }

    /// Waits until the namespace is ready, or gone. Abandons the command if the connection ends
    /// first.
    async fn until_ready(&self, nsid: u32) -> Result<(), Stop> {
        let wait = timeout(self.wire.limits.ready_wait, self.ready_or_gone(nsid));
        match select(pin!(self.wire.life.stop.wait()), pin!(wait)).await {
            Either::Left(_) => Err(Stop::Abandon),
            Either::Right((Ok(()), _)) => Ok(()),
            Either::Right((Err(_), _)) => Err(self.failure(&Cause::NotReady.into())),
        }
    }

    async fn ready_or_gone(&self, nsid: u32) {
        loop {
            let seen = self.service.door.generation();
            if !self.is_awaited(nsid) {
                return;
            }
            self.service.door.changed(seen).await;
        }
    }

    /// Whether the namespace is there and not ready.
    fn is_awaited(&self, nsid: u32) -> bool {
        self.open(nsid).is_ok_and(|(geometry, _)| !geometry.is_ready)
    }
}
