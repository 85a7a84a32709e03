use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ashlar_volume::HostNqn;

use super::{Budget, HostBudgets, Reservation};

fn poll(future: std::pin::Pin<&mut impl Future<Output = Reservation>>) -> Option<Reservation> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(reservation) => Some(reservation),
        Poll::Pending => None,
    }
}

#[test]
fn bytes_come_back_when_a_reservation_is_dropped() {
    let budget = Budget::new(100);
    let taken = budget.try_reserve(60).unwrap();
    assert!(budget.try_reserve(60).is_none());
    drop(taken);
    assert_eq!(budget.free_bytes(), 100);
}

#[test]
fn a_small_one_does_not_overtake_a_large_one_that_waits() {
    let budget = Budget::new(100);
    let taken = budget.try_reserve(60).unwrap();
    let mut large = pin!(budget.reserve(80));
    assert!(poll(large.as_mut()).is_none());
    assert!(budget.try_reserve(10).is_none());
    let mut small = pin!(budget.reserve(10));
    assert!(poll(small.as_mut()).is_none());
    drop(taken);
    let large = poll(large.as_mut()).unwrap();
    let small = poll(small.as_mut()).unwrap();
    assert_eq!(budget.free_bytes(), 10);
    drop((large, small));
    assert_eq!(budget.free_bytes(), 100);
}

#[test]
fn who_stops_waiting_holds_nobody_up() {
    let budget = Budget::new(100);
    let _taken = budget.try_reserve(60).unwrap();
    {
        let mut large = pin!(budget.reserve(80));
        assert!(poll(large.as_mut()).is_none());
    }
    assert!(budget.try_reserve(40).is_some());
}

#[test]
fn a_host_has_one_budget_for_all_its_connections_and_none_when_they_are_gone() {
    let host = |name: &str| HostNqn::new(&format!("nqn.2014-08.org.example:{name}")).unwrap();
    let hosts = HostBudgets::new(100);
    let (first, second) = (hosts.of(&host("a")), hosts.of(&host("a")));
    let _taken = first.try_reserve(60).unwrap();
    assert!(second.try_reserve(60).is_none());
    assert!(hosts.of(&host("b")).try_reserve(60).is_some());
    hosts.of(&host("c"));
    assert_eq!(hosts.hosts.borrow().len(), 2, "who has left is forgotten when another comes");
}
