use ashlar_format::location::Codec;

use super::*;

fn page_in(segment: u32) -> Pointer {
    Pointer { location: Location::new(SegmentId(segment), 0, 0, 4096, Codec::Raw), crc: 0 }
}

#[test]
fn pages_hold_the_bytes_that_were_written_to_them() {
    let pages = CatalogPages::holding(b"two volumes", vec![page_in(3)]);
    assert!(pages.hold(b"two volumes"));
    assert!(!pages.hold(b"two volumeS"));
    assert!(!pages.hold(b""));
}

#[test]
fn pages_whose_bytes_nobody_keeps_hold_nothing() {
    assert!(!CatalogPages::of_anything(vec![page_in(3)]).hold(b""));
    assert!(!CatalogPages::default().hold(b""));
}

#[test]
fn pages_are_to_be_written_anew_once_the_segment_of_one_is_to_be_freed() {
    let mut pages = CatalogPages::holding(b"two volumes", vec![page_in(3), page_in(5)]);
    pages.touch_in(SegmentId(4));
    assert!(pages.hold(b"two volumes"), "none lies there");
    pages.touch_in(SegmentId(5));
    assert!(!pages.hold(b"two volumes"));
    assert_eq!(pages.pages().len(), 2, "they live until others are written");
}
