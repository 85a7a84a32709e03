use super::*;

#[test]
fn who_fills_the_socket_leaves_places_for_root() {
    let places = SocketPlaces::new();
    let all: Vec<_> = std::iter::from_fn(|| places.take(false)).collect();
    assert_eq!(all.len(), SOCKET_MAX);
    let owners: Vec<_> = std::iter::from_fn(|| places.take(true)).collect();
    assert_eq!(owners.len(), SOCKET_OWNERS_MAX);
    drop(all);
    assert!(places.take(false).is_some());
}

#[tokio::test]
async fn who_comes_often_from_one_address_leaves_places_for_others() {
    let places = NetworkPlaces::new();
    let address = |last| IpAddr::from([10, 0, 0, last]);
    let mut taken = Vec::new();
    while let Some(place) = places.give(places.next().await, address(1)) {
        taken.push(place);
    }
    assert_eq!(taken.len(), OF_ADDRESS_MAX);
    assert!(places.give(places.next().await, address(2)).is_some());
    drop(taken);
    assert!(places.by_address().is_empty());
    assert_eq!(places.all.available_permits(), NETWORK_MAX);
}

#[test]
fn all_addresses_of_a_network_of_ipv6_are_one_and_mapped_ones_are_those_of_ipv4() {
    let network = |text: &str| network_of(text.parse().unwrap());
    assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
    assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
    assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
}
