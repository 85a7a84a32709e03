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

/// So many answers that took so long.
fn answer(holding: &Holding, count: usize, milliseconds: u64) {
    (0..count).for_each(|_| holding.answered(Duration::from_millis(milliseconds)));
}

/// One whose first window has begun.
fn begun() -> Holding {
    let holding = Holding::default();
    assert_eq!(holding.share(TARGET, at(0)), SHARE_FIRST);
    holding
}

#[test]
fn a_rebuild_that_makes_hosts_wait_soon_takes_next_to_nothing_and_recovers_when_they_need_not() {
    let holding = begun();
    let mut shares = Vec::new();
    for window in 1..8 {
        answer(&holding, 200, 9);
        shares.push(holding.share(TARGET, at(500 * window)));
    }
    assert_eq!(shares, [25, 12, 10, 10, 10, 10, 10]);
    answer(&holding, 200, 1);
    assert_eq!(holding.share(TARGET, at(4000)), 12);
    // Nobody waits: all of the time is its own, little by little.
    let last = (9..40).map(|window| holding.share(TARGET, at(500 * window))).last();
    assert_eq!(last, Some(1000));
}

#[test]
fn within_a_window_the_share_stays() {
    let holding = begun();
    let share = holding.share(TARGET, at(500));
    answer(&holding, 200, 9);
    assert_eq!(holding.share(TARGET, at(900)), share);
    assert!(holding.share(TARGET, at(1000)) < share);
}

#[test]
fn a_share_that_goes_up_and_down_by_what_is_late_is_on_average_below_the_one_at_which_too_much_is()
{
    for enough in [20, 50, 150, 600] {
        let mut share = SHARE_FIRST;
        let shares = (0..1000).map(|_| {
            share = next_share(share, share > enough);
            u64::from(share)
        });
        let average = shares.skip(20).sum::<u64>() / 980;
        let enough = u64::from(enough);
        assert!(
            (enough * 7 / 10..=enough).contains(&average),
            "{average} where {enough} are enough"
        );
    }
}

#[test]
fn few_answers_in_time_are_waited_for_and_a_late_one_is_not() {
    let holding = begun();
    answer(&holding, 10, 1);
    assert_eq!(holding.share(TARGET, at(600)), SHARE_FIRST);
    answer(&holding, 89, 1);
    assert_eq!(holding.share(TARGET, at(700)), SHARE_FIRST);
    answer(&holding, 1, 1);
    assert_eq!(holding.share(TARGET, at(800)), 62);
    answer(&holding, 10, 1);
    answer(&holding, 1, 9);
    assert_eq!(holding.share(TARGET, at(1300)), 31);
    // Not for ever: there are hosts that want something once in a while.
    answer(&holding, 10, 1);
    assert_eq!(holding.share(TARGET, at(6299)), 31);
    assert_eq!(holding.share(TARGET, at(6300)), 38);
}

#[test]
fn the_next_rebuild_begins_as_the_first_did() {
    let holding = begun();
    let last = (1..30).map(|window| holding.share(TARGET, at(500 * window))).last();
    assert_eq!(last, Some(1000));
    answer(&holding, 200, 9);
    holding.forget();
    assert_eq!(holding.share(TARGET, at(60_000)), SHARE_FIRST);
    assert_eq!(holding.share(TARGET, at(60_499)), SHARE_FIRST);
}
