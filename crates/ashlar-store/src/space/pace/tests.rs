use super::*;

const MARKS: Marks = Marks { reserve: 9, collect: 19 };
const SECOND: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// Collection that has given back 10 MiB in each of some seconds.
fn steady() -> Pace {
    let pace = Pace::default();
    (1..=8).for_each(|second| pace.gained(10 * MIB, Nanos(second * SECOND)));
    pace
}

fn look_long(pace: &Pace, free: u64) {
    (0..100).for_each(|_| pace.has_free(free, MARKS));
}

/// Bytes in a second that hosts write which always have more, at `free` segments.
fn rate_of_hosts(pace: &Pace, free: u64) -> f64 {
    look_long(pace, free);
    let (start, mut now, mut bytes) = (Nanos(100 * SECOND), Nanos(100 * SECOND), 0_u64);
    while now.since(start) < Duration::from_secs(1) {
        now = Nanos(now.0 + pace.wait(now).as_nanos() as u64 + 1000);
        pace.written(16 << 10, now);
        bytes += 16 << 10;
    }
    bytes as f64 / MIB as f64
}

#[test]
fn hosts_that_want_more_are_slowed_down_until_collection_keeps_up() {
    let rates = [19, 18, 16, 14, 12, 10, 9].map(|free| rate_of_hosts(&steady(), free));
    assert!(rates[0] > 1000.0, "there is enough: {rates:?}");
    assert!(rates.is_sorted_by(|faster, slower| faster > slower), "{rates:?}");
    assert!(
        (10.0..15.0).contains(&rates[2]),
        "a third of the way, about as fast as collection: {rates:?}"
    );
    assert!((0.5..2.0).contains(&rates[6]), "{rates:?}");
}

#[test]
fn nobody_waits_when_nothing_is_known_of_collection_or_there_is_room_again() {
    let pace = Pace::default();
    assert!(rate_of_hosts(&pace, 9) > 1000.0);
    let pace = steady();
    look_long(&pace, 9);
    pace.written(100 * MIB, Nanos(100 * SECOND));
    assert_eq!(pace.wait(Nanos(100 * SECOND)), WAIT_MAX);
    pace.has_free(19, MARKS);
    assert_eq!(pace.wait(Nanos(100 * SECOND)), Duration::ZERO);
}

#[test]
fn the_time_that_upkeep_rests_is_not_collections() {
    let (busy, rested) = (steady(), steady());
    rested.rested(Nanos(99 * SECOND));
    [&busy, &rested].into_iter().for_each(|pace| pace.gained(10 * MIB, Nanos(100 * SECOND)));
    assert!(rate_of_hosts(&rested, 14) > 4.0 * rate_of_hosts(&busy, 14));
}
