//! Neighbours: fragments side by side in one column, which are read at once.

use std::ops::Range;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, Cause, DriveId, IoError, World};
use ashlar_format::codec::crc32c;
use ashlar_format::location::{Location, Pointer};
use ashlar_raid::{Geometry, ReadError, Source};

use crate::pool::Pool;
use crate::space::segments::pin;

/// Sectors of one drive read, at most.
const READ_SECTORS_MAX: u32 = 256;

/// What has a fragment.
pub(crate) trait Stored {
    /// Where it is.
    fn pointer(&self) -> Pointer;
}

/// What neighbours hold.
pub(crate) enum Fragments {
    /// The sectors of all of them; [`range_within`] says where each is.
    Together(AlignedBuf),
    /// One after another, as far as they can be read.
    Each(Vec<Result<AlignedBuf, IoError>>),
}

impl<W: World> Pool<W> {
    /// What neighbours hold: read at once, or one by one where that fails, for each may be readable
    /// in a way of its own, where all together are not. `geometry` is that of their segment; where
    /// a column has gone elsewhere since, it is read there.
    pub async fn read_fragments(
        &self,
        geometry: &Geometry,
        group: &[impl Stored],
    ) -> Result<Fragments, IoError> {
        match self.read_neighbours(geometry, group).await {
            Ok(sectors) => Ok(Fragments::Together(sectors)),
            Err(error) if self.is_last_word(geometry, group) => {
                Err(self.unrecovered(group[0].pointer().location, &error))
            }
            Err(_) => {
                let mut stored = Vec::with_capacity(group.len());
                for one in group {
                    stored.push(self.read_fragment(one.pointer()).await);
                }
                Ok(Fragments::Each(stored))
            }
        }
    }

    /// Whether what cannot be read so cannot be read in another way either.
    fn is_last_word(&self, geometry: &Geometry, group: &[impl Stored]) -> bool {
        let segment = group[0].pointer().location.segment();
        let has_moved = || {
            pin(&self.space.segments, segment)
                .is_some_and(|(_, now)| !std::ptr::eq(&*now, geometry))
        };
        group.len() == 1 && !has_moved()
    }

    /// The sectors of neighbours, from the first one's first on. `geometry` is that of their
    /// segment.
    pub async fn read_neighbours(
        &self,
        geometry: &Geometry,
        group: &[impl Stored],
    ) -> Result<AlignedBuf, ReadError> {
        let (location, sectors) = (group[0].pointer().location, sectors_of(group));
        let right = |read: &[u8]| {
            group.iter().all(|stored| is_right(read, sectors.start, stored.pointer()))
        };
        let read =
            self.array.read_checked(geometry, location.column(), sectors.clone(), right).await;
        // What is still asked for in another way is counted then.
        if read.is_ok() || self.is_last_word(geometry, group) {
            self.note_read(group.len() as u64, &read.as_ref().map(|(_, source)| *source));
        }
        let (read, source) = read?;
        self.heal_after(geometry, location, source);
        if source == Source::Corrupt {
            self.log_corrupt_read(geometry.columns[location.column()].drive);
        }
        Ok(read)
    }

    /// What a fragment that cannot be had is refused with. It names the pool: who logs it may not.
    pub fn unrecovered(&self, location: Location, error: &ReadError) -> IoError {
        let pool = self.name();
        IoError::new(Cause::Unrecovered, format!("{location:?} of pool '{pool}': {error}"))
    }

    /// Says that a drive gives wrong bytes: the first time, and then ever more rarely, because a
    /// drive that does so does it often.
    fn log_corrupt_read(&self, drive: DriveId) {
        let corrupt_reads = self.array.member(drive).map_or(0, |member| member.corrupt_reads());
        if corrupt_reads.is_power_of_two() {
            let pool = &self.name();
            tracing::warn!(
                "{drive} of pool {pool} has returned corrupt data, {corrupt_reads} times so far; \
                 Ashlar reconstructed it"
            );
        }
    }
}

/// What is in the order of its locations, in groups of neighbours: between two of them lie no more
/// than `gap_sectors_max` sectors.
pub(crate) fn groups<S: Stored>(
    mut stored: &[S],
    gap_sectors_max: u32,
) -> impl Iterator<Item = &[S]> {
    std::iter::from_fn(move || {
        let (first, rest) = stored.split_at(neighbours(stored, gap_sectors_max));
        stored = rest;
        (!first.is_empty()).then_some(first)
    })
}

/// Where a fragment is within the bytes of a read that begins with the first sector of `group`.
pub(crate) fn range_within(group: &[impl Stored], location: Location) -> Range<usize> {
    stored_range(group[0].pointer().location.sectors().start, location)
}

/// The sectors of neighbours.
fn sectors_of(group: &[impl Stored]) -> Range<u32> {
    let end = group.iter().map(|stored| stored.pointer().location.sectors().end).max();
    let start = group[0].pointer().location.sectors().start;
    start..end.unwrap_or(start)
}

fn stored_range(first_sector: u32, location: Location) -> Range<usize> {
    let base = (location.sectors().start - first_sector) as usize * BLOCK_BYTES;
    let within = location.within_sectors();
    base + within.start..base + within.end
}

fn is_right(sectors: &[u8], first_sector: u32, pointer: Pointer) -> bool {
    crc32c(&sectors[stored_range(first_sector, pointer.location)]) == pointer.crc
}

/// How many of the first are read at once, with what little lies between them.
fn neighbours(stored: &[impl Stored], gap_sectors_max: u32) -> usize {
    let Some(first) = stored.first().map(|stored| stored.pointer().location) else { return 0 };
    let mut read = first.sectors();
    let is_near = |stored: &&_| {
        let location = Stored::pointer(*stored).location;
        let sectors = location.sectors();
        let is_near = (location.segment(), location.column()) == (first.segment(), first.column())
            && (read.start..=read.end + gap_sectors_max).contains(&sectors.start)
            && sectors.end - read.start <= READ_SECTORS_MAX;
        read.end = read.end.max(sectors.end);
        is_near
    };
    stored.iter().take_while(is_near).count()
}

#[cfg(test)]
mod tests;
