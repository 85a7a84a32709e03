use super::*;

const TARGET: Duration = Duration::from_millis(2);

fn at(milliseconds: u64) -> Nanos {
    Nanos(milliseconds * 1_000_000)
}

#[test]
fn what_is_read_off_is_at_most_a_quarter_too_high() {
    for nanos in [4, 5, 7, 8, 999, 1_000_000, 1_999_999, 2_000_000, 20_000_000_000, u64::MAX / 2, u64::MAX] {
        let end = bucket_end(bucket(nanos));
        assert!(end >= nanos && end - nanos <= nanos / 4, "{nanos} reads as {end}");
    }
}

#[test]
fn of_a_hundred_answers_one_may_be_late_and_of_fewer_none() {
    let mut answers = Answers::default();
    assert_eq!(answers.p99(), None);
    (0..99).for_each(|_| answers.count(Duration::from_micros(100)));
    assert!(answers.p99().unwrap() < Duration::from_micros(125));
    answers.count(Duration::from_millis(50));
    assert!(answers.p99().unwrap() < Duration::from_micros(125));
    answers.count(Duration::from_millis(50));
    assert!(answers.p99().unwrap() >= Duration::from_millis(50));
}

#[test]
fn a_rebuild_that_makes_hosts_wait_soon_takes_next_to_nothing_and_recovers_when_they_need_not() {
    let holding = Holding::default();
    let mut shares = Vec::new();
    for window in 1..8 {
        (0..200).for_each(|_| holding.answered(Duration::from_millis(9)));
        shares.push(holding.share(TARGET, at(500 * window)));
    }
    assert_eq!(shares, [10, 5, 2, 1, 1, 1, 1]);
    (0..200).for_each(|_| holding.answered(Duration::from_micros(900)));
    assert_eq!(holding.share(TARGET, at(4000)), 6);
    // Nobody waits: all of the time is its own, little by little.
    let last = (9..40).map(|window| holding.share(TARGET, at(500 * window))).last();
    assert_eq!(last, Some(100));
}

#[test]
fn within_a_window_the_share_stays() {
    let holding = Holding::default();
    let share = holding.share(TARGET, at(500));
    (0..200).for_each(|_| holding.answered(Duration::from_millis(9)));
    assert_eq!(holding.share(TARGET, at(900)), share);
    assert!(holding.share(TARGET, at(1000)) < share);
}
