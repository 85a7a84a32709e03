//! Rejoin: a drive comes back to an open pool that went on without it.
//!
//! Rows are never overwritten, so the drive still holds its columns of segments that were complete
//! before it was lost. It becomes a member under a new number, and those columns are its own from
//! then on. What it missed stays on its old number, is restored like all that was lost, and then
//! the pool forgets the old number.
//!
//! The drive's own newest root says what was complete: it was written when all batches below its
//! replay floor were on every drive that it names present. The pool's table says since when a
//! segment lies where it does: a copy of the drive that was made before that lacks what was moved
//! to the drive later. If no root of the drive says anything, the pool refuses it as long as it may
//! need something on the drive, because a rejoin would overwrite that. The new number comes first
//! to the drive, where it counts for nothing as long as no root names it, and then into a root,
//! together with the places of columns: of all, or of as many as have room in it
//! (`members/adopt.rs`). A crash between the two leaves a drive that counts for
//! nothing: it can be added, and is then restored from scratch.

use std::collections::BTreeSet;

use ashlar_block::{
    AlignedBuf, Device, DeviceError, DriveId, DriveUuid, Durability, IoError, SECTOR_BYTES, World,
    within,
};
use ashlar_format::root::{MemberRecord, Root};
use ashlar_format::superblock::Superblock;
use ashlar_raid::Member;

use crate::members::add::AddError;
use crate::members::adopt::Held;
use crate::members::create::{random_uuid, write_superblock};
use crate::members::{
    FoundDrive, OPEN_ANSWER_MAX, has_gone_another_way, has_never_had_a_root, losses_by_root,
    read_roots,
};
use crate::pool::Pool;
use crate::recovery::OpenError;

/// Why a drive did not rejoin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RejoinError {
    /// The pool has no such drive.
    #[error("the pool has no {0}")]
    NotMember(DriveId),
    /// It was never lost.
    #[error("{0} works: the pool has not lost it, so there is nothing to return")]
    Works(DriveId),
    /// What is there is another drive.
    #[error("this drive is not {0} of the pool: `ashlar pool replace` takes it as a new drive")]
    Another(DriveId),
    /// A machine opened the pool with it and without the others.
    #[error(
        "a machine opened the pool with {0} and without the other drives: what {0} holds cannot be \
         merged with theirs. `ashlar drive label-clear` gives it up, then `ashlar pool replace` \
         takes {0} as a new drive"
    )]
    Diverged(DriveId),
    /// None of its roots can be used, and the pool may need something that it holds.
    #[error(
        "{0} has no readable root of the pool, so Ashlar cannot tell which of its data is current, \
         and the pool still needs some of it. Run `ashlar pool rebuild POOL --wait`, then return \
         the drive; or give up what it holds: `ashlar drive label-clear`, then `ashlar pool \
         replace`"
    )]
    Unknown(DriveId),
    /// Another machine has the pool open on it without the others, or is about to.
    #[error(
        "machine '{holder}' has the pool open on {drive}, without the other drives: export it \
         there (`ashlar pool export`), or stop that machine"
    )]
    InUse {
        /// The drive.
        drive: DriveId,
        /// What people call the machine.
        holder: String,
    },
    /// It hangs.
    #[error(
        "{0} has not answered for {seconds} s. Return it once it answers. If the pool then calls \
         it another drive (it received its new identity late), `ashlar pool replace` takes it as a \
         new one",
        seconds = OPEN_ANSWER_MAX.as_secs()
    )]
    NoAnswer(DriveId),
    /// It cannot have a new number, or cannot be written; or the pool cannot, and may name it all
    /// the same.
    #[error("{0}")]
    Add(#[from] AddError),
}

impl From<DeviceError> for RejoinError {
    fn from(error: DeviceError) -> Self {
        RejoinError::Add(error.into())
    }
}

impl From<IoError> for RejoinError {
    fn from(error: IoError) -> Self {
        RejoinError::Add(error.into())
    }
}

/// What a drive that came back brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejoined {
    /// Its new number.
    pub drive: DriveId,
    /// Its new identity.
    pub uuid: DriveUuid,
    /// Columns that it has as they should be.
    pub columns_kept: u64,
}

impl<W: World> Pool<W> {
    /// Lets go of what is left of a drive that was lost, so that it can be opened again.
    pub async fn forget_lost(&self, drive: DriveId) -> Result<(), RejoinError> {
        let _adding = self.membership.adding.lock().await;
        self.halt.check()?;
        self.lost_member(drive).await?;
        self.array.remove(drive);
        Ok(())
    }

    /// Lets go of the drives that a pool which has halted has given up, so that they can be opened
    /// again. What can be read without them can be read still.
    pub fn forget_all_lost(&self) {
        assert!(
            self.halt.why().is_some(),
            "a pool that works lets go of one at a time, once a root says that it is lost"
        );
        let drives: Vec<DriveId> =
            self.checkpoint.roots.newest().members.iter().map(|member| member.drive).collect();
        let lost = drives.into_iter().filter(|drive| self.array.working(*drive).is_none());
        lost.for_each(|drive| self.array.remove(drive));
        // One that was joining when it halted: who looks for it must be able to open it.
        let joining =
            self.membership.joining.get().filter(|joining| !self.is_member(joining.record.drive));
        joining.into_iter().for_each(|joining| self.array.remove(joining.record.drive));
    }

    pub fn is_member(&self, drive: DriveId) -> bool {
        self.checkpoint.roots.newest().members.iter().any(|member| member.drive == drive)
    }

    /// Whether a pool that has halted could be opened with those of its drives that work and the
    /// ones that are `back`. One that its root calls lost does not count: it has missed something.
    pub fn could_open_with(&self, back: &BTreeSet<DriveUuid>) -> Result<(), OpenError> {
        could_open(self, &self.checkpoint.roots.newest(), back)?;
        // It may have come to some drives.
        could_open(self, &self.checkpoint.roots.begun(), back)
    }

    /// Takes a drive back that was lost as `drive`.
    pub async fn return_drive(
        &self,
        drive: DriveId,
        found: FoundDrive<W::Device>,
    ) -> Result<Rejoined, RejoinError> {
        let _adding = self.membership.adding.lock().await;
        self.halt.check()?;
        self.joins_none()?;
        let record = self.lost_member(drive).await?;
        if !self.is_it(&found.superblock, &record) {
            return Err(RejoinError::Another(drive));
        }
        let held = self.claim(&record, &found).await?;
        let FoundDrive { superblock, device } = found;
        let superblock = self.renamed(superblock)?;
        self.write_renamed(&record, &device, &superblock).await?;
        let columns = self.columns_held(drive, &held).await;
        self.between_checkpoints().await?;
        let (new, layout) = (superblock.drive, superblock.layout);
        self.array.remove(drive);
        self.array.add(new, Member::new(device, layout).using(superblock.drive_bytes));
        // The drive that made up for it makes up for another from now on, if one is missed.
        let makes_good =
            self.open_losses().first().filter(|_| record.made_good).map(|lost| lost.uuid);
        self.join(&superblock, Some(record.uuid), makes_good);
        let adopted = self.adopt(&record, new, columns, &held).await;
        self.try_unreadable_again();
        self.rebuild_at_once();
        let named = match adopted {
            Ok(columns_kept) => self.checkpoint_unless_hung().await.map(|()| columns_kept),
            Err(error) => Err(error),
        };
        let uuid = superblock.drive_uuid;
        let columns_kept =
            named.map_err(|error| AddError::Unsettled { drive: new, uuid, error })?;
        Ok(Rejoined { drive: new, uuid, columns_kept })
    }

    /// Makes sure that the drive is the pool's, and nobody else's, from now on. Returns what it
    /// holds.
    async fn claim(
        &self,
        member: &MemberRecord,
        found: &FoundDrive<W::Device>,
    ) -> Result<Held, RejoinError> {
        let no_answer = || RejoinError::NoAnswer(member.drive);
        let held = async || {
            let held = self.held_by(member, found);
            within(&self.world, OPEN_ANSWER_MAX, held).await.ok_or_else(no_answer)?
        };
        // Nothing is written to one that is not taken.
        held().await?;
        self.is_still_held().await?;
        let claimed = self.claim_returning(&found.device);
        let claimed = within(&self.world, OPEN_ANSWER_MAX, claimed).await.ok_or_else(no_answer)?;
        claimed.map_err(|holder| RejoinError::InUse { drive: member.drive, holder })?;
        // Until the claim was there another machine may have had it.
        let held = held().await?;
        within(&self.world, OPEN_ANSWER_MAX, self.erase_strays(&found.device))
            .await
            .ok_or_else(no_answer)??;
        Ok(held)
    }

    /// Erases roots of a start that did not come to its end, because the power failed when its
    /// first root had come to this drive alone: of a member they are taken for those of another
    /// machine that goes on with the pool.
    async fn erase_strays(&self, device: &W::Device) -> Result<(), DeviceError> {
        for stray in read_roots(device, self.identity.pool).await {
            if !self.checkpoint.roots.newest().descends_from(stray.incarnation(), stray.generation)
            {
                let nothing = AlignedBuf::zeroed(SECTOR_BYTES).freeze();
                device
                    .write(Superblock::root_offset(stray.generation.0), nothing, Durability::Stable)
                    .await?;
            }
        }
        Ok(())
    }

    /// Whether the superblock is that of the member, or one that it was given when it was to come
    /// back before.
    fn is_it(&self, superblock: &Superblock, member: &MemberRecord) -> bool {
        // Whoever does not know the pool's secret cannot have written the label.
        if superblock.secret != self.identity.secret {
            return false;
        }
        let is_unchanged = (superblock.drive, superblock.drive_uuid) == (member.drive, member.uuid);
        is_unchanged
            || self.membership.renamings.borrow().get(&superblock.drive_uuid) == Some(&member.uuid)
    }

    /// The member, once a root says that it is lost: before that, what was written without it may
    /// not be durable.
    async fn lost_member(&self, drive: DriveId) -> Result<MemberRecord, RejoinError> {
        let record = || {
            self.checkpoint
                .roots
                .newest()
                .members
                .iter()
                .find(|member| member.drive == drive)
                .copied()
        };
        let known = record().ok_or(RejoinError::NotMember(drive))?;
        if !known.state.takes_part() {
            return Ok(known);
        }
        if self.array.working(drive).is_some() {
            return Err(RejoinError::Works(drive));
        }
        self.checkpoint_unless_hung().await?;
        record().filter(|member| !member.state.takes_part()).ok_or(RejoinError::Works(drive))
    }

    /// What the drive holds as it should be, by its own newest root on the pool's line.
    async fn held_by(
        &self,
        member: &MemberRecord,
        found: &FoundDrive<W::Device>,
    ) -> Result<Held, RejoinError> {
        let roots = read_roots(&found.device, self.identity.pool).await;
        let is_on_line = |own: &&Root| {
            self.checkpoint.roots.newest().descends_from(own.incarnation(), own.generation)
        };
        if let Some(other) = roots.last().filter(|last| !is_on_line(last)) {
            let parity = self.identity.level.parity();
            if has_gone_another_way(other, &self.checkpoint.roots.newest(), parity) {
                return Err(RejoinError::Diverged(member.drive));
            }
        }
        // What is newer is of a checkpoint that did not come to its end.
        let names_it = |own: &&Root| names_present(own, member);
        let own = roots.iter().rev().filter(is_on_line).find(names_it);
        if let Some(own) = own {
            return Ok(Held::by(own));
        }
        let holds_nothing = has_never_had_a_root(&found.device).await;
        if !holds_nothing && self.space.segments.borrow().summary().is_used(member.drive) {
            return Err(RejoinError::Unknown(member.drive));
        }
        Ok(Held::default())
    }

    /// What could not be read without the drive may be with it.
    fn try_unreadable_again(&self) {
        self.space.segments.borrow_mut().try_sweep_again();
        self.space.segments.borrow_mut().all_may_move();
        self.jobs.unpurgeable.borrow_mut().clear();
    }

    /// The superblock under a new number and identity.
    fn renamed(&self, superblock: Superblock) -> Result<Superblock, AddError> {
        Ok(self.identity.naming.label().on(Superblock {
            generation: superblock.generation + 1,
            drive: self.next_drive()?,
            drive_uuid: DriveUuid(random_uuid(&self.world)),
            member_count: self.member_count(),
            ..superblock
        }))
    }

    /// Gives the member's drive its new number and identity.
    async fn write_renamed(
        &self,
        member: &MemberRecord,
        device: &W::Device,
        renamed: &Superblock,
    ) -> Result<(), RejoinError> {
        // Where it fails or is not waited for it may be written all the same, and the drive then
        // has the new identity.
        self.membership.renamings.borrow_mut().insert(renamed.drive_uuid, member.uuid);
        self.is_still_held().await?;
        let written = write_superblock(device, renamed);
        let answer = within(&self.world, OPEN_ANSWER_MAX, written).await;
        Ok(answer.ok_or(RejoinError::NoAnswer(member.drive))??)
    }
}

fn names_present(root: &Root, member: &MemberRecord) -> bool {
    let is_it = |own: &MemberRecord| (own.drive, own.uuid) == (member.drive, member.uuid);
    root.members.iter().any(|own| is_it(own) && own.state.takes_part())
}

/// Whether `root` lets the pool be opened with those of its drives that work and the ones that are
/// `back`.
fn could_open<W: World>(
    pool: &Pool<W>,
    root: &Root,
    back: &BTreeSet<DriveUuid>,
) -> Result<(), OpenError> {
    let parity = pool.identity.level.parity();
    let is_there = |member: &MemberRecord| {
        let works = pool.array.working(member.drive).is_some();
        member.state.takes_part() && (works || back.contains(&member.uuid))
    };
    let there: BTreeSet<DriveId> =
        root.members.iter().filter(|member| is_there(member)).map(|member| member.drive).collect();
    let missing: Vec<DriveId> = root.counted().filter(|drive| !there.contains(drive)).collect();
    let members = root.identities(root.counted());
    if losses_by_root(root, |drive| !there.contains(&drive), parity) <= parity {
        return Ok(());
    }
    Err(OpenError::TooManyMissing { missing, members, parity })
}

#[cfg(test)]
mod tests;
