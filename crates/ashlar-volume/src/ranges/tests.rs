use futures_util::FutureExt;

use super::*;

fn now<'a>(ranges: &'a Ranges, blocks: Range<u64>, mode: Mode) -> Option<Taken<'a>> {
    ranges.take(blocks, mode).now_or_never()
}

#[test]
fn whole_block_writes_go_side_by_side() {
    let ranges = Ranges::default();
    let _first = now(&ranges, 0..8, Mode::Shared).expect("free");
    let _second = now(&ranges, 4..6, Mode::Shared).expect("shared");
}

#[test]
fn a_read_modify_write_has_its_blocks_alone() {
    let ranges = Ranges::default();
    let alone = now(&ranges, 4..5, Mode::Alone).expect("free");
    let _beside = now(&ranges, 5..6, Mode::Alone).expect("other blocks");
    let mut waiting = Box::pin(ranges.take(0..8, Mode::Shared));
    assert!((&mut waiting).now_or_never().is_none());
    drop(alone);
    assert!((&mut waiting).now_or_never().is_none(), "block 5 is still taken");
    drop(_beside);
    assert!(waiting.now_or_never().is_some());
}

#[test]
fn one_that_waits_is_not_overtaken() {
    let ranges = Ranges::default();
    let first = now(&ranges, 0..1, Mode::Shared).expect("free");
    let mut alone = Box::pin(ranges.take(0..1, Mode::Alone));
    assert!((&mut alone).now_or_never().is_none());
    let mut later = Box::pin(ranges.take(0..1, Mode::Shared));
    assert!((&mut later).now_or_never().is_none());
    drop(first);
    let alone = alone.now_or_never().expect("its turn");
    assert!((&mut later).now_or_never().is_none());
    drop(alone);
    assert!(later.now_or_never().is_some());
}

#[test]
fn one_that_gives_up_lets_those_behind_it_go_on() {
    let ranges = Ranges::default();
    let _first = now(&ranges, 0..1, Mode::Shared).expect("free");
    let mut alone = Box::pin(ranges.take(0..1, Mode::Alone));
    assert!((&mut alone).now_or_never().is_none());
    let mut later = Box::pin(ranges.take(0..1, Mode::Shared));
    assert!((&mut later).now_or_never().is_none());
    drop(alone);
    assert!(later.now_or_never().is_some());
}
