use super::*;

const STEP: Duration = Duration::from_millis(10);

fn at(milliseconds: u64) -> Nanos {
    Nanos(milliseconds * 1_000_000)
}

#[test]
fn steps_have_their_percent_of_the_time() {
    let pause_of = |percent| pause_after(STEP, thousandths(percent));
    assert_eq!(pause_of(100), Duration::ZERO);
    assert_eq!(pause_of(50), STEP);
    assert_eq!(pause_of(10), Duration::from_millis(90));
    assert_eq!(pause_of(0), pause_of(1));
    assert_eq!(pause_after(STEP, 25), Duration::from_millis(390));
}

#[test]
fn a_step_that_has_waited_for_a_drive_does_not_hold_up_the_next_for_long() {
    assert_eq!(pause_after(Duration::from_secs(20), 500), STEP_COUNTED_MAX);
    assert_eq!(pause_after(Duration::from_secs(20), 10), 99 * STEP_COUNTED_MAX);
}

#[test]
fn a_pause_that_a_step_has_asked_for_is_not_cut_short_by_its_share() {
    let share = TimeShare::default();
    share.pause(at(0), Duration::from_secs(1));
    share.stepped(at(0), at(10), 500);
    assert!(!share.has_come(at(999)));
    assert!(share.has_come(at(1000)));
}

/// Beside a merge of 30 ms for each of its steps of 1 ms a rebuild had 3 % of the time instead of
/// 10.
#[test]
fn steps_that_come_late_have_their_share_all_the_same() {
    let share = TimeShare::default();
    share.at_once(at(1000));
    let mut now = 1000;
    let mut steps = 0;
    while now < 4000 {
        now += 30;
        while share.has_come(at(now)) {
            share.stepped(at(now), at(now + 1), 100);
            now += 1;
            steps += 1;
        }
    }
    assert!((295..=305).contains(&steps), "{steps} of 3000 ms");
}

#[test]
fn what_has_waited_for_long_does_not_come_all_at_once() {
    let share = TimeShare::default();
    share.stepped(at(10_000), at(10_010), 100);
    assert_eq!(share.wait(at(10_010)), Duration::from_millis(40));
}

#[test]
fn nothing_is_waited_for_once_the_share_has_changed() {
    let share = TimeShare::default();
    share.stepped(at(0), at(10), 10);
    assert_eq!(share.wait(at(10)), Duration::from_millis(990));
    share.at_once(at(20));
    assert!(share.has_come(at(20)));
    assert_eq!(share.wait(at(20)), Duration::ZERO);
}
