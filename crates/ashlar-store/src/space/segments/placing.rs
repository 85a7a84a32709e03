//! Where segments have room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{DriveId, XorShift};
use ashlar_format::location::SegmentId;
use ashlar_raid::{ChunkAddr, Geometry};

use super::{FreeChunks, Segments, Shape};

/// How full a drive is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Chunks that are taken.
    pub used: u32,
    /// Chunks that it has.
    pub total: u32,
}

/// Drives that segments may lie on, and how full they are.
pub type Loads = BTreeMap<DriveId, Load>;

/// Drives that have a chunk each for a segment.
pub(super) struct Room {
    drives: Vec<DriveId>,
    parity: usize,
}

impl Segments {
    /// Parity columns of segments on so many drives: fewer than the level's only where there are
    /// not enough drives.
    pub fn parity_on(&self, drives: usize) -> usize {
        self.stripe.parity.min(drives.saturating_sub(1))
    }

    /// Where one more segment has room: on the drives with the most; of those with as much, on
    /// others each time, so that what a drive holds is mirrored on all others, and what is freed is
    /// not always on the same ones. Narrower than the pool's stripe if fewer drives have room, but
    /// never without its parity; only where fewer drives are left than that takes, which is when
    /// hosts may not write any more, with as much as they allow.
    pub(super) fn room(&self, shape: Shape, drives: &[DriveId]) -> Option<Room> {
        let parity = self.parity_on(drives.len());
        let mut roomy: Vec<(u32, DriveId)> = drives
            .iter()
            .filter_map(|drive| self.free_chunks.get(drive).map(|free| (free.count(), *drive)))
            .filter(|(free, _)| *free > 0)
            .collect();
        let ordinal = self.numbers.ordinal();
        let turn = |drive: DriveId| XorShift::new(ordinal << 16 | u64::from(drive.0)).next_u64();
        roomy.sort_by_cached_key(|(free, drive)| (Reverse(*free), turn(*drive)));
        let width = self.stripe.columns(shape).min(roomy.len());
        if width < parity + 1 {
            return None;
        }
        let mut chosen: Vec<DriveId> = roomy[..width].iter().map(|(_, drive)| *drive).collect();
        chosen.sort_unstable();
        Some(Room { drives: chosen, parity })
    }

    /// Columns that striped segments have that are written now: as many as the drives that have
    /// room, reserved or free.
    pub fn width_now(&self, drives: &[DriveId]) -> usize {
        let reserved = self.usable[Shape::Striped as usize].iter();
        let reserved: BTreeSet<DriveId> =
            reserved.flat_map(|id| &self.entries[*id].geometry.columns).map(|column| column.drive).collect();
        let is_free = |drive: &DriveId| self.free_chunks.get(drive).is_some_and(|chunks| chunks.count() > 0);
        let roomy = drives.iter().filter(|drive| reserved.contains(drive) || is_free(drive)).count();
        roomy.min(self.stripe.columns(Shape::Striped))
    }

    /// How full these drives are. Chunks that columns have left count as free.
    pub fn loads(&self, drives: &[DriveId]) -> Loads {
        let retired = |drive: DriveId| self.retired.iter().filter(move |it| it.chunk.drive == drive).count();
        let load = |drive: &DriveId| {
            let free = self.free_chunks.get(drive)?.count() + retired(*drive) as u32;
            let total = *self.chunks_total.get(drive)?;
            Some((*drive, Load { used: total - free, total }))
        };
        drives.iter().filter_map(load).collect()
    }

    /// Takes the chunks of a segment.
    pub(super) fn place(&mut self, room: Room) -> Geometry {
        let Room { mut drives, parity } = room;
        let width = drives.len();
        drives.rotate_left(self.numbers.ordinal() as usize % width);
        let columns = drives
            .into_iter()
            .map(|drive| {
                let chunk = self
                    .free_chunks
                    .get_mut(&drive)
                    .and_then(FreeChunks::take_lowest)
                    .expect("chosen for its room");
                ChunkAddr { drive, chunk }
            })
            .collect();
        Geometry::new(columns, parity)
    }

    /// Striped segments that could be placed on `drives` now, as wide as the pool's stripe or as
    /// there are drives.
    pub fn placeable(&self, drives: &[DriveId]) -> u64 {
        self.placeable_with(drives, &[])
    }

    /// Striped segments that would not be in use if only `drives` were there: reserved ones, and
    /// those that there would be room for, what is reserved beside other drives given back.
    pub fn free_on(&self, drives: &[DriveId]) -> u64 {
        let reserved = self.usable[Shape::Striped as usize].iter().map(|id| &self.entries[*id].geometry);
        let (within, beyond): (Vec<_>, Vec<_>) = reserved.partition(|geometry| geometry.lies_on(drives));
        let columns = beyond.into_iter().flat_map(|geometry| &geometry.columns);
        let given_back: Vec<DriveId> = columns.map(|column| column.drive).collect();
        self.placeable_with(drives, &given_back) + within.len() as u64
    }

    /// The same, with a chunk more for each time that a drive is among `given_back`. These give
    /// back their numbers, too, but not before a root says so.
    fn placeable_with(&self, drives: &[DriveId], given_back: &[DriveId]) -> u64 {
        if self.numbers.are_gone() {
            return 0;
        }
        let free = drives.iter().filter_map(|drive| {
            let back = given_back.iter().filter(|other| *other == drive).count();
            Some(u64::from(self.free_chunks.get(drive)?.count()) + back as u64)
        });
        placeable(free.collect(), self.stripe.columns(Shape::Striped).min(drives.len()))
    }

    /// Whether a segment, however narrow, will have room on `drives` once these are free.
    pub fn has_room_after(&self, freed: &BTreeSet<SegmentId>, drives: &[DriveId]) -> bool {
        let freed: BTreeSet<DriveId> = freed
            .iter()
            .flat_map(|id| &self.entries[*id].geometry.columns)
            .map(|column| column.drive)
            .collect();
        let is_roomy = |drive: &&DriveId| {
            freed.contains(drive) || self.free_chunks.get(drive).is_some_and(|chunks| chunks.count() > 0)
        };
        !self.numbers.are_gone() && drives.iter().filter(is_roomy).count() > self.parity_on(drives.len())
    }

    /// Striped segments that `drives` have room for when they are empty, and the data columns of
    /// each.
    pub fn placeable_when_empty(&self, drives: &[DriveId]) -> (u64, usize) {
        let total =
            drives.iter().filter_map(|drive| self.chunks_total.get(drive)).map(|count| u64::from(*count));
        let width = self.stripe.columns(Shape::Striped).min(drives.len());
        (placeable(total.collect(), width), width.saturating_sub(self.stripe.parity))
    }

    /// Chunks of a striped segment on so many drives for each of its data columns.
    pub fn chunks_per_column(&self, drives: usize) -> f64 {
        let columns = self.stripe.columns(Shape::Striped).min(drives);
        columns as f64 / columns.saturating_sub(self.parity_on(drives)).max(1) as f64
    }
}

/// Segments of `width` distinct drives that drives with this many free chunks have room for.
pub(super) fn placeable(free: Vec<u64>, width: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let fits = |count: u64| free.iter().map(|free| (*free).min(count)).sum::<u64>() >= count * width as u64;
    let (mut low, mut high) = (0, free.iter().sum::<u64>() / width as u64);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}
