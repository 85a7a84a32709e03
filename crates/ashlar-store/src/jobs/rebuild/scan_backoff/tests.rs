use super::*;

const LOST: [DriveId; 1] = [DriveId(7)];
const HOMES: [DriveId; 2] = [DriveId(1), DriveId(2)];
const LATER: Nanos = Nanos(READY_POLL.as_nanos() as u64);

fn backoff_after(waits: bool) -> ScanBackoff {
    let backoff = ScanBackoff::default();
    assert!(backoff.is_due(&LOST, &HOMES, Nanos(0)));
    backoff.in_vain(&LOST, &HOMES, Nanos(0), waits, 0);
    backoff
}

#[test]
fn after_a_look_in_vain_the_next_is_later() {
    let backoff = backoff_after(false);
    assert!(!backoff.is_due(&LOST, &HOMES, Nanos(LATER.0 - 1)));
    assert!(backoff.is_due(&LOST, &HOMES, LATER));
}

#[test]
fn another_loss_or_another_drive_is_looked_at_at_once() {
    let backoff = backoff_after(false);
    assert!(backoff.is_due(&[LOST[0], DriveId(8)], &HOMES, Nanos(1)));
    assert!(backoff.is_due(&LOST, &[HOMES[0], HOMES[1], DriveId(3)], Nanos(1)));
    backoff.at_once(Nanos(1));
    assert!(backoff.is_due(&LOST, &HOMES, Nanos(1)));
}

#[test]
fn somebody_comes_back_for_what_is_not_ready_and_for_a_look_that_was_put_off() {
    assert_eq!(backoff_after(true).wait(Nanos(0)), Some(READY_POLL));
    let backoff = backoff_after(false);
    assert_eq!(backoff.wait(Nanos(0)), None, "nothing is left that could become ready");
    backoff.is_due(&LOST, &HOMES, Nanos(LATER.0 / 2));
    assert_eq!(backoff.wait(Nanos(LATER.0 / 2)), Some(READY_POLL / 2));
    assert!(backoff.last_was_in_vain(LATER), "it has not been yet");
    assert_eq!(backoff.wait(LATER), Some(Duration::ZERO));
}
