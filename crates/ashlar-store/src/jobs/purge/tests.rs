use ashlar_format::ids::{Family, Key};
use ashlar_format::location::Pointer;
use ashlar_format::page::Run;
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, at_once, location, write_small_blocks};

const FAMILY: Family = Family(7);

/// The first blocks of a GiB that are in the shard.
fn blocks(id: ShardId, gib: u64, count: usize) -> impl Iterator<Item = Key> {
    let lbas = (gib * GIB_BLOCKS..(gib + 1) * GIB_BLOCKS).map(Lba);
    let lbas = lbas.filter(move |lba| ShardId::of(FAMILY, *lba) == id).take(count);
    lbas.map(|lba| Key { family: FAMILY, lba, layer: Layer(0) })
}

/// Where the index has little of a volume, all that the buffer had of it was hidden in one turn:
/// seconds for a large one, and more updates than a checkpoint had room for.
#[test]
fn a_purge_hides_no_more_of_the_buffer_in_a_turn_than_some_groups() {
    let pool = Drives::new(Level::RAID1, 3).open();
    let id = ShardId(5);
    let from = |gib| GroupKey { family: FAMILY, gib };
    let _held = at_once(pool.hold_group(id, from(0))).expect("nothing is to be read");
    write_small_blocks(&pool, 0..1);
    let at = Some(Pointer { location: location(&pool, 0), crc: 0 });
    for (gib, count) in [(0, 3000), (1, 3000), (2, 10), (9, 4096), (12, 1)] {
        let keys = blocks(id, gib, count);
        pool.with_shard(id, |shard| keys.for_each(|key| shard.set(key, at, &pool.space.ledger)));
    }
    let next = |gib| pool.hide_in_leaf(id, from(gib), Layer(0)).1;
    assert_eq!(next(0), Some(2), "whole groups");
    assert_eq!(next(2), Some(12));
    assert_eq!(next(12), None);
}

#[test]
fn a_purge_finds_what_the_map_has_of_the_end_of_the_largest_volume() {
    let pool = Drives::new(Level::RAID1, 3).open();
    let (id, end) = (ShardId(5), Lba(VOLUME_BLOCKS_MAX - 1));
    let last = GroupKey::of(FAMILY, end);
    let _held = at_once(pool.hold_group(id, last)).expect("nothing is to be read");
    let run = Run::Cut { layer: Layer(0), first: 0, end: 1 };
    pool.with_shard(id, |shard| shard.push_run(last, run));
    let first = GroupKey::of(FAMILY, Lba(0));
    assert_eq!(pool.hide_in_leaf(id, first, Layer(0)), (vec![last], None));
}
