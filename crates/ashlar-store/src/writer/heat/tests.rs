use super::*;

fn at(batch: u64) -> Lsn {
    Lsn(batch * Lsn::REACTORS)
}

fn large_pool() -> Heat {
    let heat = Heat::default();
    heat.sort(true);
    heat
}

#[test]
fn a_block_of_which_nothing_is_known_is_cold() {
    assert!(!large_pool().is_hot(None, at(100)));
}

#[test]
fn a_block_is_hot_if_it_lived_less_than_hot_segments_do() {
    let heat = large_pool();
    assert!(heat.is_hot(Some(at(1)), at(1000)), "nothing is known of hot segments yet");
    heat.hot_segment_lived(at(100), at(200));
    assert!(heat.is_hot(Some(at(950)), at(1000)));
    assert!(!heat.is_hot(Some(at(800)), at(1000)));
}

#[test]
fn the_mean_follows_what_hot_segments_live() {
    let heat = large_pool();
    heat.hot_segment_lived(at(0), at(1000));
    (0..200).for_each(|_| heat.hot_segment_lived(at(0), at(100)));
    assert!(!heat.is_hot(Some(at(0)), at(300)));
}

#[test]
fn what_survives_twice_is_old() {
    assert_eq!(large_pool().stream_of_survivors(SegmentKind::Data), StreamId::Young);
    assert_eq!(large_pool().stream_of_survivors(SegmentKind::Moved), StreamId::Old);
}

#[test]
fn a_small_pool_sorts_nothing() {
    let heat = Heat::default();
    assert!(!heat.is_hot(Some(at(1)), at(2)));
    assert_eq!(heat.stream_of_survivors(SegmentKind::Moved), StreamId::Young);
}
