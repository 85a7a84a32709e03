use super::*;

fn address(last: u32) -> IpAddr {
    IpAddr::V4(std::net::Ipv4Addr::from(0x0a00_0000 | last))
}

#[test]
fn whoever_fails_too_often_waits_and_nobody_else_does() {
    let (attempts, begun) = (Attempts::default(), Instant::now());
    for _ in 0..FAILURES_MAX {
        assert!(attempts.may_try(address(1), begun));
        let is_last = attempts.has_failed(address(1), begun);
        assert_eq!(is_last, !attempts.may_try(address(1), begun), "it is told once");
    }
    assert!(!attempts.has_failed(address(1), begun));
    assert!(!attempts.may_try(address(1), begun) && attempts.may_try(address(2), begun));
    let later = begun + INTERVAL;
    assert!(attempts.may_try(address(1), later));
    attempts.has_failed(address(1), later);
    assert!(attempts.may_try(address(1), later), "it counts anew");
}

#[test]
fn a_network_of_ipv6_fails_as_one() {
    let (attempts, begun) = (Attempts::default(), Instant::now());
    let of = |last| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]);
    (0..FAILURES_MAX as u16).for_each(|last| _ = attempts.has_failed(of(last), begun));
    assert!(!attempts.may_try(of(0xffff), begun));
    assert!(attempts.may_try(IpAddr::from([0x2001, 0xdb8, 0, 2, 0, 0, 0, 1]), begun));
}

#[test]
fn many_addresses_take_no_more_than_their_room() {
    let (attempts, begun) = (Attempts::default(), Instant::now());
    (0..2 * ADDRESSES_MAX as u32).for_each(|last| _ = attempts.has_failed(address(last), begun));
    assert_eq!(attempts.0.lock().unwrap().len(), ADDRESSES_MAX);
    assert!(!attempts.may_try(address(9_999_999), begun), "it may be another one of theirs");
    assert!(attempts.may_try(address(1), begun), "it is known, and has failed once");
    assert!(attempts.may_try(address(9_999_999), begun + INTERVAL));
    attempts.has_failed(address(9_999_999), begun + INTERVAL);
    assert_eq!(attempts.0.lock().unwrap().len(), 1, "old ones make room");
}
