use super::*;

const SLOW: Ended = Ended { all: 800, before: 800, uncounted: 200 };
const SETTLED: Ended = Ended { all: 800, before: 300, uncounted: 10 };
const FAST: Ended = Ended { all: 80_000_000, before: 10, uncounted: 0 };
const NONE: Ended = Ended { all: 0, before: 0, uncounted: 0 };

fn after(epochs: &mut Epochs, count: usize, ended: &[Ended]) -> Duration {
    (0..count).for_each(|_| epochs.next(Nanos(0), ended));
    epochs.length
}

#[test]
fn an_epoch_is_as_long_as_the_slowest_of_those_who_want_much_needs() {
    let mut epochs = Epochs::default();
    assert_eq!(after(&mut epochs, 10, &[FAST, SLOW]), EPOCH_MAX);
    assert_eq!(after(&mut epochs, 100, &[SETTLED, FAST, FAST]), EPOCH_MAX);
    // What ends does so in bursts, and nothing says nothing.
    for _ in 0..10 {
        assert_eq!(after(&mut epochs, 7, &[FAST, NONE]), EPOCH_MAX);
        assert_eq!(after(&mut epochs, 1, &[FAST, SETTLED]), EPOCH_MAX);
    }
    assert_eq!(after(&mut epochs, 100, &[NONE, NONE]), EPOCH_MAX);
    assert_eq!(after(&mut epochs, 8, &[FAST, FAST]), EPOCH_MAX / 2);
    assert_eq!(after(&mut epochs, 100, &[]), EPOCH_MIN);
}

#[test]
fn commands_that_hang_do_not_lengthen_it() {
    let mut epochs = Epochs::default();
    let mut ended = Ended::default();
    (0..100).for_each(|_| ended.add(64 << 10, 0));
    ended.add(64 << 10, 99);
    assert_eq!(after(&mut epochs, 1, &[ended]), EPOCH_MIN);
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
