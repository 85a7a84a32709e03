use std::collections::BTreeMap;

use ashlar_block::DriveId;
use ashlar_format::ids::Lsn;
use ashlar_format::table::SegmentKind;
use ashlar_raid::{ChunkAddr, Geometry};
use proptest::prelude::*;

use super::*;

fn segment(first_lsn: u64) -> Segment {
    let geometry = Geometry::new(Box::new([ChunkAddr { drive: DriveId(0), chunk: 0 }]), 0);
    Segment::reserved(geometry, SegmentKind::Data, Lsn(first_lsn))
}

proptest! {
    #[test]
    fn a_slab_holds_what_a_map_would(steps in proptest::collection::vec((1u32..200, any::<bool>()), 1..300)) {
        let (mut slab, mut map) = (Slab::default(), BTreeMap::new());
        for (lsn, (number, adds)) in (0u64..).zip(steps) {
            let id = SegmentId(number);
            if adds && !map.contains_key(&id) {
                slab.insert(id, segment(lsn));
                map.insert(id, lsn);
            } else if !adds {
                prop_assert_eq!(slab.remove(id).map(|segment| segment.first_lsn.0), map.remove(&id));
            }
            let from = SegmentId(number);
            let held: Vec<_> = slab.iter_from(from).map(|(id, segment)| (id, segment.first_lsn.0)).collect();
            let expected: Vec<_> = map.range(from..).map(|(id, lsn)| (*id, *lsn)).collect();
            prop_assert_eq!(held, expected);
            prop_assert_eq!(slab.contains(id), map.contains_key(&id));
        }
    }
}

/// A small pool that lives long had an index of all 16 million numbers in the end.
#[test]
fn numbers_that_come_and_go_use_slots_again() {
    let mut slab = Slab::default();
    for number in 1..1000 {
        slab.insert(SegmentId(number), segment(0));
        slab.remove(SegmentId(number));
    }
    assert_eq!(slab.slots.len(), 1);
    assert!(slab.pages.iter().all(Option::is_none));
}
