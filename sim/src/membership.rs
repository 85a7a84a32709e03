//! Drives that come, go and come back while hosts are at work.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use ashlar_block::{Clock, DeviceError, DriveId};
use ashlar_store::{AddError, DriveCondition, DriveStatus, FoundDrive, RejoinError, RemoveError};

use crate::drive::SimDrive;
use crate::drives::Numbers;
use crate::hosts::Run;
use crate::start::{Pool, superblock};
use crate::volumes::may_fail;

/// What there is to change of a pool's members.
#[derive(Default)]
pub struct Members {
    numbers: Numbers,
    /// A drive that may be added.
    spare: RefCell<Option<(usize, SimDrive)>>,
    /// Those that are there, by their platters.
    there: RefCell<BTreeMap<usize, SimDrive>>,
    /// A drive was named by a root that drives which hang have kept from being durable. Until it
    /// is, no other one can come.
    is_unsettled: Cell<bool>,
}

impl Members {
    pub fn new(
        numbers: Numbers,
        spare: Option<(usize, SimDrive)>,
        there: BTreeMap<usize, SimDrive>,
    ) -> Self {
        let (spare, there) = (RefCell::new(spare), RefCell::new(there));
        Members { numbers, spare, there, is_unsettled: Cell::new(false) }
    }

    /// Whether a drive may be refused for that.
    fn may_be_refused(&self, error: &AddError) -> bool {
        match error {
            AddError::Unsettled { error, .. } => {
                self.is_unsettled.set(true);
                may_fail(error)
            }
            AddError::Joining(_) => self.is_unsettled.get(),
            AddError::Pool(error) => may_fail(error),
            _ => false,
        }
    }

    /// Whether a drive may have to stay away for that.
    fn may_stay_away(&self, error: &RejoinError) -> bool {
        match error {
            // It fails or hangs still; or it was renamed, and the power was cut before the pool
            // knew.
            RejoinError::Add(AddError::Drive(_))
            | RejoinError::Another(_)
            | RejoinError::NoAnswer(_)
            | RejoinError::Unknown(_) => true,
            RejoinError::Add(error) => self.may_be_refused(error),
            _ => false,
        }
    }

    /// The next drive that comes to the pool is on this platter.
    fn expect(&self, pool: &Pool, platter: usize) {
        let last = pool.status().drives.last().map_or(0, |drive| drive.drive.0 + 1);
        self.numbers.borrow_mut().insert(last, platter);
    }

    fn has(&self, pool: &Pool, platter: usize) -> bool {
        let numbers = self.numbers.borrow();
        pool.status().drives.iter().any(|drive| numbers[&drive.drive.0] == platter)
    }

    /// The number by which the pool knew the platter last.
    fn is_newest(&self, drive: DriveId) -> bool {
        let numbers = self.numbers.borrow();
        let platter = numbers[&drive.0];
        numbers
            .iter()
            .rev()
            .find(|(_, other)| **other == platter)
            .is_some_and(|(number, _)| *number == drive.0)
    }

    /// The drive that the pool knows by this number, if it is there and has not come back already.
    fn drive(&self, drive: DriveId) -> Option<(usize, SimDrive)> {
        let platter = self.numbers.borrow()[&drive.0];
        Some((platter, self.there.borrow_mut().remove(&platter)?))
    }
}

impl Run {
    pub async fn change_members(&self, pool: &Pool) -> Result<(), String> {
        self.add_spare(pool).await?;
        if self.world.once_in(3) {
            self.rebalance(pool).await?;
        }
        if self.plan.shrinks && self.world.once_in(3) {
            self.remove_one(pool).await?;
        }
        while self.plan.drives_return && self.world.once_in(2) {
            self.return_one(pool).await?;
        }
        Ok(())
    }

    async fn wait_a_little(&self) {
        self.world.sleep(Duration::from_micros(self.world.below(50_000))).await;
    }

    /// Has what lives spread over all drives, and may think better of it.
    async fn rebalance(&self, pool: &Pool) -> Result<(), String> {
        self.wait_a_little().await;
        let mut done = pool.start_rebalance().await;
        if done.is_ok() && self.world.once_in(6) {
            self.wait_a_little().await;
            done = pool.stop_rebalance().await;
        }
        match done {
            Err(error) if !may_fail(&error) => Err(format!("rebalancing: {error}")),
            _ => Ok(()),
        }
    }

    /// Removes a drive, and may think better of it.
    async fn remove_one(&self, pool: &Pool) -> Result<(), String> {
        self.wait_a_little().await;
        // Not the last: its number would be another's, and is what it is known by here.
        let drives = pool.status().drives;
        let drive = drives[self.world.below(drives.len() as u64 - 1) as usize].drive;
        let removed = pool.remove_drive(drive).await;
        tracing::debug!("removing {drive}: {removed:?}");
        let mut done = removed;
        if done.is_ok() && self.world.once_in(4) {
            self.wait_a_little().await;
            done = pool.keep_drive(drive).await;
        }
        match done {
            Err(RemoveError::Pool(error)) if !may_fail(&error) => {
                Err(format!("removing a drive: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Adds a drive, at some time, in one of three starts.
    async fn add_spare(&self, pool: &Pool) -> Result<(), String> {
        // A power cut may have come between the root that names it and the end of the last attempt.
        let is_none_yet = |(platter, _): &(usize, SimDrive)| !self.members.has(pool, *platter);
        let spare =
            self.members.spare.take().filter(|spare| self.world.once_in(3) && is_none_yet(spare));
        let Some((platter, spare)) = spare else { return Ok(()) };
        self.wait_a_little().await;
        self.members.expect(pool, platter);
        match pool.add_drive(spare, None).await {
            Ok(_) => self.known.count(|outcome| outcome.drives_added += 1),
            Err(AddError::Drive(DeviceError::NoSpace { .. })) if self.plan.sparse => {}
            Err(AddError::NoAnswer) => {}
            Err(error) if self.members.may_be_refused(&error) => {}
            Err(error) => return Err(format!("adding a drive: {error}")),
        }
        Ok(())
    }

    /// Brings a drive back that is lost and there.
    async fn return_one(&self, pool: &Pool) -> Result<(), String> {
        self.wait_a_little().await;
        let is_lost = |drive: &DriveStatus| {
            !matches!(drive.condition, DriveCondition::Online | DriveCondition::Leaving)
                && self.members.is_newest(drive.drive)
        };
        let lost: Vec<DriveId> =
            pool.status().drives.into_iter().filter(is_lost).map(|drive| drive.drive).collect();
        let Some(drive) = lost.first().map(|_| lost[self.world.below(lost.len() as u64) as usize])
        else {
            return Ok(());
        };
        let Some((platter, device)) = self.members.drive(drive) else { return Ok(()) };
        let done = match pool.forget_lost(drive).await {
            Ok(()) => {
                // It cannot be opened anew while something that was begun on it goes on.
                if device.is_busy() {
                    return Ok(());
                }
                let Some(superblock) = superblock(&device).await else { return Ok(()) };
                self.members.expect(pool, platter);
                pool.return_drive(drive, FoundDrive { superblock, device }).await
            }
            Err(error) => Err(error),
        };
        tracing::debug!("{drive} comes back: {done:?}");
        match done {
            Ok(returned) => self.known.count(|outcome| {
                outcome.drives_returned += 1;
                outcome.columns_kept += returned.columns_kept;
            }),
            Err(error) if self.members.may_stay_away(&error) => {}
            Err(error) => return Err(format!("{drive} comes back: {error}")),
        }
        Ok(())
    }
}
