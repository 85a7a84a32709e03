use super::*;

#[test]
fn a_waker_carries_reactor_task_and_generation_to_their_last_bit() {
    let id = ReactorId(REACTORS_MAX as u16 - 1);
    let key = TaskKey {
        index: (1 << TaskKey::INDEX_BITS) - 1,
        generation: (1 << TaskKey::GENERATION_BITS) - 1,
    };
    assert_eq!(unpack(pack(id, key)), (id, key));
    let other = (ReactorId(1), TaskKey { index: 2, generation: 3 });
    assert_eq!(unpack(pack(other.0, other.1)), other);
}

#[test]
fn wakers_of_one_task_are_known_to_be_the_same() {
    let key = TaskKey { index: 5, generation: 9 };
    assert!(waker(ReactorId(3), key).will_wake(&waker(ReactorId(3), key)));
    assert!(!waker(ReactorId(3), key).will_wake(&waker(ReactorId(4), key)));
}

#[test]
fn waking_a_reactor_that_is_gone_does_nothing() {
    waker(ReactorId(REACTORS_MAX as u16 - 1), TaskKey { index: 0, generation: 0 }).wake();
}
