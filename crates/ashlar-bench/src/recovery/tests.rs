use std::collections::BTreeSet;

use super::*;

#[test]
fn every_range_has_an_entry_and_every_64th_has_all() {
    assert_eq!(entries(), (1 << 20) + (1 << 14) * 255);
    let last_range = (RANGES - 1) * RANGE_BLOCKS;
    assert_eq!([block_of(0), block_of(1), block_of(RANGES - 1)], [0, 256, last_range]);
    let in_first_range: BTreeSet<u64> = (RANGES..RANGES + 255).map(block_of).collect();
    assert_eq!(in_first_range, (1..256).collect());
    assert_eq!(block_of(RANGES + 255), FULL_EVERY * RANGE_BLOCKS + 1);
    assert_eq!(block_of(entries() - 1), (RANGES - FULL_EVERY) * RANGE_BLOCKS + 255);
}
