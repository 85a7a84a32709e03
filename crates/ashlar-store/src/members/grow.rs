//! Drives that have grown: the pool takes their new room.
//!
//! A drive's superblock says where its chunks lie, and the pool counts on no more room than that,
//! however large the drive is. So the superblock with the new size comes first, its copies in an
//! order that leaves one of them right wherever a crash cuts it: at the new end of the drive,
//! inside, which decides, and at last at the start. A drive that loses that last write is as large
//! as the copy inside says. From then on a chunk lies where the copy at the old end was. No root
//! names a chunk there before all three copies are on the drive. If the drive fails in between, its
//! next start says the old size or the new one, and both are right.

use ashlar_block::{AlignedBuf, ByteSize, Device, DriveId, IoError, World};
use ashlar_format::superblock::Superblock;
use ashlar_raid::DriveLayout;

use crate::members::create::layout;
use crate::pool::Pool;

/// Why the room of drives was not taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GrowError {
    /// The pool would have more segments than numbers for them.
    #[error(
        "the pool can have at most {} on all its drives: make another pool of the rest",
        ByteSize(*bytes_max)
    )]
    TooManySegments {
        /// What all drives together may have.
        bytes_max: u64,
    },
    /// The superblock of a drive cannot be read or written.
    #[error(
        "the superblock with the new size could not be written to {0}, so the pool uses it at its \
         old size: see what the log says of the drive, then try again"
    )]
    NotWritten(DriveId),
    /// The pool takes no writes.
    #[error("{0}")]
    Pool(#[from] IoError),
}

/// A drive of which more is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grown {
    /// Which.
    pub drive: DriveId,
    /// Its size as the pool uses it now.
    pub drive_bytes: u64,
}

impl<W: World> Pool<W> {
    /// Takes the room of drives that have become larger. Those that were done before another one
    /// failed stay so.
    ///
    /// # Errors
    /// [`GrowError`].
    pub async fn grow(&self) -> Result<Vec<Grown>, GrowError> {
        let _adding = self.membership.adding.lock().await;
        self.halt.check()?;
        self.is_still_held().await?;
        let mut grown = Vec::new();
        for drive in self.allocation_targets() {
            let Some(member) = self.array.working(drive) else { continue };
            member.device.look_at_size();
            let drive_bytes = member.device.size_bytes();
            let room = layout(drive_bytes, self.identity.chunk_bytes());
            if room.chunk_count > member.layout().chunk_count {
                self.check_room(drive, room.chunk_count - member.layout().chunk_count)?;
                self.grow_drive(drive, room, drive_bytes).await?;
                grown.push(Grown { drive, drive_bytes });
            }
        }
        self.refresh_limit();
        self.requests.notify();
        Ok(grown)
    }

    /// Whether the pool may have so many chunks more.
    fn check_room(&self, drive: DriveId, chunks: u32) -> Result<(), GrowError> {
        let more = |(id, count)| if id == drive { count + u64::from(chunks) } else { count };
        let grown: Vec<u64> = self.space.segments.borrow().chunks_of_drives().map(more).collect();
        let largest = self.largest(grown.len());
        if largest.holds(grown) {
            return Ok(());
        }
        Err(GrowError::TooManySegments { bytes_max: largest.bytes() })
    }

    async fn grow_drive(
        &self,
        drive: DriveId,
        layout: DriveLayout,
        drive_bytes: u64,
    ) -> Result<(), GrowError> {
        // No scrub looks at the copies meanwhile, and none writes what was right before.
        let _labels = self.membership.labels.lock().await;
        let written = self.write_larger(drive, layout, drive_bytes).await;
        written.ok_or(GrowError::NotWritten(drive))?;
        let member = self.array.working(drive).ok_or(GrowError::NotWritten(drive))?;
        member.grow(layout, drive_bytes);
        self.space.segments.borrow_mut().grow_drive(drive, layout.chunk_count);
        tracing::info!(pool = self.name(), "{drive} has {} from now on", ByteSize(drive_bytes));
        Ok(())
    }

    /// Writes the superblock of a drive that is larger. `None`: it is not what it should be.
    async fn write_larger(
        &self,
        drive: DriveId,
        layout: DriveLayout,
        drive_bytes: u64,
    ) -> Option<()> {
        let uuid = self.uuid_of(drive)?;
        let before = self.superblock_of_member(drive, uuid).await?;
        let generation = before.generation + 1;
        self.identity.naming.note(generation);
        let label = self.identity.naming.label();
        let larger = label.on(Superblock { generation, drive_bytes, layout, ..before });
        let sector = AlignedBuf::copy_of(&larger.encode()).freeze();
        let [first, second, inside] = Superblock::offsets(drive_bytes);
        for offset in [second, inside, first] {
            if !self.array.rewrite_raw(drive, offset, sector.clone()).await {
                return None;
            }
        }
        Some(())
    }

    /// Bytes of chunks that the drive would have if the pool took all of its room.
    pub fn unused_bytes(&self, drive: DriveId) -> u64 {
        let Some(member) = self.array.working(drive) else { return 0 };
        let room = layout(member.device.seen_bytes(), self.identity.chunk_bytes()).chunk_count;
        u64::from(room.saturating_sub(member.layout().chunk_count)) * self.identity.chunk_bytes()
    }
}

#[cfg(test)]
mod tests;
