use super::*;

fn host(number: usize) -> HostNqn {
    HostNqn::new(&format!("nqn.2014-08.org.example:{number:03}")).unwrap()
}

fn visit(number: usize) -> Visit {
    Visit {
        at: SystemTime::UNIX_EPOCH,
        nqn: host(number),
        address: "10.0.0.1:4420".parse().unwrap(),
        controller_id: 1,
        controllers: 1,
        end: None,
    }
}

#[test]
fn controllers_are_counted_by_host_and_in_all() {
    let mut visitors = Visitors::default();
    assert_eq!((visitors.connected(&host(1)), visitors.connected(&host(1))), (1, 2));
    assert_eq!(visitors.connected(&host(2)), 1);
    assert_eq!((visitors.disconnected(&host(1)), visitors.disconnected(&host(1))), (1, 0));
    assert!(visitors.controllers.contains_key(&host(2)) && visitors.controllers.len() == 1);
    assert_eq!(visitors.totals(), VisitTotals { connects: 3, disconnects: 2 });
}

#[test]
fn what_the_queue_has_no_room_for_is_counted_and_who_puts_does_not_wait() {
    let queue = VisitQueue::default();
    (0..VISITS_QUEUED_MAX + 7).for_each(|number| queue.put(visit(number % 1000)));
    let taken = queue.take();
    assert_eq!((taken.visits.len(), taken.lost), (VISITS_QUEUED_MAX, 7));
    assert_eq!((taken.visits[0].nqn.clone(), taken.visits[1].nqn.clone()), (host(0), host(1)));
    assert_eq!(queue.take(), TakenVisits::default());
    queue.put(visit(3));
    assert_eq!(queue.take(), TakenVisits { visits: vec![visit(3)], lost: 0 });
}

#[test]
fn why_a_controller_has_ended_is_what_came_first_and_a_closed_connection_tells_least() {
    let reason = VisitEndReason::of;
    let closed = EndReason::PeerClosed;
    assert_eq!(reason(closed, false, None), VisitEndReason::ConnectionLost);
    assert_eq!(reason(closed, true, None), VisitEndReason::HostDisconnected);
    let digest = Some(EndReason::DigestError);
    assert_eq!(reason(closed, false, digest), VisitEndReason::DigestError);
    let silent = EndReason::KeepAliveExpired;
    assert_eq!(reason(silent, false, digest), VisitEndReason::KeepAliveExpired);
    assert_eq!(reason(EndReason::Shutdown, true, None), VisitEndReason::DaemonStopping);
}
