//! What drives are told of chunks that nobody needs: see [`super::chunks`].

use ashlar_block::DriveId;
use ashlar_format::location::SegmentId;
use ashlar_raid::ChunkAddr;
use std::ops::Range;

use super::{FreeChunks, Segments};

/// Free chunks of a drive up to which it is told of one at a time: who has to wait for that one,
/// because all others are taken, does not wait long.
const FEW_CHUNKS: u32 = 16;

/// The discard of some chunks, which are away until it has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Discard {
    /// Which drive's.
    pub drive: DriveId,
    /// Which chunks.
    pub chunks: Range<u32>,
    /// Tells it from others.
    pub number: u64,
}

impl Segments {
    /// A root is durable that names no chunk which is free now. Drives are to be told of those that
    /// were given back, if `remembers`.
    pub fn chunks_settled(&mut self, remembers: bool) {
        self.free_chunks.values_mut().for_each(|free| free.settle(remembers));
    }

    /// These drives are to be told of all their free chunks. Returns how many those are.
    pub fn trim_all(&mut self, drives: &[DriveId]) -> u64 {
        let of_drive = |drive: &DriveId| {
            let free = self.free_chunks.get_mut(drive)?;
            free.trim_all();
            Some(u64::from(free.left_to_trim()))
        };
        drives.iter().filter_map(of_drive).sum()
    }

    /// Chunks that are left of such a trim on a drive, those that are being told of left out.
    pub fn left_to_trim(&self, drive: DriveId) -> u64 {
        self.free_chunks.get(&drive).map_or(0, |free| u64::from(free.left_to_trim()))
    }

    /// Whether there is anything that the drive is to be told of.
    pub fn has_untold(&self, drive: DriveId) -> bool {
        self.free_chunks.get(&drive).is_some_and(|free| free.untold() > 0)
    }

    /// Drives are told only of what a trim asks for.
    pub fn forget_untold(&mut self) {
        self.free_chunks.values_mut().for_each(FreeChunks::forget_untold);
    }

    /// Drives are told of nothing for a trim any more.
    pub fn forget_trim(&mut self) {
        self.free_chunks.values_mut().for_each(FreeChunks::forget_trim);
    }

    /// A drive is told of nothing any more.
    pub fn forget_all_untold_of(&mut self, drive: DriveId) {
        if let Some(free) = self.free_chunks.get_mut(&drive) {
            free.forget_all();
        }
    }

    /// Begins to tell a drive of some neighbours, so many at most, and few where it has few free
    /// ones. `None` if there are none, or others are away.
    pub fn tell(&mut self, drive: DriveId, chunks_max: u32) -> Option<Discard> {
        let free = self.free_chunks.get_mut(&drive)?;
        let part = if free.count() <= FEW_CHUNKS { 1 } else { free.count() / FEW_CHUNKS };
        let number = self.discards + 1;
        let chunks = free.tell(chunks_max.min(part).max(1), number)?;
        self.discards = number;
        Some(Discard { drive, chunks, number })
    }

    /// A discard has ended. The drive may have gone meanwhile, and another have its number.
    pub fn is_told(&mut self, discard: &Discard) {
        if let Some(free) = self.free_chunks.get_mut(&discard.drive) {
            free.is_told(discard.number);
        }
    }

    /// Whether any of a drive's chunks are away.
    pub fn has_away(&self, drive: DriveId) -> bool {
        self.free_chunks.get(&drive).is_some_and(FreeChunks::has_away)
    }

    /// Of these chunks, drives on which one is away.
    pub fn away_of(&self, chunks: impl IntoIterator<Item = ChunkAddr>) -> Vec<DriveId> {
        let is_away = |at: &ChunkAddr| {
            self.free_chunks.get(&at.drive).is_some_and(|free| free.is_away(at.chunk))
        };
        chunks.into_iter().filter(is_away).map(|at| at.drive).collect()
    }

    /// The chunks of segments.
    pub fn chunks_of<'a>(
        &'a self,
        segments: impl Iterator<Item = &'a SegmentId> + 'a,
    ) -> impl Iterator<Item = ChunkAddr> + 'a {
        segments
            .filter_map(|id| self.get(*id))
            .flat_map(|segment| segment.geometry.columns.iter().copied())
    }
}

#[cfg(test)]
mod tests;
