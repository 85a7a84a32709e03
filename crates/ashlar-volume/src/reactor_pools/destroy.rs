//! The end of a pool, and the erase of the drives that it had.
//!
//! The labels go first: whatever comes between, the pool is gone. Then a task of its own erases
//! each drive, and holds it for as long: nobody makes a pool of it meanwhile. A drive that takes
//! discards is told that nothing of it is needed; one that takes none, or refuses, is written over
//! with zeros. The task zeroes the labels once more at the end: what a drive gives after a discard
//! is its own choice.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Device, DeviceError, Durability, PoolUuid, Spawn};
use futures_util::future::join_all;

use super::{OpenPool, PoolDrive, ReactorPools};
use crate::drive_provider::{DriveProvider, ProvidedDrive};
use crate::error::NodeError;
use crate::report::HeldDrive;

/// Bytes of one discard.
const DISCARD_BYTES: u64 = 256 << 20;
/// Bytes of one write of zeros, and how many are on their way at a time.
const WRITE_BYTES: u64 = 1 << 20;
const WRITES_AT_A_TIME: u64 = 4;
/// Erases that are remembered, beside those that go on.
const REMEMBERED_MAX: usize = 256;

/// How a drive is erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EraseMethod {
    /// It is told that nothing of it is needed.
    Discard,
    /// Zeros are written over all of it.
    Overwrite,
}

/// What the erase of a drive has come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EraseOutcome {
    /// All of it is erased.
    Erased,
    /// It is not, or not all of it.
    Failed(String),
    /// The drive was not there.
    Missing,
}

/// The erase of a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveErase {
    /// The drive, as it was named; of one that was not there, by its name in the pool.
    pub spec: String,
    /// The pool that it was of.
    pub pool: String,
    /// That pool's identity.
    pub pool_uuid: PoolUuid,
    /// None: nothing is done to it.
    pub method: Option<EraseMethod>,
    /// Its size. None: it was not there.
    pub size_bytes: Option<u64>,
    /// What of that is erased.
    pub done_bytes: u64,
    /// None: it goes on.
    pub outcome: Option<EraseOutcome>,
}

/// The erases of a reactor's drives, the oldest first.
#[derive(Default)]
pub(super) struct Erases {
    all: Vec<(u64, DriveErase)>,
    next: u64,
}

impl Erases {
    fn add(&mut self, erase: DriveErase) -> u64 {
        while self.all.len() >= REMEMBERED_MAX
            && let Some(oldest) = self.all.iter().position(|(_, it)| it.outcome.is_some())
        {
            self.all.remove(oldest);
        }
        let number = self.next;
        self.next += 1;
        self.all.push((number, erase));
        number
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut DriveErase)) {
        if let Some((_, erase)) = self.all.iter_mut().find(|(it, _)| *it == number) {
            change(erase);
        }
    }

    /// Drives that nobody else may have yet.
    pub(super) fn held(&self) -> Vec<HeldDrive> {
        let going_on = self.all.iter().filter(|(_, erase)| erase.outcome.is_none());
        let held = |(_, erase): &(u64, DriveErase)| HeldDrive {
            spec: erase.spec.clone(),
            pool: erase.pool.clone(),
            drive: String::new(),
            is_lost: false,
            is_being_erased: true,
        };
        going_on.map(held).collect()
    }
}

impl<B: DriveProvider> ReactorPools<B> {
    /// Closes a pool and makes its drives no pool's: what it held is lost. With `erase` the drives
    /// that were there are erased from then on: [`Self::drive_erases`].
    ///
    /// # Errors
    /// The drives that could not be wiped. With `erase` that is the outcome of their erases.
    pub async fn destroy_pool(&self, uuid: PoolUuid, erase: bool) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        pool.unless_it_hangs(pool.store.holds()).await;
        pool.is_not_taken()?;
        drop(pool);
        let pool = self.take_pool(uuid).await?;
        if let Err(error) = pool.store.close().await {
            tracing::warn!(pool = pool.name(), %error, "closing the pool before it is destroyed");
        }
        pool.is_not_taken()?;
        let members = pool.drives.take();
        let wipe = async |member: &PoolDrive<B::Device>| {
            // The pool has been handed back: another machine may have opened it since.
            self.check_not_elsewhere([&member.drive]).await?;
            // A copy of its label may be at the end of a drive that has become larger.
            self.wipe(&member.drive, member.drive.device.size_bytes()).await?;
            self.wipe(&member.drive, member.pool_bytes).await
        };
        let wiped = join_all(members.iter().map(wipe)).await;
        if erase {
            self.note_missing(&pool, &members);
            for (member, wiped) in members.into_iter().zip(wiped) {
                self.begin_erase(&pool, member.drive, wiped);
            }
            return Ok(());
        }
        let failed: Vec<String> =
            wiped.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let why = format!(
            "the pool is gone, but these drives may carry its label still, which ashlar drive label-clear takes off: {}",
            failed.join("; ")
        );
        Err(NodeError::Drive(why))
    }

    /// The drives that are being erased, and the last ones that were.
    pub fn drive_erases(&self) -> Vec<DriveErase> {
        self.erases.borrow().all.iter().map(|(_, erase)| erase.clone()).collect()
    }

    /// Begins to erase a drive whose label was wiped, or notes why it is not erased.
    fn begin_erase(
        &self,
        pool: &OpenPool<B>,
        drive: ProvidedDrive<B::Device>,
        wiped: Result<(), NodeError>,
    ) {
        let size_bytes = drive.device.size_bytes();
        let erase = DriveErase::of(pool, drive.facts.spec.clone());
        let erase = DriveErase { size_bytes: Some(size_bytes), ..erase };
        if let Err(error) = wiped {
            tracing::error!(drive = erase.spec, %error, "the drive is not erased");
            let hint = match error {
                NodeError::InUseElsewhere { .. } => "",
                _ => {
                    "; it may carry the pool's label still, which ashlar drive label-clear takes off"
                }
            };
            let outcome = Some(EraseOutcome::Failed(format!("{error}{hint}")));
            self.erases.borrow_mut().add(DriveErase { outcome, ..erase });
            return;
        }
        let method = Some(EraseMethod::Overwrite);
        let number = self.erases.borrow_mut().add(DriveErase { method, ..erase });
        let erasing = Erasing { device: drive.device, erases: self.erases.clone(), number };
        self.world.spawn(erasing.run());
    }

    /// Notes the drives that were not there.
    fn note_missing(&self, pool: &OpenPool<B>, members: &[PoolDrive<B::Device>]) {
        let status = pool.store.status();
        let is_there = |uuid| members.iter().any(|member| member.uuid == uuid);
        for missing in status.drives.iter().filter(|drive| !is_there(drive.uuid)) {
            let erase = DriveErase::of(pool, format!("{}/drive-{}", status.name, missing.drive.0));
            let outcome = Some(EraseOutcome::Missing);
            self.erases.borrow_mut().add(DriveErase { outcome, ..erase });
        }
    }
}

impl DriveErase {
    fn of<B: DriveProvider>(pool: &OpenPool<B>, spec: String) -> Self {
        DriveErase {
            spec,
            pool: pool.name(),
            pool_uuid: pool.uuid,
            method: None,
            size_bytes: None,
            done_bytes: 0,
            outcome: None,
        }
    }
}

/// The erase of one drive.
struct Erasing<D> {
    device: D,
    erases: Rc<RefCell<Erases>>,
    number: u64,
}

impl<D: Device> Erasing<D> {
    async fn run(self) {
        let discarded = match self.device.discards() {
            true => self.discard().await.is_ok(),
            false => false,
        };
        let erased = match discarded {
            true => Ok(()),
            false => self.overwrite().await,
        };
        let erased = match erased {
            Ok(()) => self.end().await,
            failed => failed,
        };
        let Erasing { device, erases, number } = self;
        // Who hears that it is erased may have the drive.
        drop(device);
        let outcome = erased.map_or_else(
            |error| EraseOutcome::Failed(error.to_string()),
            |()| EraseOutcome::Erased,
        );
        erases.borrow_mut().change(number, |erase| {
            match &outcome {
                EraseOutcome::Failed(why) => {
                    tracing::error!(drive = erase.spec, %why, "the drive is not erased");
                }
                _ => tracing::info!(drive = erase.spec, method = ?erase.method, "the drive is erased"),
            }
            erase.outcome = Some(outcome);
        });
    }

    fn note(&self, method: EraseMethod, done_bytes: u64) {
        self.erases.borrow_mut().change(self.number, |erase| {
            (erase.method, erase.done_bytes) = (Some(method), done_bytes);
        });
    }

    async fn discard(&self) -> Result<(), DeviceError> {
        let (mut at, end) = (0, self.device.size_bytes());
        while at < end {
            self.note(EraseMethod::Discard, at);
            let bytes = DISCARD_BYTES.min(end - at);
            self.device.discard(at, bytes).await?;
            at += bytes;
        }
        self.note(EraseMethod::Discard, end);
        Ok(())
    }

    async fn overwrite(&self) -> Result<(), DeviceError> {
        let zeros = AlignedBuf::zeroed(WRITE_BYTES as usize).freeze();
        let (mut at, end) = (0, self.device.size_bytes());
        while at < end {
            self.note(EraseMethod::Overwrite, at);
            let until = end.min(at + WRITE_BYTES * WRITES_AT_A_TIME);
            let write = |from: u64| {
                let bytes = WRITE_BYTES.min(until - from) as usize;
                self.device.write(from, zeros.slice(..bytes), Durability::Cached)
            };
            let parts = (at..until).step_by(WRITE_BYTES as usize);
            join_all(parts.map(write)).await.into_iter().collect::<Result<(), _>>()?;
            at = until;
        }
        self.note(EraseMethod::Overwrite, end);
        Ok(())
    }

    /// Zeroes the labels, and makes all of it durable.
    async fn end(&self) -> Result<(), DeviceError> {
        ashlar_store::wipe(&self.device, self.device.size_bytes()).await?;
        self.device.flush().await
    }
}
