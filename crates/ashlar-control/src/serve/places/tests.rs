use super::*;

#[test]
fn who_fills_the_socket_leaves_places_for_administrators() {
    let places = SocketPlaces::new();
    let all: Vec<_> = std::iter::from_fn(|| places.take(false)).collect();
    assert_eq!(all.len(), SOCKET_MAX);
    let admins: Vec<_> = std::iter::from_fn(|| places.take(true)).collect();
    assert_eq!(admins.len(), SOCKET_ADMINS_MAX);
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
