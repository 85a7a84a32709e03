use super::*;

/// Steps of a tenth of a second, at so many bytes a second, for so long.
fn go_on(done: &Done, from: Duration, seconds: u64, pace: u64) -> Duration {
    for step in 1..=seconds * 10 {
        done.add(pace / 10, at(from + Duration::from_millis(100) * step as u32));
    }
    from + Duration::from_secs(seconds)
}

fn at(time: Duration) -> Nanos {
    Nanos(time.as_nanos() as u64)
}

fn seconds_left(done: &Done, bytes_left: u64, now: Duration) -> Option<u64> {
    done.progress(bytes_left, at(now))
        .remaining
        .map(|remaining| remaining.as_secs_f64().round() as u64)
}

/// It went by the average since the beginning: half an hour after it was slowed down it still
/// promised minutes.
#[test]
fn what_remains_follows_from_how_fast_it_goes_of_late() {
    let done = Done::default();
    let fast = go_on(&done, Duration::ZERO, 600, 1000);
    assert_eq!(seconds_left(&done, 10_000, fast), Some(10));
    let slow = go_on(&done, fast, 32, 100);
    assert_eq!(seconds_left(&done, 10_000, slow), Some(100));
    assert!(done.marks.borrow().len() < 40, "{:?}", done.marks);
    assert!(
        seconds_left(&done, 10_000, slow + Duration::from_secs(60)) > Some(250),
        "it stands still"
    );
}

#[test]
fn what_goes_on_once_a_minute_has_a_pace_as_well() {
    let done = Done::default();
    done.add(600, at(Duration::ZERO));
    assert_eq!(seconds_left(&done, 600, Duration::from_secs(1)), None, "it has only begun");
    for minute in 1..10 {
        done.add(600, at(Duration::from_secs(60 * minute)));
    }
    assert_eq!(seconds_left(&done, 600, Duration::from_secs(540)), Some(60));
}

#[test]
fn what_earlier_starts_have_done_counts_and_says_nothing_of_the_pace() {
    let done = Done::default();
    done.resume(1 << 30);
    assert_eq!((done.progress(10, Nanos(5)).remaining, done.has_begun()), (None, false));
    let now = go_on(&done, Duration::ZERO, 10, 100);
    assert_eq!((seconds_left(&done, 1000, now), done.bytes()), (Some(10), (1 << 30) + 1000));
}
