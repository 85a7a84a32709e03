use super::*;

#[test]
fn a_buffer_that_everybody_has_let_go_of_is_used_again() {
    let mut buffers = RowBuffers::default();
    let buf = buffers.take(10_000).freeze();
    let place = buf.as_ptr();
    assert!(place.addr().is_multiple_of(SECTOR_BYTES) && buf.len() >= 10_000);
    drop(buf.slice(..SECTOR_BYTES));
    buffers.give_back(buf);
    let again = buffers.take(9_000);
    assert_eq!(again.as_ptr(), place);
    assert!(again.len() >= 10_000, "all of it came back");
}

#[test]
fn a_buffer_that_a_drive_still_has_is_left_to_it() {
    let mut buffers = RowBuffers::default();
    let buf = buffers.take(SECTOR_BYTES).freeze();
    let column = buf.slice(..SECTOR_BYTES);
    buffers.give_back(buf);
    assert_ne!(buffers.take(SECTOR_BYTES).as_ptr(), column.as_ptr());
}

#[test]
fn a_buffer_that_is_too_small_makes_way_for_a_larger_one() {
    let mut buffers = RowBuffers::default();
    let small = buffers.take(SECTOR_BYTES).freeze();
    buffers.give_back(small);
    let large = buffers.take(64 * SECTOR_BYTES);
    assert!(large.len() >= 64 * SECTOR_BYTES && buffers.kept.is_empty());
}

#[test]
fn no_more_is_kept_than_allowed() {
    let mut buffers = RowBuffers::default();
    let all: Vec<BytesMut> = (0..12).map(|_| buffers.take(1 << 20)).collect();
    all.into_iter().for_each(|buf| buffers.give_back(buf.freeze()));
    assert!((6 << 20..=KEPT_BYTES_MAX).contains(&buffers.kept_bytes));
    assert_eq!(buffers.kept.iter().map(BytesMut::len).sum::<usize>(), buffers.kept_bytes);
}
