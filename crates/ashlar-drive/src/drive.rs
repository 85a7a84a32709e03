//! A drive as the store sees it.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ashlar_block::latency::{Meter, OpKind, UnderWay};
use ashlar_block::{
    AlignedBuf, Device, DeviceError, DeviceOp, Durability, MemoryDevice, NullDevice, SECTOR_BYTES,
};
use ashlar_reactor::{mailbox, now, sleep_until};
use bytes::Bytes;

use crate::counters::{DriveCounters, DriveStats};
use crate::disk::Disk;
use crate::error::OpenError;
use crate::fault::Faults;
use crate::health::{Health, ends_trust};
use crate::info::{DriveInfo, DriveKind};
use crate::model::{Model, Profile};
use crate::open::{self, OpenMode, Opened};
use crate::spec::DriveSpec;

enum Backend {
    Disk(Disk),
    Memory(MemoryDevice),
    Null(NullDevice),
}

/// What all openers of a drive in this process share.
#[derive(Clone)]
struct Common {
    info: Arc<DriveInfo>,
    counters: Arc<DriveCounters>,
    health: Arc<Health>,
    model: Option<Arc<Model>>,
    /// More than when it was opened, if it has grown since and somebody has looked.
    size_bytes: Arc<AtomicU64>,
    seen_bytes: Arc<AtomicU64>,
}

fn whole_sectors(bytes: u64) -> u64 {
    bytes / SECTOR_BYTES as u64 * SECTOR_BYTES as u64
}

/// An open drive on one reactor. Clones are the same drive.
#[derive(Clone)]
pub struct Drive {
    common: Common,
    backend: Rc<Backend>,
    meter: Rc<Meter>,
    faults: Option<Faults>,
}

/// A drive on its way to another reactor: the same open file, the same lock, the same counters.
pub struct DriveSeed {
    common: Common,
    descriptor: OwnedFd,
}

impl DriveSeed {
    /// The drive on this thread's reactor.
    ///
    /// # Panics
    /// If no reactor runs on this thread.
    pub fn attach(self) -> Drive {
        let disk = Disk::new(self.descriptor, &self.common.info);
        Drive::of(self.common, Backend::Disk(disk))
    }
}

impl Drive {
    /// Opens the drive exclusively, on this thread's reactor. May block while a file is made.
    ///
    /// # Errors
    /// [`OpenError`], which names the drive, the reason and the way out.
    ///
    /// # Panics
    /// If no reactor runs on this thread.
    pub fn open(spec: &DriveSpec, mode: OpenMode) -> Result<Self, OpenError> {
        match spec {
            DriveSpec::Block { .. } | DriveSpec::File { .. } => {
                open::open(spec, mode).map(Self::of_opened)
            }
            DriveSpec::Memory { size, touched, .. } => {
                let profile = open::profile_of(spec)?;
                let info = open::memory_info(DriveKind::Memory, *size);
                // Its memory is to stay taken.
                let info = DriveInfo { discards: !touched, ..info };
                let info = open::as_modelled(info, spec, profile.as_ref());
                let memory = if *touched {
                    MemoryDevice::touched(size.0)
                } else {
                    MemoryDevice::new(size.0)
                };
                Ok(Self::new(info, profile, Backend::Memory(memory)))
            }
            DriveSpec::Null { size } => {
                let info = open::memory_info(DriveKind::Null, *size);
                Ok(Self::new(info, None, Backend::Null(NullDevice { size_bytes: size.0 })))
            }
        }
    }

    /// As [`Self::open`], for a reactor that has other things to do meanwhile: whatever may block
    /// is done by a thread of its own.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// # Panics
    /// If no reactor runs on this thread.
    pub async fn open_aside(spec: &DriveSpec, mode: OpenMode) -> Result<Self, OpenError> {
        if matches!(spec, DriveSpec::Memory { .. } | DriveSpec::Null { .. }) {
            return Self::open(spec, mode);
        }
        let (mut sender, mut receiver) = mailbox::channel(1);
        let on_thread = {
            let spec = spec.clone();
            // Whoever has stopped waiting wants the drive no more: it is closed again.
            move || drop(sender.try_send(open::open(&spec, mode)))
        };
        let thread = std::thread::Builder::new().name("open-drive".to_owned()).spawn(on_thread);
        thread.map_err(|source| OpenError::Thread { drive: spec.to_string(), source })?;
        receiver.recv().await.expect("the thread answers before it ends").map(Self::of_opened)
    }

    /// Opens a block device or a file for reading alone, on this thread's reactor. Others may read
    /// it, too; nobody can take it for a pool as long as it is open. Its writes fail.
    ///
    /// # Errors
    /// [`OpenError`], which names the drive, the reason and the way out.
    ///
    /// # Panics
    /// If no reactor runs on this thread.
    pub fn open_to_read(path: &Path) -> Result<Self, OpenError> {
        open::open_to_read(path).map(Self::of_opened)
    }

    fn of_opened(opened: Opened) -> Self {
        let disk = Disk::new(opened.descriptor, &opened.info);
        Self::new(opened.info, opened.profile, Backend::Disk(disk))
    }

    fn new(info: DriveInfo, profile: Option<Profile>, backend: Backend) -> Self {
        let model = profile.map(|profile| Arc::new(Model::new(profile, info.size_bytes)));
        let size = || Arc::new(AtomicU64::new(info.size_bytes));
        let (size_bytes, seen_bytes) = (size(), size());
        let (counters, health) = (Arc::default(), Arc::default());
        let common =
            Common { info: Arc::new(info), counters, health, model, size_bytes, seen_bytes };
        Drive::of(common, backend)
    }

    fn of(common: Common, backend: Backend) -> Self {
        Drive { common, backend: Rc::new(backend), meter: Rc::default(), faults: None }
    }

    /// The same drive with faults between it and its users.
    pub fn with_faults(self, faults: Faults) -> Self {
        Drive { faults: Some(faults), ..self }
    }

    /// The same drive for another reactor; `None` for memory, which belongs to one.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn seed(&self) -> io::Result<Option<DriveSeed>> {
        match &*self.backend {
            Backend::Disk(disk) => {
                Ok(Some(DriveSeed { common: self.common.clone(), descriptor: disk.duplicate()? }))
            }
            Backend::Memory(_) | Backend::Null(_) => Ok(None),
        }
    }

    /// What is known of it.
    pub fn info(&self) -> &Arc<DriveInfo> {
        &self.common.info
    }

    /// Its counters, to be read from any thread.
    pub fn counters(&self) -> &Arc<DriveCounters> {
        &self.common.counters
    }

    /// Its counters at this moment.
    pub fn stats(&self) -> DriveStats {
        self.common.counters.snapshot()
    }

    /// Whether it is not believed any more, after a failed flush for instance.
    pub fn is_gone(&self) -> bool {
        self.common.health.is_gone()
    }

    /// Looks whether the file or device is still there; if not, the drive is not believed any more.
    /// A file that was removed while open would otherwise take I/O as if nothing had happened. One
    /// system call.
    ///
    /// # Errors
    /// [`DeviceError::Gone`].
    pub fn check_present(&self) -> Result<(), DeviceError> {
        if !self.is_there() {
            self.latch(&DeviceError::Gone);
        }
        self.common.health.check()
    }

    /// Whether the file or device is there, be it believed or not. One system call.
    pub fn is_there(&self) -> bool {
        match &*self.backend {
            Backend::Disk(disk) => disk.present_bytes().is_some_and(|bytes| {
                self.common.seen_bytes.store(whole_sectors(bytes), Ordering::Release);
                bytes >= self.size_bytes()
            }),
            Backend::Memory(_) | Backend::Null(_) => true,
        }
    }

    fn range(&self, offset: u64, bytes: u64) -> Result<Range<u64>, DeviceError> {
        let size_bytes = self.size_bytes();
        let end = offset.checked_add(bytes).filter(|end| *end <= size_bytes);
        let error = DeviceError::OutOfRange { offset, bytes: bytes as usize, size_bytes };
        end.map(|end| offset..end).ok_or(error)
    }

    /// What every operation passes before it reaches the drive.
    async fn admit(&self, op: DeviceOp, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        debug_assert!(
            (offset | bytes).is_multiple_of(SECTOR_BYTES as u64),
            "{bytes} bytes at {offset} are not whole sectors"
        );
        let range = self.range(offset, bytes)?;
        self.common.health.check()?;
        match &self.faults {
            Some(faults) => faults.meet(op, range).await,
            None => Ok(()),
        }
    }

    /// What a modelled drive takes for an operation that begins now: to be waited for once it is
    /// done.
    fn service(&self, op: DeviceOp, offset: u64, bytes: u64) -> impl Future<Output = ()> + use<> {
        let end = self.common.model.as_ref().map(|model| model.begin(now(), op, offset, bytes));
        async move {
            if let Some(end) = end {
                sleep_until(end).await;
            }
        }
    }

    /// An operation begins that is measured.
    fn begin(&self, kind: OpKind, bytes: u64) -> UnderWay {
        self.meter.begin(kind, bytes, now())
    }

    /// As [`Self::settle`], of an operation that is measured.
    fn end(
        &self,
        op: DeviceOp,
        under_way: UnderWay,
        stable: bool,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let (at, bytes) = (now(), under_way.bytes());
        let took = at.since(under_way.began());
        under_way.ended(at);
        self.settle(op, bytes, took, stable, result)
    }

    /// What every operation passes on its way back.
    fn settle(
        &self,
        op: DeviceOp,
        bytes: u64,
        took: Duration,
        stable: bool,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.common.counters.of(op).note(result.is_ok(), bytes, took);
        let health = &self.common.health;
        match &result {
            Err(error) if ends_trust(op, stable && health.has_unflushed(), error) => {
                self.latch(error)
            }
            _ => {}
        }
        // Another operation may have ended the trust while this one was under way.
        if op == DeviceOp::Read { result } else { result.and_then(|()| health.check()) }
    }

    fn latch(&self, why: &DeviceError) {
        if self.common.health.latch() {
            let path = self.common.info.path.as_deref().map(|path| path.display().to_string());
            tracing::error!(
                drive = path.as_deref().unwrap_or("memory"),
                reason = %why,
                "the drive failed in a way that may have lost earlier writes, so Ashlar does not \
                 use it until it is opened again: `ashlar drive return POOL/DRIVE`"
            );
        }
    }

    /// Whether a stable write has to be written through the drive's cache.
    fn writes_through(&self, durability: Durability) -> bool {
        durability == Durability::Stable && self.common.info.volatile_cache
    }

    async fn write_tracked(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        let tracked = durability == Durability::Cached && self.common.info.volatile_cache;
        if tracked {
            self.common.health.begin_cached_write();
        }
        let result = self.write_backend(offset, data, durability).await;
        if tracked {
            self.common.health.end_cached_write();
        }
        result
    }

    async fn write_backend(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        self.admit(DeviceOp::Write, offset, data.len() as u64).await?;
        let service = self.service(DeviceOp::Write, offset, data.len() as u64);
        let written = match &*self.backend {
            Backend::Disk(disk) => {
                disk.write(offset, data, self.writes_through(durability), &self.common.counters)
                    .await
            }
            Backend::Memory(memory) => memory.write(offset, data, durability).await,
            Backend::Null(null) => null.write(offset, data, durability).await,
        };
        service.await;
        written
    }

    async fn read_backend(
        &self,
        offset: u64,
        buf: AlignedBuf,
    ) -> (Result<(), DeviceError>, AlignedBuf) {
        if let Err(error) = self.admit(DeviceOp::Read, offset, buf.len() as u64).await {
            return (Err(error), buf);
        }
        let service = self.service(DeviceOp::Read, offset, buf.len() as u64);
        let read = match &*self.backend {
            Backend::Disk(disk) => disk.read(offset, buf).await,
            Backend::Memory(memory) => memory.read(offset, buf).await,
            Backend::Null(null) => null.read(offset, buf).await,
        };
        service.await;
        read
    }

    async fn flush_backend(&self) -> Result<(), DeviceError> {
        self.admit(DeviceOp::Flush, 0, 0).await?;
        let service = self.service(DeviceOp::Flush, 0, 0);
        let flushed = match &*self.backend {
            Backend::Disk(disk) => disk.flush().await,
            Backend::Memory(_) | Backend::Null(_) => Ok(()),
        };
        service.await;
        flushed
    }

    async fn discard_backend(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        self.admit(DeviceOp::Discard, offset, bytes).await?;
        match &*self.backend {
            Backend::Disk(disk) if bytes > 0 => disk.discard(offset, bytes).await,
            Backend::Memory(memory) => memory.discard(offset, bytes).await,
            Backend::Disk(_) | Backend::Null(_) => Ok(()),
        }
    }
}

impl Device for Drive {
    fn size_bytes(&self) -> u64 {
        self.common.size_bytes.load(Ordering::Acquire)
    }

    fn look_at_size(&self) {
        let Backend::Disk(disk) = &*self.backend else { return };
        let Some(now) = disk.present_bytes() else { return };
        self.common.size_bytes.fetch_max(whole_sectors(now), Ordering::AcqRel);
        self.common.seen_bytes.fetch_max(whole_sectors(now), Ordering::AcqRel);
    }

    fn seen_bytes(&self) -> u64 {
        self.common.seen_bytes.load(Ordering::Acquire)
    }

    fn is_rotational(&self) -> Option<bool> {
        self.info().rotational
    }

    fn meter(&self) -> Option<&Rc<Meter>> {
        Some(&self.meter)
    }

    async fn read(&self, offset: u64, buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        let under_way = self.begin(OpKind::Read, buf.len() as u64);
        let (result, buf) = self.read_backend(offset, buf).await;
        (self.end(DeviceOp::Read, under_way, false, result), buf)
    }

    async fn write(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        let under_way = self.begin(OpKind::Write, data.len() as u64);
        let result = self.write_tracked(offset, data, durability).await;
        self.end(DeviceOp::Write, under_way, self.writes_through(durability), result)
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        let began = now();
        let mark = self.common.health.begin_flush();
        let result = self.flush_backend().await;
        if result.is_ok() {
            self.common.health.flushed(mark);
        }
        self.settle(DeviceOp::Flush, 0, now().since(began), true, result)
    }

    fn discards(&self) -> bool {
        self.info().discards
    }

    async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        let under_way = self.begin(OpKind::Trim, bytes);
        let result = self.discard_backend(offset, bytes).await;
        self.end(DeviceOp::Discard, under_way, false, result)
    }
}

impl fmt::Debug for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Drive({:?})", self.common.info.path)
    }
}

#[cfg(test)]
mod tests;
