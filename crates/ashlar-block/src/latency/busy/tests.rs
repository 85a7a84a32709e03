use super::*;

const fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

const fn at(us: u64) -> Nanos {
    Nanos(us * 1000)
}

#[test]
fn what_overlaps_is_busy_once_and_what_lies_between_is_not() {
    let busy = BusyTime::default();
    let first = busy.begin(at(10));
    let second = busy.begin(at(12));
    first.end(at(15));
    second.end(at(20));
    busy.begin(at(100)).end(at(101));
    assert_eq!(busy.count_until(at(500)), us(11));
}

#[test]
fn what_goes_on_counts_as_far_as_it_has_come() {
    let busy = BusyTime::default();
    let one = busy.begin(at(10));
    assert_eq!((busy.count_until(at(13)), busy.count_until(at(17))), (us(3), us(7)));
    one.end(at(20));
    assert_eq!(busy.count_until(at(30)), us(10));
}

#[test]
fn a_time_that_goes_back_counts_nothing_twice() {
    let busy = BusyTime::default();
    let first = busy.begin(at(10));
    busy.count_until(at(20));
    // It came before somebody looked, and is told after that.
    let second = busy.begin(at(15));
    first.end(at(25));
    second.end(at(25));
    assert_eq!(busy.count_until(at(25)), us(15));
}

#[test]
fn one_that_is_dropped_before_its_end_is_not_busy_any_more_and_takes_nothing_away() {
    let busy = BusyTime::default();
    let one = busy.begin(at(10));
    assert_eq!(busy.count_until(at(20)), us(10));
    drop(one);
    assert_eq!(busy.under_way(), 0);
    busy.begin(at(50)).end(at(51));
    assert_eq!(busy.count_until(at(60)), us(11));
}
