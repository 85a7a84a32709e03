use super::*;

fn at(seconds: u64) -> Nanos {
    Nanos(seconds * 1_000_000_000)
}

#[test]
fn faults_close_together_are_too_many() {
    let faults = Faults::default();
    let noted = [0, 100, 200, 600].map(|seconds| faults.note(at(seconds), 3));
    assert_eq!(noted, [false, false, true, true]);
}

#[test]
fn faults_that_are_far_apart_are_not() {
    let faults = Faults::default();
    assert!((0..100).all(|nth| !faults.note(at(nth * 301), 3)));
}

#[test]
fn faults_that_were_forgotten_do_not_count() {
    let faults = Faults::default();
    faults.note(at(0), 2);
    faults.forget();
    assert!(!faults.note(at(1), 2));
    assert!(faults.note(at(2), 2));
}
