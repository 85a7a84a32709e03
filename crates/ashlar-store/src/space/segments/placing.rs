//! Placement: which drives have room for a segment.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{DriveId, XorShift};
use ashlar_format::location::SegmentId;
use ashlar_raid::{ChunkAddr, Geometry};

use super::{FreeChunks, Segments, Shape};
use crate::space::stripes::Stripes;

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
        let reserved: BTreeSet<DriveId> = reserved
            .flat_map(|id| &self.entries[*id].geometry.columns)
            .map(|column| column.drive)
            .collect();
        let is_free =
            |drive: &DriveId| self.free_chunks.get(drive).is_some_and(|chunks| chunks.count() > 0);
        let roomy =
            drives.iter().filter(|drive| reserved.contains(drive) || is_free(drive)).count();
        roomy.min(self.stripe.columns(Shape::Striped))
    }

    /// How full these drives are. Chunks that columns have left, or are on their way from, count as
    /// free.
    pub fn loads(&self, drives: &[DriveId]) -> Loads {
        let retired =
            |drive: DriveId| self.retired.iter().filter(move |it| it.chunk.drive == drive).count();
        let load = |drive: &DriveId| {
            let left = retired(*drive) + self.departing(*drive);
            let free = self.free_chunks.get(drive)?.count() + left as u32;
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

    /// Striped segments that could be placed on `drives` now, each as wide as drives have room.
    pub fn placeable(&self, drives: &[DriveId]) -> u64 {
        self.free_stripes(drives, &[]).segments()
    }

    /// Segments that are not in use, counted in segments as wide as the widest in which something
    /// lives, but no wider than `drives` allow: what lives in a wide victim needs several narrow
    /// ones.
    pub fn free_segments(&self, drives: &[DriveId]) -> u64 {
        let placeable = self.free_stripes(drives, &[]);
        let free = placeable.segments() + self.usable_striped();
        let free_data = placeable.data(placeable.segments()) + self.reserved_data();
        let possible = self.stripe.columns(Shape::Striped).min(drives.len());
        let widest = self.summary.columns_most().min(possible);
        let data = widest.saturating_sub(self.parity_on(drives.len())).max(1);
        free.min(free_data / data as u64)
    }

    /// Columns for data of segments that are reserved.
    fn reserved_data(&self) -> u64 {
        let reserved = self.usable[Shape::Striped as usize].iter();
        reserved.map(|id| self.entries[*id].geometry.data() as u64).sum()
    }

    /// Columns for data of those that could be placed, and of segments that are reserved.
    pub fn placeable_data(&self, drives: &[DriveId]) -> u64 {
        let free = self.free_stripes(drives, &[]);
        free.data(free.segments()) + self.reserved_data()
    }

    /// Striped segments that would not be in use if only `drives` were there: reserved ones, and
    /// those that there would be room for, what is reserved beside other drives given back.
    pub fn free_on(&self, drives: &[DriveId]) -> u64 {
        let reserved =
            self.usable[Shape::Striped as usize].iter().map(|id| &self.entries[*id].geometry);
        let (within, beyond): (Vec<_>, Vec<_>) =
            reserved.partition(|geometry| geometry.lies_on(drives));
        let columns = beyond.into_iter().flat_map(|geometry| &geometry.columns);
        let given_back: Vec<DriveId> = columns.map(|column| column.drive).collect();
        self.free_stripes(drives, &given_back).segments() + within.len() as u64
    }

    /// The stripes that there is room for now, with a chunk more for each time that a drive is
    /// among `given_back`. These give back their numbers, too, but not before a root says so.
    fn free_stripes(&self, drives: &[DriveId], given_back: &[DriveId]) -> Stripes {
        let free = drives.iter().filter_map(|drive| {
            let back = given_back.iter().filter(|other| *other == drive).count();
            Some(u64::from(self.free_chunks.get(drive)?.count()) + back as u64)
        });
        let free = if self.numbers.are_gone() { Vec::new() } else { free.collect() };
        Stripes::new(free, self.stripe.columns(Shape::Striped), self.parity_on(drives.len()))
    }

    /// Whether a segment, however narrow, will have room on `drives` once these are free.
    pub fn has_room_after(&self, freed: &BTreeSet<SegmentId>, drives: &[DriveId]) -> bool {
        let freed: BTreeSet<DriveId> = freed
            .iter()
            .flat_map(|id| &self.entries[*id].geometry.columns)
            .map(|column| column.drive)
            .collect();
        let is_roomy = |drive: &&DriveId| {
            freed.contains(drive)
                || self.free_chunks.get(drive).is_some_and(|chunks| chunks.count() > 0)
        };
        !self.numbers.are_gone()
            && drives.iter().filter(is_roomy).count() > self.parity_on(drives.len())
    }

    /// The stripes that `drives` have room for when they are empty.
    pub fn stripes_when_empty(&self, drives: &[DriveId]) -> Stripes {
        let total = drives.iter().filter_map(|drive| self.chunks_total.get(drive));
        let total = total.map(|count| u64::from(*count)).collect();
        Stripes::new(total, self.stripe.columns(Shape::Striped), self.stripe.parity)
    }

    /// Those of `drives` that have at most so many free chunks: more room on others makes no more
    /// segments. All of them if none is short.
    pub fn short_of_chunks(&self, drives: &[DriveId], free: u64) -> Vec<DriveId> {
        let is_short = |drive: &DriveId| {
            self.free_chunks.get(drive).is_none_or(|chunks| u64::from(chunks.count()) <= free)
        };
        let short: Vec<DriveId> = drives.iter().copied().filter(is_short).collect();
        if short.is_empty() { drives.to_vec() } else { short }
    }

    /// Chunks of a striped segment on `short`, which are some of `drives`, for each of its data
    /// columns, as they are placed now: those that are reserved tell. In a pool of unequal drives
    /// most may be narrower than the widest.
    pub fn chunks_per_column(&self, short: &[DriveId], drives: &[DriveId]) -> f64 {
        let reserved =
            self.usable[Shape::Striped as usize].iter().map(|id| &self.entries[*id].geometry);
        let reserved = reserved.filter(|geometry| geometry.lies_on(drives));
        let chunks = |geometry: &Geometry| {
            geometry.columns.iter().filter(|column| short.contains(&column.drive)).count()
        };
        let (chunks, data) = reserved
            .fold((0, 0), |(all, data), geometry| (all + chunks(geometry), data + geometry.data()));
        if data > 0 {
            return chunks as f64 / data as f64;
        }
        let columns = self.stripe.columns(Shape::Striped).min(drives.len());
        columns as f64 / columns.saturating_sub(self.parity_on(drives.len())).max(1) as f64
    }
}
