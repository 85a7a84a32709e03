//! The erase of a volume: nothing of what it held is read any more through Ashlar, from the moment
//! that it begins, and its space comes back.
//!
//! 1. Hosts are refused, and what is under way ends.
//! 2. The attributes say durably that an erase goes on: a start after a crash goes on with it, and
//!    lets nobody read before its end.
//! 3. All blocks become zeros, by records that are on stable media, and the store forgets what it
//!    has learnt from them.
//! 4. The attributes say durably that it is done, and hosts are let in. That is a checkpoint, which
//!    frees the segments in which nothing lives any more; `autotrim` tells the drives of them.
//!
//! What lay on the drives stays there until its segments are written again, or the drives have
//! discarded them. Ashlar has no way to it: no map names it, and recovery replays the zeros behind
//! it.

use ashlar_block::{Cause, IoError, Lba, VolumeId, World};

use super::{BLOCK, StoreVolume};
use crate::attributes::{Attributes, EraseKind};
use crate::door::SanitizeState;

impl EraseKind {
    /// What hosts are told meanwhile.
    fn refusal(self) -> Cause {
        match self {
            EraseKind::Wipe => Cause::Formatting,
            EraseKind::Sanitize => Cause::Sanitizing,
        }
    }
}

/// An erase. Until it is dropped nobody else changes the volume.
pub(crate) struct Erasing<W: World> {
    volume: StoreVolume<W>,
    kind: EraseKind,
}

impl<W: World> Drop for Erasing<W> {
    fn drop(&mut self) {
        self.volume.core.formatting.set(false);
    }
}

impl<W: World> Erasing<W> {
    /// Refuses hosts, and notes durably that the erase goes on.
    ///
    /// # Errors
    /// The volume is as it was, but where the pool has halted a start may go on with the erase.
    pub async fn begin(&self) -> Result<(), IoError> {
        let volume = &self.volume;
        if let Some(cause @ (Cause::NotReady | Cause::NoSuchVolume)) = volume.core.gate.refusal() {
            return Err(cause.into());
        }
        volume.close(self.kind.refusal()).await;
        let erase = Some(self.kind);
        let begun = volume.change_attributes(|it| Attributes { erase, ..it }).await;
        if begun.is_err() && volume.check_not_erased().is_err() {
            // An earlier one has failed.
            self.fail();
        } else if begun.is_err() {
            volume.core.gate.reopen(self.kind.refusal());
        }
        begun
    }

    /// The volume's number in the pool.
    pub fn volume_id(&self) -> VolumeId {
        self.volume.id()
    }

    /// Erases all that the volume holds.
    ///
    /// # Errors
    /// Hosts stay refused: what is left is not to be read. A start goes on with it, and so does
    /// whoever begins it again.
    pub async fn run(&self) -> Result<(), IoError> {
        let core = &self.volume.core;
        let zeroed = core.store.zero(core.id, Lba(0), core.size_bytes.get() / BLOCK).await;
        let erased = zeroed.and_then(|()| core.store.unlearn(core.id));
        if erased.is_err() {
            self.fail();
        }
        erased
    }

    /// Lets hosts in again, with sectors of `lba_bytes` where they are to have others.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub async fn end(&self, lba_bytes: Option<u32>) -> Result<(), IoError> {
        let is_sanitize = self.kind == EraseKind::Sanitize;
        let ended = |it: Attributes| Attributes {
            erase: None,
            is_sanitized: is_sanitize || it.is_sanitized,
            lba_bytes: lba_bytes.unwrap_or(it.lba_bytes),
            ..it
        };
        let noted = self.volume.change_attributes(ended).await;
        match noted {
            Ok(()) => self.volume.core.gate.reopen(self.kind.refusal()),
            Err(_) => self.fail(),
        }
        noted
    }

    /// It was not to begin after all: hosts are let in, and nothing has been erased.
    pub async fn cancel(&self) -> Result<(), IoError> {
        self.volume.forgo_erase(self.kind.refusal()).await
    }

    fn fail(&self) {
        let core = &self.volume.core;
        core.erase_failed.set(true);
        // A pool that is being closed says more by its own cause.
        if self.kind == EraseKind::Sanitize && core.gate.refusal() == Some(Cause::Sanitizing) {
            core.gate.close(Some(Cause::SanitizeFailed));
        }
    }
}

impl<W: World> StoreVolume<W> {
    /// Begins to have it erased: [`Erasing::begin`] comes next. One that has failed may be begun
    /// again.
    ///
    /// # Errors
    /// It may not be written to, or is being formatted or erased already.
    pub(crate) fn prepare_erase(&self, kind: EraseKind) -> Result<Erasing<W>, IoError> {
        self.check_writable()?;
        self.check_changeable()?;
        Ok(self.take_to_erase(kind))
    }

    /// Goes on with an erase that the attributes tell of, after a start.
    pub(crate) fn erase_left(&self) -> Option<Erasing<W>> {
        let kind = self.with_attributes(|it| it.erase)?;
        Some(self.take_to_erase(kind))
    }

    fn take_to_erase(&self, kind: EraseKind) -> Erasing<W> {
        self.core.formatting.set(true);
        self.core.erase_failed.set(false);
        Erasing { volume: self.clone(), kind }
    }

    /// Lets hosts in again although a sanitize has failed.
    pub(crate) async fn forgo_failed_sanitize(&self) -> Result<(), IoError> {
        self.check_changeable()?;
        self.forgo_erase(Cause::SanitizeFailed).await
    }

    async fn forgo_erase(&self, refused_for: Cause) -> Result<(), IoError> {
        self.change_attributes(|it| Attributes { erase: None, ..it }).await?;
        self.core.erase_failed.set(false);
        self.core.gate.reopen(refused_for);
        Ok(())
    }

    /// What hosts are told of its sanitize.
    pub(crate) fn sanitize_state(&self) -> SanitizeState {
        let (erase, is_sanitized) = self.with_attributes(|it| (it.erase, it.is_sanitized));
        match (erase, is_sanitized) {
            (Some(EraseKind::Sanitize), _) if self.core.erase_failed.get() => SanitizeState::Failed,
            (Some(EraseKind::Sanitize), _) => SanitizeState::UnderWay,
            (_, true) => SanitizeState::Done,
            (_, false) => SanitizeState::Never,
        }
    }

    /// Nobody reads what is to be erased, also before the erase goes on.
    pub(super) fn refuse_if_being_erased(&self) {
        if let Some(kind) = self.with_attributes(|it| it.erase) {
            self.core.gate.close(Some(kind.refusal()));
        }
    }

    /// Refuses what would end before an erase that has failed is done.
    pub(super) fn check_not_erased(&self) -> Result<(), IoError> {
        let erase = self.with_attributes(|it| it.erase);
        erase.map_or(Ok(()), |kind| Err(kind.refusal().into()))
    }

    /// Why it is not to be changed now.
    pub(super) fn why_changing(&self) -> Cause {
        self.with_attributes(|it| it.erase).map_or(Cause::Formatting, EraseKind::refusal)
    }
}
