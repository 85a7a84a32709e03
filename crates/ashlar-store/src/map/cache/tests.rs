use ashlar_format::location::{Codec, Location, SegmentId};

use super::*;

fn pointer(slot: u32) -> Pointer {
    Pointer { location: Location::new(SegmentId(1), 0, slot, 64, Codec::Lz4), crc: slot }
}

#[test]
fn the_budget_holds_and_pages_in_use_stay_longest() {
    let cache = PageCache::new(0);
    let entry = PageEntry { block: 0, layer: ashlar_format::ids::Layer(0), value: None };
    for slot in 0..500 {
        cache.keep(pointer(slot), Page::Entries(Rc::new(vec![entry; page_entries_max(1)])));
        assert!(cache.page(pointer(0)).is_some(), "page 0 is used all the time");
    }
    assert_eq!(cache.bytes(), PAGES_MIN * PAGE_BYTES_MAX);
    assert!(cache.page(pointer(1)).is_none());
}

#[test]
fn a_smaller_budget_holds_from_the_next_page_on() {
    let cache = PageCache::new(1000 * PAGE_BYTES_MAX);
    let leaf = || Rc::new(StoredLeaf::new(vec![0; 2]).expect("a leaf of no groups"));
    (0..5000).for_each(|slot| cache.keep(pointer(slot), Page::Leaf(leaf())));
    let before = cache.bytes();
    cache.limit(0);
    cache.keep(pointer(5000), Page::Leaf(leaf()));
    assert!(cache.bytes() <= PAGES_MIN * PAGE_BYTES_MAX && cache.bytes() < before);
    assert!(cache.leaf(pointer(5000)).is_some());
    assert!(cache.page(pointer(5000)).is_none(), "it is no page of a run");
}

/// To give all of a large cache's memory back at once is a turn of a tenth of a second.
#[test]
fn what_was_forgotten_makes_room_first_and_is_never_found() {
    let cache = PageCache::new(0);
    let leaf = || Page::Leaf(Rc::new(StoredLeaf::new(vec![0; 2]).expect("a leaf of no groups")));
    cache.keep(pointer(0), leaf());
    let before = cache.bytes();
    assert!(cache.leaf(pointer(0)).is_some());
    cache.clear();
    assert!(cache.leaf(pointer(0)).is_none());
    cache.keep(pointer(0), leaf());
    assert!(cache.leaf(pointer(0)).is_some());
    assert_eq!(cache.bytes(), before, "it took its place");
    cache.clear();
    (1..5000).for_each(|slot| cache.keep(pointer(slot), leaf()));
    assert!(cache.bytes() <= PAGES_MIN * PAGE_BYTES_MAX);
}
