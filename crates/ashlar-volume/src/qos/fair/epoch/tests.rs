use super::*;

#[test]
fn an_epoch_grows_while_much_ends_that_counts_no_longer_and_shrinks_when_all_ends_in_it() {
    let mut length = EPOCH_MIN;
    let slow = Ended { all: 800, before: 800, uncounted: 200 };
    for _ in 0..10 {
        length = next_length(length, slow);
    }
    assert_eq!(length, EPOCH_MAX);
    let settled = Ended { all: 800, before: 300, uncounted: 10 };
    assert_eq!(next_length(length, settled), length);
    let fast = Ended { all: 800, before: 10, uncounted: 0 };
    for _ in 0..10 {
        length = next_length(length, fast);
    }
    assert_eq!(length, EPOCH_MIN);
}

#[test]
fn commands_that_hang_do_not_lengthen_it() {
    let mut epochs = Epochs::default();
    let hung = epochs.number();
    for epoch in 1..100 {
        assert!(epochs.has_ended(Nanos(epoch * EPOCH_MIN.as_nanos() as u64)));
        let begun = epochs.number();
        (0..100).for_each(|_| assert_eq!(epochs.ends(64 << 10, begun), 0));
    }
    assert_eq!(epochs.ends(64 << 10, hung), 99);
    assert_eq!(epochs.length, EPOCH_MIN);
}

#[test]
fn a_command_counts_for_its_epoch_and_the_next() {
    let mut counted = Counted::default();
    counted.begin(10);
    counted.age();
    counted.begin(5);
    assert_eq!(counted.sum(), 15);
    counted.end(10, 1);
    counted.age();
    counted.age();
    counted.end(5, 2);
    assert_eq!(counted.sum(), 0);
}
