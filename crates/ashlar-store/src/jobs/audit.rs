//! Audit: a full walk over the map compares what is counted with what is there.

use std::collections::BTreeMap;
use std::ops::Range;

use ashlar_block::{DriveId, IoError, SECTOR_BYTES, World};
use ashlar_format::ids::{GroupKey, Key, SHARD_COUNT, ShardId};
use ashlar_format::location::{Location, Pointer, SegmentId};
use ashlar_format::page::{LeafGroup, Run, Value};
use ashlar_format::superblock::Superblock;
use ashlar_format::table::Occupancy;

use crate::map::index::LOWEST;
use crate::pool::Pool;
use crate::space::segments::Segment;

/// The result of a walk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// What lives, by the walk.
    pub live: Occupancy,
    /// What is counted as living.
    pub counted: Occupancy,
    /// Segments that are counted too low, or are named and do not exist, and what is named where
    /// they hold no batch: nobody would move or restore it. Must be empty.
    pub wrong: Vec<String>,
}

impl<W: World> Pool<W> {
    /// Walks everything that the map names. Nothing else may go on meanwhile.
    pub async fn audit(&self) -> Result<Audit, IoError> {
        let mut named: Vec<Location> = self.checkpoint.catalog_pages.borrow().locations().collect();
        named.extend(self.checkpoint.table.borrow().locations());
        for shard in (0..SHARD_COUNT as u8).map(ShardId) {
            named.extend(self.locations_of(shard).await?);
        }
        let segments = self.space.segments.borrow();
        let mut live: BTreeMap<SegmentId, Occupancy> = BTreeMap::new();
        named
            .iter()
            .for_each(|location| live.entry(location.segment()).or_default().add(*location));
        let counted = |id: SegmentId| segments.get(id).map(|segment| segment.live);
        let miscounted = live
            .iter()
            .filter(|(id, live)| counted(**id).and_then(|counted| counted.minus(**live)).is_none())
            .map(|(id, live)| format!("{id}: {live:?} lives, {:?} counted", counted(*id)));
        let outside = named
            .iter()
            .filter(|location| {
                segments.get(location.segment()).is_some_and(|it| !it.holds(location.sectors()))
            })
            .map(|location| format!("{location:?} is named, and no batch holds it"));
        let sums = (!segments.summary_is_right())
            .then(|| format!("{:?} is not the sum of the segments", segments.summary()));
        let wrong = miscounted.chain(outside).chain(sums).collect();
        let mut all = Occupancy::default();
        live.into_values().for_each(|part| all += part);
        Ok(Audit { live: all, counted: segments.live(), wrong })
    }

    /// What a scrub looks at, in bytes of drives that work: rows, but for batches that may be on
    /// their way, and superblocks.
    pub fn scrubbed_places(&self) -> Vec<(DriveId, Range<u64>)> {
        let (segments, floor) = (self.space.segments.borrow(), self.writer.lsns.floor());
        let settled = segments.iter().map(|(_, segment)| segment);
        let settled =
            settled.filter(|segment| segment.last_lsn < floor && segment.is_to_be_scrubbed(floor));
        let rows = settled.flat_map(|segment| self.rows_of(segment));
        let drives = self
            .array
            .working_drives()
            .into_iter()
            .filter_map(|drive| self.array.member(drive).map(|member| (drive, member)));
        let superblocks = drives.flat_map(|(drive, member)| {
            let copies = Superblock::offsets(member.used_bytes());
            copies.map(|offset| (drive, offset..offset + SECTOR_BYTES as u64))
        });
        rows.chain(superblocks).collect()
    }

    fn rows_of(&self, segment: &Segment) -> Vec<(DriveId, Range<u64>)> {
        let mut rows = Vec::new();
        for column in &segment.geometry.columns {
            let Some(member) = self.array.working(column.drive) else { continue };
            let chunk = member.layout().offset(column.chunk, 0);
            rows.extend(segment.accepted_rows().into_iter().map(|extent| {
                let [first, end] = [extent.row, extent.row + extent.rows]
                    .map(|row| chunk + u64::from(row) * SECTOR_BYTES as u64);
                (column.drive, first..end)
            }));
        }
        rows
    }

    /// Every location that a shard names and that is not hidden, pages of its own included.
    async fn locations_of(&self, id: ShardId) -> Result<Vec<Location>, IoError> {
        let (mut locations, newest) = self.with_shard(id, |shard| {
            let pages = shard.index.pages().chain(shard.deltas.pages()).map(|page| page.location);
            (pages.collect::<Vec<_>>(), shard.buffer.newest())
        });
        locations.extend(newest.values().flatten().map(|pointer| pointer.location));
        let mut next = self.with_shard(id, |shard| shard.index.leaf_from(LOWEST));
        while let Some(leaf) = next {
            let _held = self.hold_group(id, leaf).await?;
            let groups: Vec<LeafGroup> = self.with_shard(id, |shard| {
                next = shard.index.leaf_behind(leaf);
                shard.index.groups_of(leaf).map(|(group, runs)| (group, runs.to_vec())).collect()
            });
            for page in groups.iter().flat_map(|(group, runs)| pages_of(*group, runs)) {
                locations.push(page.1.location);
                locations.extend(self.locations_in(page, &newest).await?);
            }
        }
        Ok(locations)
    }

    /// Every location that a page of a group names and that is not hidden.
    async fn locations_in(
        &self,
        (group, page): (GroupKey, Pointer),
        newest: &BTreeMap<Key, Value>,
    ) -> Result<Vec<Location>, IoError> {
        let mut locations = Vec::new();
        for entry in self.read_map_page(page).await?.iter() {
            let lba = group.first_block().plus(u64::from(entry.block));
            let key = Key { family: group.family, lba, layer: entry.layer };
            if newest.contains_key(&key) {
                continue;
            }
            let current = self.lookup(&key, |value| value).await?;
            locations.extend(
                entry.value.filter(|value| current == Some(*value)).map(|value| value.location),
            );
        }
        Ok(locations)
    }
}

fn pages_of(group: GroupKey, runs: &[Run]) -> impl Iterator<Item = (GroupKey, Pointer)> {
    runs.iter().flat_map(Run::pages).map(move |page| (group, page.pointer))
}
