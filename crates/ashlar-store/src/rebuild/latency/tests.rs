use super::*;

const TARGET: Duration = Duration::from_millis(2);

fn at(milliseconds: u64) -> Nanos {
    Nanos(milliseconds * 1_000_000)
}

#[test]
fn of_a_hundred_answers_one_may_be_late_and_of_fewer_none() {
    let mut answers = Histogram::new_with_bounds(1, ANSWER_US_MAX, ANSWER_DIGITS).unwrap();
    assert_eq!(p99(&answers), None);
    answers.record_n(100, 98).unwrap();
    answers.record(50_000).unwrap();
    assert!(p99(&answers).unwrap() >= Duration::from_millis(50));
    answers.record(100).unwrap();
    assert!(p99(&answers).unwrap() < Duration::from_micros(110));
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
