use super::*;

fn at(microseconds: u64) -> Nanos {
    Nanos(microseconds * 1000)
}

#[test]
fn operations_wait_for_those_before_them_and_for_none_on_an_idle_drive() {
    let mut service = OneAtATime::new(Duration::from_micros(50), 100_000_000);
    let mut take = |microseconds, bytes| service.take(at(microseconds), DeviceOp::Read, 0, bytes);
    assert_eq!(take(0, 0), Duration::from_micros(50));
    assert_eq!(take(20, 10_000), Duration::from_micros(30 + 50 + 100));
    assert_eq!(take(1000, 0), Duration::from_micros(50));
}
