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
    busy.begin(at(10));
    busy.begin(at(12));
    busy.end(at(15));
    busy.end(at(20));
    busy.begin(at(100));
    busy.end(at(101));
    assert_eq!(busy.until(at(500)), us(11));
}

#[test]
fn what_goes_on_counts_as_far_as_it_has_come() {
    let busy = BusyTime::default();
    busy.begin(at(10));
    assert_eq!((busy.until(at(13)), busy.until(at(17))), (us(3), us(7)));
    busy.end(at(20));
    assert_eq!(busy.until(at(30)), us(10));
}

#[test]
fn a_time_that_goes_back_counts_nothing_twice() {
    let busy = BusyTime::default();
    busy.begin(at(10));
    busy.until(at(20));
    // It came before somebody looked, and is told after that.
    busy.begin(at(15));
    busy.end(at(25));
    busy.end(at(25));
    assert_eq!(busy.until(at(25)), us(15));
}

#[test]
fn who_leaves_without_a_time_takes_nothing_away() {
    let busy = BusyTime::default();
    busy.begin(at(10));
    assert_eq!(busy.until(at(20)), us(10));
    busy.leave();
    assert_eq!(busy.under_way(), 0);
    busy.begin(at(50));
    busy.end(at(51));
    assert_eq!(busy.until(at(60)), us(11));
}
