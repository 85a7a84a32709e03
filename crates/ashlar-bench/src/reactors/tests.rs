use super::is_away;

#[test]
fn a_connection_is_away_if_both_reactors_work_for_it() {
    assert!(is_away(&[0.1, 0.1]));
    assert!(is_away(&[0.02, 0.1]));
    assert!(!is_away(&[0.001, 0.1]));
    assert!(!is_away(&[0.1]));
    assert!(!is_away(&[0.0, 0.1]));
}
