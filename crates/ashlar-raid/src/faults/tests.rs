use super::*;

fn at(seconds: u64) -> Nanos {
    Nanos(seconds * 1_000_000_000)
}

fn threshold(faults: u32) -> NonZeroU32 {
    NonZeroU32::new(faults).expect("not zero")
}

#[test]
fn faults_close_together_become_too_many_once() {
    let faults = Faults::default();
    let noted = [0, 100, 200, 600].map(|seconds| faults.note(at(seconds), threshold(3)));
    assert_eq!(noted, [false, false, true, false]);
    assert!(faults.are_too_many(at(600), threshold(3)));
}

#[test]
fn faults_that_are_far_apart_are_not_too_many() {
    let faults = Faults::default();
    assert!((0..100).all(|nth| !faults.note(at(nth * 301), threshold(3))));
    assert!(!faults.are_too_many(at(99 * 301), threshold(3)));
}

/// They were remembered for ever: a drive that had them during the rebuild of another was given up
/// as soon as that had ended, hours later.
#[test]
fn faults_that_are_old_when_the_drive_could_be_given_up_are_not_too_many() {
    let faults = Faults::default();
    let note = |seconds| faults.note(at(seconds), threshold(2));
    assert_eq!([0, 500].map(note), [false, true]);
    let are_too_many = |seconds| faults.are_too_many(at(seconds), threshold(2));
    assert_eq!([600, 601, 9000].map(are_too_many), [true, false, false]);
    assert_eq!([9000, 9001].map(note), [false, true], "new ones are told of again");
}

#[test]
fn faults_that_were_forgotten_do_not_count() {
    let faults = Faults::default();
    faults.note(at(0), threshold(2));
    faults.forget();
    assert!(!faults.note(at(1), threshold(2)));
    assert!(faults.note(at(2), threshold(2)));
    faults.forget();
    assert!(!faults.are_too_many(at(2), threshold(2)));
}
