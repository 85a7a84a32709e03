use ashlar_format::location::{Codec, Location, SegmentId};

use super::*;

fn pointer(slot: u32) -> Pointer {
    Pointer { location: Location::new(SegmentId(1), 0, slot, 64, Codec::Lz4), crc: slot }
}

#[test]
fn the_budget_holds_and_pages_in_use_stay_longest() {
    let cache = PageCache::new(0);
    for slot in 0..500 {
        cache.insert(pointer(slot), Rc::new(Vec::new()));
        assert!(cache.page(pointer(0)).is_some(), "page 0 is used all the time");
    }
    assert_eq!(cache.bytes(), PAGES_MIN * PAGE_BYTES);
    assert!(cache.page(pointer(1)).is_none());
}
