use super::*;

#[test]
fn pauses_double_up_to_five_minutes_and_end_after_a_day() {
    let soon = Duration::from_secs(1);
    let longest: Vec<u64> =
        [1, 2, 3, 9, 10, 1000].map(|failed| pause(failed, soon, 0).unwrap().as_secs()).to_vec();
    assert_eq!(longest, [1, 2, 4, 256, 300, 300]);
    assert_eq!(pause(3, soon, u64::MAX), Some(Duration::from_secs(2)));
    assert_eq!(pause(3, GIVE_UP_AFTER, 0), None);
}
