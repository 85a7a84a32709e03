use super::{Ratio, median};

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
    assert_eq!(ratio, Ratio { median: 2.0, lowest: 2.0, highest: 2.2 });
}

#[test]
fn without_a_control_there_is_no_ratio() {
    assert_eq!(Ratio::of_rounds(&[1.0], &[0.0]), None);
    assert_eq!(Ratio::of_rounds(&[], &[]), None);
}
