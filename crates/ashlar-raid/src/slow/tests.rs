use super::*;

fn ms(milliseconds: u64) -> Option<Duration> {
    Some(Duration::from_millis(milliseconds))
}

fn us(microseconds: u64) -> Option<Duration> {
    Some(Duration::from_micros(microseconds))
}

#[test]
fn a_drive_is_compared_with_its_peers_and_with_nothing_else() {
    assert_eq!(slow_ones(&[ms(10), ms(12), ms(9), ms(11)]), [Some(false); 4]);
    assert_eq!(
        slow_ones(&[us(100), us(90), ms(2), us(110)]),
        [false, false, true, false].map(Some)
    );
    // Ten times as long, and no host would notice.
    assert_eq!(slow_ones(&[us(100), us(90), us(1000), us(110)]), [Some(false); 4]);
    assert_eq!(slow_ones(&[us(100), None, ms(50)]), [Some(false), None, Some(true)]);
}

#[test]
fn a_drive_that_has_no_peer_is_not_compared() {
    assert_eq!(slow_ones(&[ms(900)]), [None]);
    assert_eq!(slow_ones(&[ms(900), None]), [None, None]);
}

#[test]
fn a_drive_is_slow_after_three_windows_and_well_after_three_more() {
    let speed = Speed::default();
    let mut seen = Vec::new();
    for slow in [true, true, false, true, true, false, true, false, false, false] {
        speed.judge(Some(slow), Nanos(0));
        seen.push(speed.is_slow());
    }
    assert_eq!(seen, [false, false, false, false, true, true, true, true, true, false]);
}

#[test]
fn what_nobody_knows_changes_nothing() {
    let speed = Speed::default();
    (0..3).for_each(|_| speed.judge(Some(true), Nanos(0)));
    (0..9).for_each(|_| speed.judge(None, Nanos(0)));
    assert!(speed.is_slow());
}

#[test]
fn a_drive_that_gives_no_answer_is_as_slow_as_it_owes_one() {
    let (speed, asked) = (Speed::default(), Nanos(1_000));
    let question = speed.ask(asked);
    let later = |seconds: u64| Nanos(asked.0 + seconds * 1_000_000_000);
    assert_eq!(speed.median(later(1)), None);
    assert_eq!(speed.median(later(4)), ms(4000));
    question.answered(later(5));
    assert_eq!(speed.median(later(9)), None, "one answer says nothing");
}

#[test]
fn a_drive_owes_no_answer_to_who_has_gone() {
    let speed = Speed::default();
    drop(speed.ask(Nanos(0)));
    assert_eq!(speed.median(Nanos(60_000_000_000)), None);
}

#[test]
fn of_sixteen_reads_of_a_slow_drive_one_goes_to_it() {
    let speed = Speed::default();
    assert!((0..100).all(|_| !speed.is_spared()));
    (0..3).for_each(|_| speed.judge(Some(true), Nanos(0)));
    let spared = (0..1600).filter(|_| speed.is_spared()).count();
    assert_eq!(spared, 1500);
}

/// They were thrown away with each window: below six reads a second nothing was ever compared.
#[test]
fn answers_that_are_too_few_are_kept_and_not_for_ever() {
    let (speed, at) = (Speed::default(), |seconds: u64| Nanos(seconds * 1_000_000_000));
    let answer = |seconds| {
        assert!(speed.is_measured(), "while there are few all are");
        speed.ask(at(seconds)).answered(Nanos(at(seconds).0 + 3_000_000));
    };
    (1..8).for_each(answer);
    speed.judge(None, at(8));
    answer(9);
    assert!(speed.median(at(10)).is_some());
    assert!((0..8).filter(|_| speed.is_measured()).count() == 2, "there are enough");
    speed.judge(None, at(29));
    assert!(speed.median(at(29)).is_some(), "nobody knew, for the others gave none");
    speed.judge(None, at(32));
    assert_eq!(speed.median(at(32)), None);
}
