//! The name of a pool, and renaming it while it is open.
//!
//! The superblock of each drive has the name. A rename writes all of them, one after the other, and
//! a drive that is away keeps the old name: so the superblock with the highest generation decides.
//! The upper half of a generation counts renames, so that no other change of a superblock outdoes
//! them. A node that opens a pool writes the newer name to drives that have an older one.
//!
//! Each attempt has a generation above all that are on a drive or have been attempted, so that no
//! two names have the same one. If no drive has taken the new name, the pool writes the old name
//! anew: a drive may have what it refused to take.

use std::cell::{Cell, RefCell};

use ashlar_block::{
    AlignedBuf, DriveId, DriveUuid, InvalidName, IoError, World, check_name, within,
};
use ashlar_format::superblock::Superblock;
use futures_util::future::join_all;

use crate::jobs::scrub::superblocks::newest_of;
use crate::members::OPEN_ANSWER_MAX;
use crate::pool::Pool;

/// What a rename adds to generations.
const RENAMED: u64 = 1 << 32;

/// Why a pool keeps its name.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RenameError {
    /// The name is not one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The pool takes no writes.
    #[error("{0}")]
    Pool(#[from] IoError),
    /// None of its drives takes it.
    #[error("none of its drives could be written with the new name: the log says why")]
    NotWritten,
    /// None of its drives takes it, nor the old name after it.
    #[error(
        "no drive could be written, with the new name or with the old one: the pool may have \
         either name when it is opened next. Rename it again once its drives can be written"
    )]
    Unsure,
}

/// The name that superblocks say, and how new it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Label {
    pub generation: u64,
    pub name: String,
}

impl Label {
    pub fn of(superblock: &Superblock) -> Self {
        Label { generation: superblock.generation, name: superblock.pool_name.clone() }
    }

    /// A name that counts more than all up to this generation.
    fn above(generation: u64, name: &str) -> Self {
        let generation = (generation / RENAMED + 1).saturating_mul(RENAMED);
        Label { generation, name: name.to_owned() }
    }

    /// The superblock with this name.
    pub fn on(&self, superblock: Superblock) -> Superblock {
        let generation = superblock.generation.max(self.generation);
        Superblock { generation, pool_name: self.name.clone(), ..superblock }
    }
}

/// The superblock that says the name of a pool, of those of its drives.
pub fn newest_label<'a>(
    superblocks: impl IntoIterator<Item = &'a Superblock>,
) -> Option<&'a Superblock> {
    superblocks.into_iter().max_by_key(|superblock| (superblock.generation, &superblock.pool_name))
}

/// A pool's name.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    label: RefCell<Label>,
    /// The highest generation that is known to be on a drive, or may be.
    highest: Cell<u64>,
    /// Superblocks are being written.
    is_changing: Cell<bool>,
}

impl Naming {
    pub fn new(label: Label) -> Self {
        let highest = Cell::new(label.generation);
        Naming { label: RefCell::new(label), highest, is_changing: Cell::new(false) }
    }

    pub fn label(&self) -> Label {
        self.label.borrow().clone()
    }

    /// A drive has, or may have, a superblock of this generation.
    pub fn note(&self, generation: u64) {
        self.highest.update(|highest| highest.max(generation));
    }

    /// The next attempt to give the pool a name.
    fn next(&self, name: &str) -> Label {
        let label = Label::above(self.highest.get(), name);
        self.note(label.generation);
        label
    }

    /// What a look at superblocks is compared with: copies may differ if it has changed meanwhile,
    /// or `None` is the answer.
    pub fn settled(&self) -> Option<u64> {
        (!self.is_changing.get()).then(|| self.label.borrow().generation)
    }
}

/// Which superblocks of a drive have been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Copies {
    None,
    /// The drive says what is on it: it is the newer one.
    Second,
    Both,
}

impl<W: World> Pool<W> {
    /// Gives the pool another name. It has that once one copy on one drive says so; drives that do
    /// not take it now get it when the pool is opened next.
    pub async fn rename(&self, name: &str) -> Result<(), RenameError> {
        check_name(name)?;
        let _adding = self.membership.adding.lock().await;
        self.halt.check()?;
        self.is_still_held().await?;
        let before = self.identity.naming.label();
        if before.name == name {
            return Ok(());
        }
        let drives = self.array.working_drives();
        self.look_at_labels(&drives).await;
        if !self.take_name(name, &drives).await {
            let has_old_name = self.take_name(&before.name, &drives).await;
            return Err(if has_old_name { RenameError::NotWritten } else { RenameError::Unsure });
        }
        tracing::info!(pool = before.name, name, "the pool has another name");
        Ok(())
    }

    /// Whether a drive says the name now: then it is the pool's.
    async fn take_name(&self, name: &str, drives: &[DriveId]) -> bool {
        let label = self.identity.naming.next(name);
        let is_said = self.write_labels(&label, drives).await;
        if is_said {
            self.identity.naming.label.replace(label);
        }
        is_said
    }

    /// Notes the generations that are on the drives: one that came back may have a higher one than
    /// the others.
    async fn look_at_labels(&self, drives: &[DriveId]) {
        let one = |drive: DriveId| async move {
            let uuid = self.uuid_of(drive)?;
            within(&self.world, OPEN_ANSWER_MAX, self.superblock_of_member(drive, uuid)).await?
        };
        let superblocks = join_all(drives.iter().copied().map(one)).await.into_iter().flatten();
        superblocks.for_each(|superblock| self.identity.naming.note(superblock.generation));
    }

    /// Gives the pool's name to those of the drives that say an older one: they were away, or
    /// whoever renamed the pool was stopped.
    pub async fn settle_name(&self, superblocks: &[Superblock]) {
        let _adding = self.membership.adding.lock().await;
        let label = self.identity.naming.label();
        // Of the pool's own drives, those that were not believed included.
        let own = superblocks.iter().filter(|superblock| superblock.secret == self.identity.secret);
        own.for_each(|superblock| self.identity.naming.note(superblock.generation));
        let is_behind = |superblock: &&Superblock| superblock.pool_name != label.name;
        let behind: Vec<DriveId> =
            superblocks.iter().filter(is_behind).map(|behind| behind.drive).collect();
        if !behind.is_empty() && self.halt.check().is_ok() && self.is_still_held().await.is_ok() {
            self.write_labels(&label, &behind).await;
        }
    }

    /// Whether one of the drives says it then.
    async fn write_labels(&self, label: &Label, drives: &[DriveId]) -> bool {
        self.identity.naming.is_changing.set(true);
        let one = |drive| async move {
            let written =
                within(&self.world, OPEN_ANSWER_MAX, self.write_label(label, drive)).await;
            (drive, written.unwrap_or(Copies::None))
        };
        let written = join_all(drives.iter().copied().map(one)).await;
        self.identity.naming.is_changing.set(false);
        for (drive, _) in written.iter().filter(|(_, copies)| *copies != Copies::Both) {
            let (pool, name) = (self.name(), &label.name);
            tracing::warn!(
                pool,
                name,
                "{drive} does not take the pool's name now, and gets it at the next opening"
            );
        }
        written.iter().any(|(_, copies)| *copies != Copies::None)
    }

    /// The second copy first: what was right in the other one is there until it is written.
    async fn write_label(&self, label: &Label, drive: DriveId) -> Copies {
        let Some(uuid) = self.uuid_of(drive) else { return Copies::None };
        let Some(superblock) = self.superblock_of_member(drive, uuid).await else {
            return Copies::None;
        };
        let [first, second, inside] = Superblock::offsets(superblock.drive_bytes);
        let sector = AlignedBuf::copy_of(&label.on(superblock).encode()).freeze();
        if !self.array.rewrite_raw(drive, second, sector.clone()).await {
            return Copies::None;
        }
        // Whether the third one takes it or not: it is never the newest.
        self.array.rewrite_raw(drive, inside, sector.clone()).await;
        let is_first_written = self.array.rewrite_raw(drive, first, sector).await;
        if is_first_written { Copies::Both } else { Copies::Second }
    }

    /// What the drive says that it is, by the newest of its copies.
    pub async fn superblock_of_member(
        &self,
        drive: DriveId,
        uuid: DriveUuid,
    ) -> Option<Superblock> {
        newest_of(&self.copies_of(drive, uuid).await?).cloned()
    }

    /// The identity of a member.
    pub fn uuid_of(&self, drive: DriveId) -> Option<DriveUuid> {
        Some(self.checkpoint.roots.newest().members.iter().find(|it| it.drive == drive)?.uuid)
    }

    /// The pool's name.
    pub fn name(&self) -> String {
        self.identity.naming.label.borrow().name.clone()
    }
}

#[cfg(test)]
mod tests;
