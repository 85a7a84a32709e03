use super::*;

fn parts(
    blocks: Range<u64>,
    updates_max: usize,
    updates: impl Fn(&Range<Lba>) -> usize,
) -> Vec<Range<u64>> {
    let parts = cut(Lba(blocks.start)..Lba(blocks.end), updates_max, &updates);
    parts.into_iter().map(|(part, _)| part.start.0..part.end.0).collect()
}

#[test]
fn a_range_is_cut_where_it_makes_more_updates_than_a_checkpoint_is_meant_for() {
    let all = |part: &Range<Lba>| (part.end.0 - part.start.0) as usize;
    assert_eq!(parts(0..GIB_BLOCKS, GIB_BLOCKS as usize, all).len(), 1);
    let (half, quarter) = (GIB_BLOCKS / 2, GIB_BLOCKS / 4);
    assert_eq!(parts(0..GIB_BLOCKS, half as usize, all), [0..half, half..GIB_BLOCKS]);
    let in_front =
        |part: &Range<Lba>| part.end.0.min(quarter).saturating_sub(part.start.0) as usize;
    let cut = parts(0..GIB_BLOCKS, quarter as usize / 2, in_front);
    assert_eq!(cut, [0..quarter / 2, quarter / 2..quarter, quarter..half, half..GIB_BLOCKS]);
}

#[test]
fn a_small_range_is_not_cut_however_little_a_checkpoint_is_meant_for() {
    let all = |part: &Range<Lba>| (part.end.0 - part.start.0) as usize;
    assert_eq!(parts(5..5 + PART_BLOCKS_MIN, 256, all).len(), 1);
    let cut = parts(0..GIB_BLOCKS, 256, all);
    assert_eq!(cut.len() as u64, GIB_BLOCKS / PART_BLOCKS_MIN);
}
