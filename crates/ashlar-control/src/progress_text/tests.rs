use super::*;

fn progress_text(
    left_bytes: Option<u64>,
    eta_seconds: Option<u64>,
    obstacle: Option<Obstacle>,
) -> ProgressText {
    ProgressText { left_bytes, eta_seconds, obstacle }
}

#[test]
fn bytes_come_first_and_then_the_time_that_is_left_or_what_is_waited_for() {
    let (left, eta) = (Some(1288490189), Some(40));
    assert_eq!(progress_text(left, eta, None).to_string(), "1.20GiB left, 40s to go");
    assert_eq!(progress_text(left, None, None).to_string(), "1.20GiB left");
    assert_eq!(
        progress_text(left, eta, Some(Obstacle::NoRoom)).to_string(),
        "1.20GiB left, waits for room"
    );
}

#[test]
fn nothing_is_said_of_what_is_not_known() {
    assert_eq!(
        progress_text(None, None, None).behind("a scrub is 0.0 % done"),
        "a scrub is 0.0 % done"
    );
    assert_eq!(
        progress_text(Some(4096), None, None).behind("it is 3 % done"),
        "it is 3 % done, 4KiB left"
    );
}

#[test]
fn a_long_time_is_not_told_in_seconds() {
    for (seconds, told) in
        [(0, "0s"), (59, "59s"), (61, "1m 1s"), (7500, "2h 5m"), (90_000, "1d 1h")]
    {
        assert_eq!(Span(seconds).to_string(), told);
    }
}
