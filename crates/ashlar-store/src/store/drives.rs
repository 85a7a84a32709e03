//! The drives of an open pool: which come, go and come back.

use std::collections::BTreeSet;
use std::rc::Rc;

use ashlar_block::{DriveId, DriveUuid, IoError, World};
use ashlar_format::superblock::Superblock;
use ashlar_raid::{Failure, Trouble};

use super::Store;
use crate::members::FoundDrive;
use crate::members::add::AddError;
use crate::members::rejoin::{RejoinError, Rejoined};
use crate::members::remove::{FailError, RemoveError};
use crate::recovery::OpenError;

/// What a pool has lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Loss {
    /// A drive, which is not used any more, and why.
    Drive(DriveId, Failure),
    /// The answers of a drive: it owes some, and has given none for a while. It is slow until it
    /// gives one.
    Answers(DriveId),
    /// It takes no writes any more, for this reason.
    Writes(String),
}

impl<W: World> Store<W> {
    /// From now on `heard` is told of each loss, when it happens: it may not ask the pool for
    /// anything. That the pool is closed is none.
    pub fn hear_of_losses(&self, heard: impl Fn(Loss) + 'static) {
        let heard = Rc::new(heard);
        let of_drive = heard.clone();
        self.pool.array.hear_of_trouble(move |drive, trouble| match trouble {
            Trouble::GivenUp(why) => of_drive(Loss::Drive(drive, why)),
            Trouble::Silent => of_drive(Loss::Answers(drive)),
        });
        self.pool.halt.hear(move |why| heard(Loss::Writes(why.to_owned())));
    }

    /// Takes a drive into the pool; what it held is lost. It is a member when this returns.
    /// `instead_of`: the member that it is for; without that it makes up for any that is lost.
    ///
    /// # Errors
    /// [`AddError`]; the pool is as it was, unless it cannot be written itself.
    pub async fn add_drive(
        &self,
        device: W::Device,
        instead_of: Option<DriveId>,
    ) -> Result<DriveUuid, AddError> {
        self.pool.add_drive(device, instead_of).await
    }

    /// Gives a drive up as if it had been pulled; what lives on it is rebuilt on the others.
    ///
    /// # Errors
    /// [`FailError`]; nothing has changed then, unless the pool cannot be written.
    pub async fn fail_drive(&self, drive: DriveId, force: bool) -> Result<(), FailError> {
        self.pool.fail_drive(drive, force).await
    }

    /// # Errors
    /// What [`Self::fail_drive`] would refuse now.
    pub fn may_fail_drive(&self, drive: DriveId, force: bool) -> Result<(), FailError> {
        self.pool.may_fail_drive(drive, force)
    }

    /// These drives are not there any more. They may come back by themselves: see
    /// [`DriveStatus::is_given_up`].
    ///
    /// # Errors
    /// When the pool cannot be written.
    ///
    /// [`DriveStatus::is_given_up`]: crate::DriveStatus::is_given_up
    pub async fn drives_are_gone(&self, drives: &[DriveId]) -> Result<(), IoError> {
        self.pool.drives_are_gone(drives).await
    }

    /// The room, redundancy included, that a drive of this size would bring if it were added now.
    ///
    /// # Errors
    /// What [`Self::add_drive`] would refuse now.
    pub fn may_add_drive(&self, size_bytes: u64) -> Result<u64, AddError> {
        self.pool.may_add_drive(size_bytes)
    }

    /// Whether a drive of this size could be added now.
    ///
    /// # Errors
    /// Why not.
    pub fn check_size(&self, size_bytes: u64) -> Result<(), AddError> {
        self.pool.check_size(size_bytes)
    }

    /// Whether a drive with this superblock was being added when the daemon was killed, so that it
    /// holds nothing.
    pub async fn was_about_to_be_added(&self, superblock: &Superblock, device: &W::Device) -> bool {
        self.pool.was_about_to_be_added(superblock, device).await
    }

    /// # Errors
    /// What [`Self::remove_drive`] would refuse now.
    pub fn may_remove_drive(&self, drive: DriveId) -> Result<(), RemoveError> {
        self.pool.may_remove_drive(drive)
    }

    /// Removes a drive: what lives on it is moved to the others, and then it is no member any more.
    /// Returns when it is decided.
    ///
    /// # Errors
    /// [`RemoveError`]; nothing has changed then, unless the pool cannot be written.
    pub async fn remove_drive(&self, drive: DriveId) -> Result<(), RemoveError> {
        self.pool.remove_drive(drive).await
    }

    /// Lets go of what is left of a drive that was lost, so that it can be opened again for
    /// [`Self::return_drive`].
    ///
    /// # Errors
    /// [`RejoinError`]; nothing has changed then.
    pub async fn forget_lost(&self, drive: DriveId) -> Result<(), RejoinError> {
        self.pool.forget_lost(drive).await
    }

    /// Whether a pool that has halted could be opened with those of its drives that work and the
    /// ones of these identities.
    ///
    /// # Errors
    /// [`OpenError::TooManyMissing`].
    pub fn could_open_with(&self, back: &BTreeSet<DriveUuid>) -> Result<(), OpenError> {
        self.pool.could_open_with(back)
    }

    /// Lets go of what is left of the drives that were lost, so that they can be opened again. Of a
    /// pool that has halted only.
    pub fn forget_all_lost(&self) {
        self.pool.forget_all_lost();
    }

    /// Takes a drive back that was lost as `drive`. What it has missed is restored; it is a member,
    /// under a new number, when this returns.
    ///
    /// # Errors
    /// [`RejoinError`]; the pool is as it was, unless it cannot be written itself.
    pub async fn return_drive(
        &self,
        drive: DriveId,
        found: FoundDrive<W::Device>,
    ) -> Result<Rejoined, RejoinError> {
        self.pool.return_drive(drive, found).await
    }

    /// Drives that are no members any more since the last call: the pool has let go of them.
    pub fn take_departed(&self) -> Vec<DriveUuid> {
        self.pool.membership.departed.take()
    }

    /// A drive that was to be removed stays.
    ///
    /// # Errors
    /// [`RemoveError`]; nothing has changed then, unless the pool cannot be written.
    pub async fn keep_drive(&self, drive: DriveId) -> Result<(), RemoveError> {
        self.pool.keep_drive(drive).await
    }
}
