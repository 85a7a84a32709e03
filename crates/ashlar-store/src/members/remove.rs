//! Drives that leave an open pool: given up at once, or emptied first.
//!
//! Rebuild moves what lives on a drive that is being removed as if the drive were lost, except that
//! it still reads the drive. Once no segment lies on the drive, a root no longer names it; then,
//! and not before, its owner may wipe its label. A crash between the two leaves a drive that counts
//! for nothing.

use ashlar_block::{ByteSize, DeviceError, DriveId, IoError, World};
use ashlar_format::root::{MemberRecord, MemberState};
use ashlar_raid::Failure;

use crate::members::losses;
use crate::pool::Pool;
use crate::space::capacity::{Request, marks};
use crate::space::segments::Stripe;

/// Why a drive was not given up.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FailError {
    /// The pool does not use it.
    #[error("the pool does not use {0}")]
    NotUsed(DriveId),
    /// Data would be lost until it is back.
    #[error(
        "the pool has lost {lost} drives, as many as its level survives: without {drive} data cannot be read"
    )]
    TooMany {
        /// The drive in question.
        drive: DriveId,
        /// Drives that are lost.
        lost: usize,
    },
    /// The pool cannot be written.
    #[error("{0}")]
    Pool(#[from] IoError),
}

/// Why a drive is not removed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RemoveError {
    /// It is none of the pool's.
    #[error("the pool has no {0}")]
    NotMember(DriveId),
    /// It was not to be removed.
    #[error("{0} is not being removed: there is nothing to cancel")]
    NotLeaving(DriveId),
    /// It is lost, and what lived on it is not yet on others.
    #[error(
        "{0} is lost, and the rebuild has not restored all that lived on it: remove it after the \
         rebuild (`ashlar pool rebuild POOL --wait`)"
    )]
    Lost(DriveId),
    /// The level needs more drives than would be left.
    #[error(
        "{left} drives would be left, and the pool's level needs {needed}: add one first, or replace {drive}"
    )]
    TooFew {
        /// The drive in question.
        drive: DriveId,
        /// Drives that would take new data.
        left: usize,
        /// How many the level needs.
        needed: usize,
    },
    /// What lives has no room on the others.
    #[error(
        "the pool holds {} of live data, and without {drive} it has room for {}: delete or trim \
         data, or add a drive first",
        ByteSize(*live), ByteSize(*limit)
    )]
    NoRoom {
        /// The drive in question.
        drive: DriveId,
        /// Bytes that live.
        live: u64,
        /// Bytes that may live without it.
        limit: u64,
    },
    /// What is no longer alive has to be collected before.
    #[error(
        "without {drive} the pool would have {free} free segments, and it needs {kept}: garbage \
         collection has begun. Try again in a minute, or add a drive first"
    )]
    TooEarly {
        /// The drive in question.
        drive: DriveId,
        /// Segments that would be free without it, as it is now.
        free: u64,
        /// Segments that the pool keeps.
        kept: u64,
    },
    /// The pool cannot be written.
    #[error("{0}")]
    Pool(#[from] IoError),
}

impl<W: World> Pool<W> {
    /// Gives a drive up. `force`: also if data cannot be read without it.
    pub async fn fail_drive(&self, drive: DriveId, force: bool) -> Result<(), FailError> {
        self.may_fail_drive(drive, force)?;
        self.array.give_up(drive, Failure::ByRequest);
        Ok(self.checkpoint_unless_hung().await?)
    }

    /// Whether the drive can be given up now.
    pub fn may_fail_drive(&self, drive: DriveId, force: bool) -> Result<(), FailError> {
        self.halt.check()?;
        if self.array.working(drive).is_none() {
            return Err(FailError::NotUsed(drive));
        }
        let lost = self.lost_with(&[]);
        if self.lost_with(&[drive]) > self.identity.level.parity() && !force {
            return Err(FailError::TooMany { drive, lost });
        }
        Ok(())
    }

    /// These drives are not there any more, which the array alone cannot tell from a drive that
    /// refuses. One that works is given up. The next root notes that they were away, so that they
    /// may come back by themselves.
    pub async fn drives_are_gone(&self, drives: &[DriveId]) -> Result<(), IoError> {
        self.membership.gone.borrow_mut().extend(drives);
        drives.iter().for_each(|drive| self.array.give_up(*drive, DeviceError::Gone));
        self.checkpoint_unless_hung().await
    }

    /// The drive is known to be away.
    pub fn is_gone(&self, drive: DriveId) -> bool {
        self.membership.gone.borrow().contains(&drive)
    }

    /// Whether a root that is the first to name the drive absent notes that it was given up: it was
    /// there when the pool was opened, and nobody has found it gone.
    pub fn gives_up(&self, drive: DriveId) -> bool {
        self.array.member(drive).is_some() && !self.is_gone(drive)
    }

    /// What would be lost with `more` drives, to be compared with the parity of the pool's level.
    pub fn lost_with(&self, more: &[DriveId]) -> usize {
        let is_lost = |drive: DriveId| self.array.working(drive).is_none() || more.contains(&drive);
        let segments = self.space.segments.borrow();
        let geometries = segments.iter().map(|(_, segment)| &*segment.geometry);
        losses(&self.checkpoint.roots.newest(), is_lost, geometries, self.identity.level.parity())
    }

    /// A drive that has had too many faults, if nothing is lost by giving it up: all others are
    /// there, all that lives has its redundancy, and new data will have it, too.
    pub fn faulty_drive(&self) -> Option<DriveId> {
        let parity = self.identity.level.parity();
        let drive = self.array.faulty_drive().filter(|_| parity > 0)?;
        let root = self.checkpoint.roots.newest();
        let all_there = root.counted().all(|drive| self.array.working(drive).is_some());
        let remaining = self.allocation_targets().into_iter().filter(|home| *home != drive).count();
        (all_there && self.unreleased().is_empty() && remaining > parity).then_some(drive)
    }

    /// Removes a drive: nothing new goes to it, and once all that lives on it is on others it is no
    /// member any more. One that was lost and released is forgotten. Returns when that is decided
    /// for good, not when it is done.
    pub async fn remove_drive(&self, drive: DriveId) -> Result<(), RemoveError> {
        let _adding = self.membership.adding.lock().await;
        self.may_remove_drive(drive)?;
        self.admit_request(Request::Change)?;
        self.membership.leaving.borrow_mut().insert(drive);
        self.rebuild_at_once();
        Ok(self.checkpoint_unless_hung().await?)
    }

    /// Whether the drive can be removed now.
    pub fn may_remove_drive(&self, drive: DriveId) -> Result<(), RemoveError> {
        self.halt.check()?;
        let state = self
            .checkpoint
            .roots
            .newest()
            .members
            .iter()
            .find(|it| it.drive == drive)
            .map(|it| it.state);
        match state.ok_or(RemoveError::NotMember(drive))? {
            MemberState::Absent => Err(RemoveError::Lost(drive)),
            MemberState::Present | MemberState::Leaving if self.array.working(drive).is_none() => {
                Err(RemoveError::Lost(drive))
            }
            MemberState::Present => self.could_do_without(drive),
            MemberState::Leaving | MemberState::Released => Ok(()),
        }
    }

    /// A drive that was to be removed stays.
    pub async fn keep_drive(&self, drive: DriveId) -> Result<(), RemoveError> {
        let _adding = self.membership.adding.lock().await;
        self.halt.check()?;
        self.admit_request(Request::GivingBack)?;
        // How far it has come is not to be seen any more afterwards.
        self.note_moves();
        if !self.membership.leaving.borrow_mut().remove(&drive) {
            return Err(RemoveError::NotLeaving(drive));
        }
        self.checkpoint_unless_hung().await?;
        // The root without it may have been on its way.
        let stays =
            self.checkpoint.roots.newest().members.iter().any(|member| member.drive == drive);
        if stays { Ok(()) } else { Err(RemoveError::NotMember(drive)) }
    }

    /// Whether level and data allow that the drive goes.
    fn could_do_without(&self, drive: DriveId) -> Result<(), RemoveError> {
        let mut left = self.allocation_targets();
        left.retain(|home| *home != drive);
        let needed = self.identity.level.drives_min();
        if left.len() < needed {
            return Err(RemoveError::TooFew { drive, left: left.len(), needed });
        }
        let segments = self.space.segments.borrow();
        let (live, limit) = (segments.live().bytes(), self.limit_on(&left));
        if live > limit {
            return Err(RemoveError::NoRoom { drive, live, limit });
        }
        // Garbage has room only with the drive, too: without it there has to be enough to collect
        // it.
        let (free, kept) =
            (segments.free_on(&left), marks(segments.stripes_when_empty(&left).segments()).reserve);
        if free < kept {
            self.requests.make_room();
            return Err(RemoveError::TooEarly { drive, free, kept });
        }
        Ok(())
    }

    /// Lets go of those of the members `before` that the newest root does not name.
    pub fn let_go_of_drives(&self, before: &[MemberRecord]) {
        let root = self.checkpoint.roots.newest();
        let is_gone =
            |member: &&MemberRecord| root.members.iter().all(|it| it.drive != member.drive);
        for MemberRecord { drive, uuid, .. } in before.iter().filter(is_gone) {
            let stripe = Stripe::of(self.identity.level, root.identities(root.counted()));
            self.membership.leaving.borrow_mut().remove(drive);
            self.space.segments.borrow_mut().remove_drive(*drive, stripe);
            self.array.remove(*drive);
            self.membership.gone.borrow_mut().remove(drive);
            // Under another number it may have come back.
            if root.members.iter().all(|member| member.uuid != *uuid) {
                self.membership.departed.borrow_mut().push(*uuid);
            }
        }
    }
}

#[cfg(test)]
mod tests;
