use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use ashlar_volume::HostNqn;

use super::{Budget, HostBudgets, PayloadMemory};

fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(taken) => Some(taken),
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

#[test]
fn payload_is_taken_from_all_budgets_or_from_none_and_given_back_to_all() {
    let (host, reactor) = (Budget::new(100), Budget::new(150));
    let memory = PayloadMemory::new(120, reactor.clone());
    let before_connect = memory.try_take(10).unwrap();
    memory.belongs_to(host.clone());
    let at_once = memory.try_take(60).unwrap();
    assert!(memory.try_take(50).is_none(), "the host has 40 left");
    let mut later = pin!(memory.take(50));
    assert!(poll(later.as_mut()).is_none());
    assert!(memory.try_take(10).is_none(), "somebody waits");
    drop(at_once);
    let later = poll(later).unwrap();
    assert_eq!((host.free_bytes(), reactor.free_bytes()), (50, 90));
    drop((before_connect, later));
    assert_eq!((host.free_bytes(), reactor.free_bytes()), (100, 150));
    assert!(memory.try_take(100).is_some());
}

struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn who_waits_for_memory_is_noted_once_and_forgotten_when_it_stops() {
    let budget = Budget::new(100);
    let _taken = budget.try_reserve(60).unwrap();
    let task = Arc::new(Task);
    let waker = Waker::from(task.clone());
    for _ in 0..1000 {
        let mut reserve = Box::pin(budget.reserve(80));
        for _ in 0..10 {
            assert!(reserve.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(Arc::strong_count(&task), 3, "the task, its waker, and one more");
    }
    assert_eq!(Arc::strong_count(&task), 2);
}
