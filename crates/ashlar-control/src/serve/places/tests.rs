use futures_util::FutureExt;

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

fn address(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

#[tokio::test]
async fn who_comes_often_from_one_address_leaves_places_for_others() {
    let places = NetworkPlaces::new();
    let mut taken = Vec::new();
    while let Some(place) = places.take(address(1)).await {
        place.guest.is_known_now();
        taken.push(place);
    }
    assert_eq!(taken.len(), OF_ADDRESS_MAX);
    assert!(places.take(address(2)).await.is_some());
    drop(taken);
    assert!(places.guests().by_address.is_empty());
    assert_eq!(places.all.available_permits(), NETWORK_MAX);
}

#[tokio::test]
async fn who_has_shown_nothing_for_longest_makes_room_for_who_comes() {
    let places = NetworkPlaces::new();
    let mut taken = Vec::new();
    for _ in 0..OF_ADDRESS_MAX {
        taken.push(places.take(address(1)).await.expect("there is one"));
    }
    taken[0].guest.is_known_now();
    for _ in 0..3 {
        let place = places.take(address(1)).await.expect("somebody leaves");
        place.guest.is_known_now();
        taken.push(place);
    }
    for silent in &taken[1..4] {
        silent.guest.told_to_leave().await;
    }
    let stays = |place: &NetworkPlace| place.guest.told_to_leave().now_or_never().is_none();
    assert!(stays(&taken[0]) && stays(&taken[4]));
    taken.drain(1..4);
    assert_eq!(places.guests().by_address[&address(1)], OF_ADDRESS_MAX);
}

#[tokio::test]
async fn where_all_places_are_taken_one_of_another_address_makes_room_as_well() {
    let places = NetworkPlaces::new();
    let mut taken = Vec::new();
    for number in 0..NETWORK_MAX {
        let from = address((number / OF_ADDRESS_MAX) as u8);
        taken.push(places.take(from).await.expect("there is one"));
    }
    assert!(taken[0].guest.told_to_leave().now_or_never().is_none(), "nobody needs its place");
    let next = places.take(address(200));
    futures_util::pin_mut!(next);
    assert!((&mut next).now_or_never().is_none(), "nobody has left yet");
    taken[0].guest.told_to_leave().await;
    taken.remove(0);
    taken.push(next.await.expect("one has left"));
    taken.iter().for_each(|place| place.guest.is_known_now());
    assert!(places.take(address(201)).await.is_none(), "all are known");
}

#[test]
fn all_addresses_of_a_network_of_ipv6_are_one_and_mapped_ones_are_those_of_ipv4() {
    let network = |text: &str| network_of(text.parse().unwrap());
    assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
    assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
    assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
}
