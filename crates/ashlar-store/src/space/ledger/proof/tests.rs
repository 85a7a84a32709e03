use ashlar_format::ids::{GroupKey, ShardId};
use ashlar_format::location::Codec;

use super::*;

const FAMILY: Family = Family(1);

fn at(shard: u8, gib: u32) -> NamedAt {
    NamedAt { shard: ShardId(shard), group: GroupKey { family: FAMILY, gib } }
}

#[test]
fn a_place_is_passed_once_the_walk_is_behind_it() {
    let mut proof = Proof::new(at(0, 0));
    assert!(!proof.has_passed(at(0, 0)));
    proof.passes(at(0, 5));
    assert!(proof.has_passed(at(0, 4)));
    assert!(!proof.has_passed(at(0, 5)));
    assert!(!proof.has_passed(at(1, 0)), "shard by shard");
    proof.passes(at(1, 0));
    assert!(proof.has_passed(at(0, u32::MAX)));
}

#[test]
#[should_panic(expected = "comes to each place once")]
fn a_walk_never_goes_back() {
    let mut proof = Proof::new(at(0, 3));
    proof.passes(at(0, 3));
}

#[test]
fn what_goes_leaves_nothing_behind() {
    let mut proof = Proof::new(at(0, 0));
    let location = Location::new(SegmentId(1), 0, 64, 100, Codec::Lz4);
    proof.credit(FAMILY, location);
    assert_eq!(proof.families()[&FAMILY].blocks, 1);
    proof.discard(FAMILY, location.segment(), location.into());
    assert!(proof.families().is_empty() && proof.segments().is_empty());
}
