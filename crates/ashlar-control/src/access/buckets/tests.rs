use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn address(last: u32) -> IpAddr {
    IpAddr::V4(std::net::Ipv4Addr::from(0x0a00_0000 | last))
}

fn taken(buckets: &Buckets, from: IpAddr, now: Instant) -> usize {
    (0..100).filter(|_| buckets.take(from, now)).count()
}

#[test]
fn an_address_may_do_something_in_a_burst_and_then_as_often_as_its_bucket_is_filled() {
    let (buckets, now) = (Buckets::new(5, SECOND), Instant::now());
    assert_eq!(taken(&buckets, address(1), now), 5);
    assert!(!buckets.has_some(address(1), now) && buckets.has_some(address(2), now));
    assert_eq!(taken(&buckets, address(1), now + SECOND * 2), 2);
    assert_eq!(taken(&buckets, address(1), now + SECOND * 100), 5, "it holds no more");
}

#[test]
fn a_network_of_ipv6_is_one_address() {
    let (buckets, now) = (Buckets::new(5, SECOND), Instant::now());
    let of = |last| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]);
    assert_eq!((1..=100).filter(|last| buckets.take(of(*last), now)).count(), 5);
}

#[test]
fn more_addresses_than_are_known_share_a_bucket_until_there_is_room() {
    let (buckets, now) = (Buckets::new(5, SECOND), Instant::now());
    (0..ADDRESSES_MAX as u32).for_each(|last| assert!(buckets.take(address(last), now)));
    assert_eq!((10_000..10_100).filter(|last| buckets.take(address(*last), now)).count(), 5);
    assert!(buckets.full_at.lock().unwrap().len() <= ADDRESSES_MAX + 1);
    assert!(buckets.take(address(20_000), now + SECOND));
    assert_eq!(
        buckets.full_at.lock().unwrap().len(),
        2,
        "full ones have gone, that of others has not"
    );
}
