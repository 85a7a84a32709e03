use super::*;

const MIB: u64 = 1 << 20;

fn wanted(weight: u16, bytes: u64) -> Wanted {
    Wanted { weight, bytes }
}

#[test]
fn each_that_wants_much_has_half_of_it_in_the_store_at_most_when_all_have_their_parts() {
    for volumes in [
        [wanted(100, 4 * MIB), wanted(300, 4 * MIB)],
        [wanted(300, MIB), wanted(100, 4 * MIB)],
        [wanted(1000, 8 * MIB), wanted(1, 2 * MIB)],
    ] {
        let depth = depth_max(&volumes, 0).unwrap();
        let weights: u64 = volumes.iter().map(|it| u64::from(it.weight)).sum();
        let parts = volumes.map(|it| depth * u64::from(it.weight) / weights);
        let ratios = [0, 1].map(|index| parts[index] as f64 / volumes[index].bytes as f64);
        assert!(ratios.iter().all(|it| *it < 0.501), "{ratios:?}");
        assert!(ratios.iter().any(|it| *it > 0.499), "{ratios:?}");
    }
}

#[test]
fn whoever_wants_little_beside_others_or_alone_bounds_nobody() {
    assert_eq!((much_beside(0), much_beside(2 * MIB)), (MUCH, MUCH));
    assert_eq!(much_beside(64 * MIB), 8 * MIB);
    assert_eq!(depth_max(&[], 0), None);
    assert_eq!(depth_max(&[wanted(1, 64 * MIB)], 0), None);
}

#[test]
fn the_store_has_what_it_does_in_a_millisecond_whatever_waits() {
    let two = [wanted(100, MIB), wanted(100, MIB)];
    assert_eq!(depth_max(&two, 500 * MIB), Some(MIB));
    assert_eq!(depth_max(&two, 4000 * MIB), Some(4 * MIB));
}
