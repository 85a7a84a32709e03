//! What the buffer knows of ranges of blocks.

use std::ops::{Bound, Range};

use ashlar_block::Lba;
use ashlar_format::ids::{Family, GIB_BLOCKS, GroupKey, Key, Layer, RANGE_BLOCKS};

use ashlar_format::page::Value;

use super::{Buffer, Epoch, Leaf, RangeKey, Update};

impl Buffer {
    /// What the buffer knows of `blocks`: its blocks in the first groups that together have
    /// `enough`, in order, and the next group that has any.
    pub fn keys(
        &self,
        family: Family,
        layer: Layer,
        blocks: &Range<Lba>,
        enough: usize,
    ) -> (Vec<Key>, Option<GroupKey>) {
        let mut keys: Vec<Key> = Vec::new();
        for key in self.known(family, layer, blocks) {
            let is_next = |last: &Key| last.lba.0 / GIB_BLOCKS != key.lba.0 / GIB_BLOCKS;
            if keys.len() >= enough && keys.last().is_some_and(is_next) {
                return (keys, Some(GroupKey::of(family, key.lba)));
            }
            keys.push(key);
        }
        (keys, None)
    }

    /// How many of `blocks` the buffer knows.
    pub fn count(&self, family: Family, layer: Layer, blocks: &Range<Lba>) -> usize {
        let leaves = self.leaves_in(family, blocks).filter(|(range, _)| range.layer == layer);
        let count = |(range, leaf): (&RangeKey, &Leaf)| {
            let first = range.key(0).lba;
            match blocks.start <= first && first.plus(RANGE_BLOCKS) <= blocks.end {
                true => leaf.updates.len(),
                false => {
                    let lbas = leaf.updates.iter().map(|update| range.key(update.block).lba);
                    lbas.filter(|lba| blocks.contains(lba)).count()
                }
            }
        };
        leaves.map(count).sum()
    }

    fn known(
        &self,
        family: Family,
        layer: Layer,
        blocks: &Range<Lba>,
    ) -> impl Iterator<Item = Key> {
        let leaves = self.leaves_in(family, blocks).filter(move |(range, _)| range.layer == layer);
        leaves
            .flat_map(|(range, leaf)| leaf.updates.iter().map(move |it| range.key(it.block)))
            .filter(|key| blocks.contains(&key.lba))
    }

    /// The first group of which the buffer has data of `family` and `layer` in `blocks`. So many
    /// ranges are looked at; where none of them has any, the error says where to go on.
    pub fn first_that_holds(
        &self,
        family: Family,
        layer: Layer,
        blocks: &Range<Lba>,
        ranges: usize,
    ) -> Result<Option<GroupKey>, Lba> {
        let holds = |range: &RangeKey, leaf: &Leaf| {
            let mut updates = leaf.updates.iter().filter(|update| update.location.is_some());
            updates.any(|update| blocks.contains(&range.key(update.block).lba))
        };
        let leaves = self.leaves_in(family, blocks).filter(|(range, _)| range.layer == layer);
        for (looked, (range, leaf)) in leaves.enumerate() {
            if looked == ranges {
                return Err(range.key(0).lba);
            }
            if holds(range, leaf) {
                return Ok(Some(GroupKey::of(family, range.key(0).lba)));
            }
        }
        Ok(None)
    }

    /// The blocks of a group of which durable deltas say that there is nothing.
    pub fn settled_absences(&self, group: &GroupKey) -> Vec<Key> {
        let first = group.first_block();
        let is_settled_absence =
            |update: &&Update| update.epoch == Epoch::Settled && update.location.is_none();
        self.leaves_in(group.family, &(first..first.plus(GIB_BLOCKS)))
            .flat_map(|(range, leaf)| {
                leaf.updates.iter().filter(is_settled_absence).map(|update| range.key(update.block))
            })
            .collect()
    }

    /// Groups from `first` on, up to `end`, of which durable deltas say that there is nothing at
    /// some block.
    pub fn groups_with_settled_absences(
        &self,
        first: GroupKey,
        end: Option<GroupKey>,
    ) -> Vec<GroupKey> {
        let is_absent =
            |update: &Update| update.epoch == Epoch::Settled && update.location.is_none();
        let absent =
            self.leaves_between(first, end).filter(|(_, leaf)| leaf.updates.iter().any(is_absent));
        let mut groups: Vec<_> =
            absent.map(|(range, _)| GroupKey::of(range.family, range.key(0).lba)).collect();
        groups.dedup();
        groups
    }

    fn leaves_in(
        &self,
        family: Family,
        blocks: &Range<Lba>,
    ) -> impl Iterator<Item = (&RangeKey, &Leaf)> {
        let end = Lba(blocks.end.0.next_multiple_of(RANGE_BLOCKS));
        self.leaves.range(RangeKey::first(family, blocks.start)..RangeKey::first(family, end))
    }

    /// Whether the buffer has anything of a group.
    pub fn knows_of(&self, group: &GroupKey) -> bool {
        let first = group.first_block();
        self.leaves_in(group.family, &(first..first.plus(GIB_BLOCKS))).next().is_some()
    }

    /// Whether the buffer has anything of the groups from `first` on, up to `end`.
    pub fn knows_between(&self, first: GroupKey, end: Option<GroupKey>) -> bool {
        self.leaves_between(first, end).next().is_some()
    }

    /// The first group from `first` on, up to `end`, that the buffer has anything of.
    pub fn first_group_between(&self, first: GroupKey, end: Option<GroupKey>) -> Option<GroupKey> {
        let (range, _) = self.leaves_between(first, end).next()?;
        Some(GroupKey::of(range.family, range.key(0).lba))
    }

    /// What the buffer says of a group.
    pub fn updates_of(&self, group: &GroupKey) -> impl Iterator<Item = (Key, Value)> {
        self.leaves_between(*group, group.next()).flat_map(|(range, leaf)| {
            leaf.updates.iter().map(|update| (range.key(update.block), update.value()))
        })
    }

    fn leaves_between(
        &self,
        first: GroupKey,
        end: Option<GroupKey>,
    ) -> impl Iterator<Item = (&RangeKey, &Leaf)> {
        let key = |group: GroupKey| RangeKey::first(group.family, group.first_block());
        let end = end.map_or(Bound::Unbounded, |end| Bound::Excluded(key(end)));
        self.leaves.range((Bound::Included(key(first)), end))
    }
}
