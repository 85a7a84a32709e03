//! Adding a drive to an open pool.
//!
//! The order matters. First Ashlar writes a superblock to the drive, which counts for nothing as
//! long as no root names the drive; then a root names it. A crash between the two leaves a drive
//! that counts for nothing, and a pool that does not know it.

use std::collections::BTreeSet;

use ashlar_block::{ByteSize, Device, DeviceError, DriveId, DriveUuid, IoError, World, within};
use ashlar_format::ids::RootGeneration;
use ashlar_format::root::{MemberRecord, MemberState, Root};
use ashlar_format::superblock::{DriveClass, Superblock};
use ashlar_raid::{DriveLayout, Member};

use crate::members::create::{
    DRIVES_MAX, drive_bytes_min, layout, random_uuid, wipe, write_superblock,
};
use crate::members::{OPEN_ANSWER_MAX, has_never_had_a_root};
use crate::pool::Pool;
use crate::space::segments::Stripe;

/// Why a drive was not taken into the pool.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AddError {
    /// It is too small.
    #[error("it has {}, and a drive of this pool needs at least {}", ByteSize(*bytes), ByteSize(*needed))]
    TooSmall {
        /// Its size.
        bytes: u64,
        /// The least.
        needed: u64,
    },
    /// The pool has as many drives as it can.
    #[error("the pool has {DRIVES_MAX} drives, as many as it can have")]
    TooManyDrives,
    /// The pool would have more segments than numbers for them.
    #[error(
        "the pool can have at most {} on all its drives: make another pool of this drive",
        ByteSize(*bytes_max)
    )]
    TooManySegments {
        /// What all drives together may have.
        bytes_max: u64,
    },
    /// It cannot be written. The pool is as it was.
    #[error("it cannot be written: {0}")]
    Drive(#[from] DeviceError),
    /// It hangs. The pool is as it was.
    #[error("it has not answered for {} s: take another drive, or try again once it does", OPEN_ANSWER_MAX.as_secs())]
    NoAnswer,
    /// Another is on its way to become a member.
    #[error(
        "the pool is still adding {0}, because some of its drives do not answer: try again once \
         they answer, or once the pool has given them up"
    )]
    Joining(DriveId),
    /// The pool cannot be written. It is as it was.
    #[error("{0}")]
    Pool(#[from] IoError),
    /// The pool cannot be written, and a root that names the drive may have come to some of its
    /// drives.
    #[error(
        "{error}. A root may already name the drive as {drive}, so Ashlar leaves it as it is: give \
         it with the others when you open the pool again"
    )]
    Unsettled {
        /// Its number, if it is one.
        drive: DriveId,
        /// Its identity.
        uuid: DriveUuid,
        /// Why the pool cannot be written.
        error: IoError,
    },
}

/// Makes the drive one of the pool's, with nothing of what it held.
async fn label<D: Device>(device: &D, superblock: &Superblock) -> Result<(), DeviceError> {
    wipe(device, superblock.drive_bytes).await?;
    write_superblock(device, superblock).await
}

/// A member that the next root is the first to name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    pub record: MemberRecord,
    /// The identity that the drive had before it was lost. What it missed under its old numbers has
    /// the new one from then on.
    pub was: Option<DriveUuid>,
    /// The identity of the lost member for which there is a drive more with this one.
    pub makes_good: Option<DriveUuid>,
}

impl<W: World> Pool<W> {
    /// Makes the drive a member, and everything that it held is lost. What is written from now on
    /// is spread over it as well, and rebuilds go to it. `instead_of`: the member that it is for.
    /// Without that it makes up for one that is lost, if one is, and no other drive does yet.
    pub async fn add_drive(
        &self,
        device: W::Device,
        instead_of: Option<DriveId>,
    ) -> Result<DriveUuid, AddError> {
        let _adding = self.membership.adding.lock().await;
        self.halt.check()?;
        self.joins_none()?;
        let size_bytes = device.size_bytes();
        let drive = self.next_drive()?;
        let layout = self.layout_of(size_bytes)?;
        let superblock = self.superblock_of(drive, &device, layout);
        self.is_still_held().await?;
        let labelled = label(&device, &superblock);
        within(&self.world, OPEN_ANSWER_MAX, labelled).await.ok_or(AddError::NoAnswer)??;
        self.halt.check()?;
        self.array.add(drive, Member::new(device, layout).using(size_bytes));
        let mut open_losses = self.open_losses().into_iter();
        let makes_good = open_losses.find(|lost| instead_of.is_none_or(|old| old == lost.drive));
        self.join(&superblock, None, makes_good.map(|lost| lost.uuid));
        let uuid = superblock.drive_uuid;
        let named = self.checkpoint_unless_hung().await;
        named.map(|()| uuid).map_err(|error| AddError::Unsettled { drive, uuid, error })
    }

    /// A root can name one new member at a time: until it does, the one before is to be waited for.
    pub fn joins_none(&self) -> Result<(), AddError> {
        self.membership
            .joining
            .get()
            .map_or(Ok(()), |joining| Err(AddError::Joining(joining.record.drive)))
    }

    /// Whether the drive carries the pool's label and nothing else of it: it was being added when
    /// the daemon was killed, and no root came to name it. Of any other that is no member, another
    /// line of the pool may know more.
    pub async fn was_about_to_be_added(&self, superblock: &Superblock, device: &W::Device) -> bool {
        let uuid = superblock.drive_uuid;
        let names = |root: &Root| root.members.iter().any(|member| member.uuid == uuid);
        let is_joining =
            self.membership.joining.get().is_some_and(|joining| joining.record.uuid == uuid);
        let is_named = is_joining
            || names(&self.checkpoint.roots.newest())
            || names(&self.checkpoint.roots.begun());
        superblock.pool == self.identity.pool && !is_named && has_never_had_a_root(device).await
    }

    /// Members that are lost and for which no drive was added. First those that are released: the
    /// others may come back yet.
    pub fn open_losses(&self) -> Vec<MemberRecord> {
        let (root, leaving) = (self.checkpoint.roots.newest(), self.membership.leaving.borrow());
        let is_open = |lost: &&MemberRecord| {
            let works =
                |it: &MemberRecord| it.uuid == lost.uuid && self.array.working(it.drive).is_some();
            !lost.made_good && !leaving.contains(&lost.drive) && !root.members.iter().any(works)
        };
        let mut open: Vec<MemberRecord> = root.members.iter().filter(is_open).copied().collect();
        open.sort_by_key(|lost| (lost.state != MemberState::Released, lost.since));
        open
    }

    /// A number that no member has: a new one, as long as there are any. Who still reads of a drive
    /// that has gone is not to find another by its number.
    pub fn next_drive(&self) -> Result<DriveId, AddError> {
        let root = self.checkpoint.roots.newest();
        let taken: BTreeSet<u16> = root.members.iter().map(|member| member.drive.0).collect();
        let next = taken.last().map_or(0, |last| last + 1).max(self.array.next_number());
        let is_free = |number: &u16| !taken.contains(number);
        let mut numbers = (next..DRIVES_MAX as u16).chain(0..next.min(DRIVES_MAX as u16));
        numbers.find(is_free).map(DriveId).ok_or(AddError::TooManyDrives)
    }

    /// The room, redundancy included, that a drive of this size would bring if it were added now.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn may_add_drive(&self, size_bytes: u64) -> Result<u64, AddError> {
        self.halt.check()?;
        self.joins_none()?;
        self.next_drive()?;
        let layout = self.layout_of(size_bytes)?;
        Ok(u64::from(layout.chunk_count) * u64::from(layout.chunk_bytes))
    }

    /// Whether a drive of this size could be added now.
    ///
    /// # Errors
    /// Why not.
    pub fn check_size(&self, size_bytes: u64) -> Result<(), AddError> {
        self.layout_of(size_bytes).map(drop)
    }

    fn layout_of(&self, size_bytes: u64) -> Result<DriveLayout, AddError> {
        let chunk_bytes = self.identity.chunk_bytes();
        let needed = drive_bytes_min(chunk_bytes);
        if size_bytes < needed {
            return Err(AddError::TooSmall { bytes: size_bytes, needed });
        }
        let layout = layout(size_bytes, chunk_bytes);
        let mut chunks: Vec<u64> =
            self.space.segments.borrow().chunks_of_drives().map(|(_, count)| count).collect();
        chunks.push(u64::from(layout.chunk_count));
        let largest = self.largest(chunks.len());
        if largest.holds(chunks) {
            return Ok(layout);
        }
        Err(AddError::TooManySegments { bytes_max: largest.bytes() })
    }

    fn superblock_of(&self, drive: DriveId, device: &W::Device, layout: DriveLayout) -> Superblock {
        let (identity, level) = (&self.identity, self.identity.level);
        let label = identity.naming.label();
        Superblock {
            generation: label.generation,
            pool: identity.pool,
            drive_uuid: DriveUuid(random_uuid(&self.world)),
            drive,
            class: DriveClass::of_rotational(device.is_rotational()),
            parity: level.parity() as u8,
            data: level.exact_data() as u8,
            member_count: self.member_count(),
            drive_bytes: device.size_bytes(),
            layout,
            secret: identity.secret.clone(),
            made_at: self.world.unix_seconds(),
            segment_numbers: identity.segment_numbers,
            features: identity.features.clone(),
            pool_name: label.name,
        }
    }

    /// Members with one more, for a superblock to say.
    pub fn member_count(&self) -> u16 {
        let root = self.checkpoint.roots.newest();
        let members = root.identities(root.counted()) + 1;
        members.max(self.identity.level.drives_min()) as u16
    }

    /// The next root names the drive, and may have segments on it. `was`: the identity that it had,
    /// if it comes back. `makes_good`: that of the lost member for which there is a drive more with
    /// this one.
    pub fn join(
        &self,
        superblock: &Superblock,
        was: Option<DriveUuid>,
        makes_good: Option<DriveUuid>,
    ) {
        let (drive, uuid, root) =
            (superblock.drive, superblock.drive_uuid, self.checkpoint.roots.newest());
        let since = RootGeneration(root.generation.0 + 1);
        let (state, made_good, given_up) = (MemberState::Present, false, false);
        let record =
            MemberRecord { drive, uuid, state, made_good, given_up, since, parity_used: 0 };
        self.membership.joining.set(Some(Joining { record, was, makes_good }));
        let members = root.identities(root.counted()) + usize::from(was.is_none());
        let stripe = Stripe::of(self.identity.level, members);
        self.space.segments.borrow_mut().add_drive(drive, superblock.layout.chunk_count, stripe);
    }
}
