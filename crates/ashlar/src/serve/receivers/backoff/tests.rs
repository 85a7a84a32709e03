use super::*;

const SOON: Duration = Duration::from_secs(1);

fn later() -> Failure {
    Failure::later("it hangs")
}

#[test]
fn pauses_double_up_to_five_minutes_and_end_after_a_day() {
    let of = |failed| pause(&later(), failed, SOON, 0).unwrap().as_secs();
    assert_eq!([1, 2, 3, 9, 10, 1000].map(of), [1, 2, 4, 256, 300, 300]);
    assert_eq!(pause(&later(), 3, SOON, u64::MAX), Some(Duration::from_secs(2)));
    assert_eq!(pause(&later(), 3, GIVE_UP_AFTER, 0), None);
}

#[test]
fn what_is_refused_is_given_up_after_some_minutes_and_what_never_will_be_taken_at_once() {
    let refused = Failure::Refused("400".to_owned());
    let all: Vec<Duration> =
        (1..).map_while(|failed| pause(&refused, failed, SOON, u64::MAX)).collect();
    assert_eq!(all.len(), REFUSALS_MAX as usize - 1);
    assert!(all.iter().sum::<Duration>() > Duration::from_secs(240), "however chance has it");
    assert_eq!(pause(&Failure::Never("410".to_owned()), 1, SOON, 0), None);
}

#[test]
fn a_receiver_is_left_alone_for_as_long_as_it_asks_for_but_no_longer_than_an_hour() {
    let asks = |seconds| Failure::Busy("503".to_owned(), Duration::from_secs(seconds));
    let of = |seconds| pause(&asks(seconds), 1, SOON, 0).unwrap().as_secs();
    assert_eq!([0, 90, 1_000_000].map(of), [1, 90, 3600]);
    assert_eq!(pause(&asks(90), 1, GIVE_UP_AFTER, 0), None);
}
