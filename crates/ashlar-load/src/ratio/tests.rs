use super::{Ratio, median, outliers};

#[test]
fn one_disturbed_round_does_not_move_the_median() {
    assert_eq!(median(&[3.0, 1.0, 100.0]), 3.0);
    assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
    assert_eq!(median(&[]), 0.0);
}

#[test]
fn ratios_are_of_the_same_round() {
    // The third round is ten times slower for both.
    let ratio = Ratio::of_rounds(&[2.0, 2.2, 20.0], &[1.0, 1.0, 10.0]).unwrap();
    assert_eq!(ratio, Ratio { median: 2.0, low: 2.0, high: 2.2 });
}

/// Tables of the sign test have these for a probability of 5 %, one-sided.
#[test]
fn the_more_rounds_there_are_the_more_outliers_count_for_nothing() {
    let expected = [(1, 0), (4, 0), (5, 0), (7, 0), (8, 1), (12, 2), (20, 5), (24, 7), (100, 41)];
    assert_eq!(expected.map(|(rounds, _)| (rounds, outliers(rounds))), expected);
    let rounds: Vec<f64> = (0..20).map(f64::from).collect();
    let ratio = Ratio::of_rounds(&rounds, &[1.0; 20]).unwrap();
    assert_eq!(ratio, Ratio { median: 9.5, low: 5.0, high: 14.0 });
}

#[test]
fn without_a_control_there_is_no_ratio() {
    assert_eq!(Ratio::of_rounds(&[1.0], &[0.0]), None);
    assert_eq!(Ratio::of_rounds(&[], &[]), None);
}
