use super::*;
use crate::types::Family;

#[test]
fn every_group_that_is_to_be_merged_has_its_turn() {
    let group = |gib| GroupKey { family: Family(1), gib };
    let mut shards: Vec<Shard> = (0..4).map(|id| Shard::new(ShardId(id))).collect();
    assert_eq!(next_unmerged(&shards, Default::default()), None);
    for (shard, gib) in [(1, 3), (1, 7), (3, 0)] {
        shards[shard].unmerged.insert(group(gib));
    }
    let mut after = Default::default();
    let turns = [(1, 3), (1, 7), (3, 0), (1, 3)].map(|(shard, gib)| (ShardId(shard), group(gib)));
    for turn in turns {
        after = next_unmerged(&shards, after).expect("three are to be merged");
        assert_eq!(after, turn);
    }
}
