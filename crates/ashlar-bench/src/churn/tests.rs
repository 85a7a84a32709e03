use super::*;

#[test]
fn what_is_moved_counts_as_written() {
    let before = PoolCounters { blocks_written: 10, blocks_moved: 5, ..PoolCounters::default() };
    let after = PoolCounters {
        blocks_written: 110,
        blocks_moved: 255,
        drive_written_bytes: 500 * 4096,
        ..PoolCounters::default()
    };
    assert_eq!(Amplification::between(&before, &after), Amplification { blocks: 3.5, bytes: 5.0 });
}

#[test]
fn passes_agree_within_five_percent() {
    assert!(agree(3.0, 3.1) && agree(3.0, 2.9));
    assert!(!agree(3.0, 3.2) && !agree(3.0, 2.8));
}

#[test]
fn nine_of_ten_writes_go_to_a_tenth_of_the_places() {
    let mut random = XorShift::new(1);
    let hot = (0..10_000).filter(|_| Pattern::HotCold.draw(&mut random, 1000) < 100).count();
    assert!((8_800..9_200).contains(&hot), "{hot}");
    assert!((0..10_000).all(|_| Pattern::Uniform.draw(&mut random, 1000) < 1000));
}
