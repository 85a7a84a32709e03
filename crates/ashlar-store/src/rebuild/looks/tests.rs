use super::*;

const LOST: [DriveId; 1] = [DriveId(7)];
const HOMES: [DriveId; 2] = [DriveId(1), DriveId(2)];
const LATER: Nanos = Nanos(READY_POLL.as_nanos() as u64);

fn looks_after(waits: bool) -> Looks {
    let looks = Looks::default();
    assert!(looks.is_due(&LOST, &HOMES, Nanos(0)));
    looks.in_vain(&LOST, &HOMES, Nanos(0), waits);
    looks
}

#[test]
fn after_a_look_in_vain_the_next_is_later() {
    let looks = looks_after(false);
    assert!(!looks.is_due(&LOST, &HOMES, Nanos(LATER.0 - 1)));
    assert!(looks.is_due(&LOST, &HOMES, LATER));
}

#[test]
fn another_loss_or_another_drive_is_looked_at_at_once() {
    let looks = looks_after(false);
    assert!(looks.is_due(&[LOST[0], DriveId(8)], &HOMES, Nanos(1)));
    assert!(looks.is_due(&LOST, &[HOMES[0], HOMES[1], DriveId(3)], Nanos(1)));
    looks.at_once(Nanos(1));
    assert!(looks.is_due(&LOST, &HOMES, Nanos(1)));
}

#[test]
fn somebody_comes_back_for_what_is_not_ready_and_for_a_look_that_was_put_off() {
    assert_eq!(looks_after(true).wait(Nanos(0)), Some(READY_POLL));
    let looks = looks_after(false);
    assert_eq!(looks.wait(Nanos(0)), None, "nothing is left that could become ready");
    looks.is_due(&LOST, &HOMES, Nanos(LATER.0 / 2));
    assert_eq!(looks.wait(Nanos(LATER.0 / 2)), Some(READY_POLL / 2));
    assert!(looks.last_was_in_vain(LATER), "it has not been yet");
    assert_eq!(looks.wait(LATER), Some(Duration::ZERO));
}
