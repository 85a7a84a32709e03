use ashlar_format::ids::Family;
use ashlar_format::location::{Codec, Location, Pointer, SegmentId};
use ashlar_format::page::{Child, GroupsBelow};

use super::*;
use crate::map::index::Index;

#[test]
fn every_leaf_with_a_group_that_is_to_be_merged_has_its_turn() {
    let group = |gib| GroupKey { family: Family(1), gib };
    let mut shards: Vec<Shard> = (0..4).map(|id| Shard::new(ShardId(id))).collect();
    assert_eq!(next_unmerged(&shards, Default::default()), None);
    let below = GroupsBelow { unmerged: true, stacked: true };
    let location = Location::new(SegmentId(1), 0, 0, 64, Codec::Raw);
    let leaf = |gib| Child { first: group(gib), pointer: Pointer { location, crc: 0 }, below };
    shards[1].index = Index::loaded(vec![leaf(3), leaf(7)], Vec::new());
    shards[3].index = Index::loaded(vec![leaf(0)], Vec::new());
    let mut after = Default::default();
    let turns = [(1, 3), (1, 7), (3, 0), (1, 3)].map(|(shard, gib)| (ShardId(shard), group(gib)));
    for turn in turns {
        after = next_unmerged(&shards, after).expect("three are to be merged");
        assert_eq!(after, turn);
    }
}

const NOTHING: MapNeed = MapNeed {
    is_too_large: false,
    fullest: Some(ShardId(3)),
    spoiled: None,
    thin: None,
    unmerged: None,
};
const GROUP: GroupKey = GroupKey { family: Family(1), gib: 0 };

#[test]
fn maps_within_their_memory_with_nothing_hidden_need_nothing() {
    assert_eq!((NOTHING.upkeep(), NOTHING.between_collections()), (None, None));
}

#[test]
fn maps_that_are_too_large_are_distributed_before_anything_is_merged() {
    let large = MapNeed { is_too_large: true, unmerged: Some((ShardId(1), GROUP)), ..NOTHING };
    assert_eq!(large.upkeep(), Some(MapTask::Distribute(ShardId(3))));
    assert_eq!(large.between_collections(), Some(MapTask::Merge(ShardId(1), GROUP)));
    let fresh = MapNeed { fullest: None, ..large };
    assert_eq!(fresh.upkeep(), Some(MapTask::MakeDurable), "nothing can be distributed yet");
}

#[test]
fn deltas_are_compacted_before_groups_are_merged() {
    let thin = MapNeed { thin: Some(ShardId(5)), unmerged: Some((ShardId(1), GROUP)), ..NOTHING };
    assert_eq!(thin.upkeep(), Some(MapTask::Compact(ShardId(5))));
    let spoiled = MapNeed { spoiled: Some(ShardId(6)), ..thin };
    assert_eq!(spoiled.upkeep(), Some(MapTask::Distribute(ShardId(6))));
}
