use super::*;

#[test]
fn deltas_are_compressed_where_all_of_them_would_be_a_part_of_the_pool_that_matters() {
    let (mib, gib) = (1 << 20, 1 << 30);
    assert_eq!(Deltas::of(32 * mib, 18 * mib), Deltas::Compressed);
    assert_eq!(Deltas::of(256 * mib, 7 * gib), Deltas::Compressed);
    assert_eq!(Deltas::of(256 * mib, 8 * gib), Deltas::Raw);
    assert_eq!(Deltas::of(256 * mib, 1024 * gib), Deltas::Raw);
}
