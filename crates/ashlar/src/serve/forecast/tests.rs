use super::*;

const GIB: u64 = 1 << 30;
const POOL: PoolUuid = PoolUuid([1; 16]);

/// What is said after an hour in which so much lived each minute, in minutes.
fn after_an_hour(live: impl Fn(u64) -> u64, room_bytes: u64) -> Option<u64> {
    after_minutes(60, live, room_bytes)
}

fn after_minutes(minutes: u64, live: impl Fn(u64) -> u64, room_bytes: u64) -> Option<u64> {
    let mut forecast = Forecast::default();
    let mut said = None;
    for minute in 0..minutes {
        let now = Duration::from_secs(minute * 60);
        said = forecast.time_to_full(POOL, now, live(minute), room_bytes);
    }
    said.map(|time| (time.as_secs_f64() / 60.0).round() as u64)
}

#[test]
fn a_steady_load_fills_what_is_left_at_its_rate() {
    assert_eq!(after_an_hour(|minute| minute * GIB, 200 * GIB), Some(200));
}

#[test]
fn a_burst_or_a_delete_does_not_move_it() {
    let burst = |minute| minute * GIB + if (20..28).contains(&minute) { 500 * GIB } else { 0 };
    let said = after_an_hour(burst, 200 * GIB).expect("it grows");
    assert!((180..=220).contains(&said), "{said}");
}

#[test]
fn a_load_that_goes_up_and_down_has_none() {
    assert_eq!(after_an_hour(|minute| (minute % 7) * GIB + 100 * GIB, GIB), None);
    assert_eq!(after_an_hour(|_| 5 * GIB, GIB), None, "nothing grows");
    assert_eq!(after_an_hour(|minute| (100 - minute) * GIB, GIB), None, "it shrinks");
}

#[test]
fn a_load_that_began_a_moment_ago_has_none() {
    let new = |minute: u64| minute.saturating_sub(50) * GIB;
    assert_eq!(after_an_hour(new, 200 * GIB), None);
    assert_eq!(after_minutes(9, |minute| minute * GIB, 200 * GIB), None, "too few samples");
    assert_eq!(after_minutes(11, |minute| minute * GIB, 200 * GIB), Some(200));
}

#[test]
fn months_are_not_foretold() {
    assert_eq!(after_an_hour(|minute| minute, 200 * GIB), None);
}

#[test]
fn a_full_pool_is_full_now() {
    assert_eq!(after_an_hour(|minute| minute * GIB, 0), Some(0));
}

#[test]
fn more_questions_than_one_a_minute_change_nothing() {
    let mut forecast = Forecast::default();
    for second in 0..600 {
        let said = forecast.time_to_full(POOL, Duration::from_secs(second), second * GIB, GIB);
        assert_eq!(said, None, "ten minutes are not over");
    }
    assert_eq!(forecast.pools[&POOL].samples.len(), 10);
}

#[test]
fn what_is_kept_is_of_an_hour_and_of_pools_that_are_there() {
    let mut forecast = Forecast::default();
    for minute in 0..1000 {
        forecast.time_to_full(POOL, Duration::from_secs(minute * 60), minute, GIB);
    }
    assert_eq!(forecast.pools[&POOL].samples.len(), SAMPLES_MAX);
    forecast.keep(|pool| pool != POOL);
    assert!(forecast.pools.is_empty());
}
