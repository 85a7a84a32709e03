use super::*;

fn host(number: usize) -> HostNqn {
    HostNqn::new(&format!("nqn.2014-08.org.example:{number:03}")).unwrap()
}

#[test]
fn each_connect_and_disconnect_is_counted_by_host_until_it_is_taken() {
    let mut visits = Visits::default();
    for _ in 0..3 {
        visits.connected(&host(1));
        visits.disconnected(&host(1));
    }
    visits.connected(&host(2));
    let taken = visits.take();
    let expected = [(host(1), 3, 3), (host(2), 1, 0)];
    let expected =
        expected.map(|(nqn, connects, disconnects)| HostVisits { nqn, connects, disconnects });
    assert_eq!(taken, expected);
    assert!(visits.take().is_empty());
    visits.disconnected(&host(2));
    assert_eq!(visits.take(), [HostVisits { nqn: host(2), connects: 0, disconnects: 1 }]);
    assert_eq!(visits.totals(), VisitTotals { connects: 4, disconnects: 4 });
}

#[test]
fn hosts_beyond_the_bound_are_counted_in_the_totals_alone() {
    let mut visits = Visits::default();
    (0..1000).for_each(|number| visits.connected(&host(number)));
    visits.disconnected(&host(0));
    let taken = visits.take();
    assert_eq!(taken.len(), VISITING_HOSTS_MAX);
    assert_eq!(taken[0].disconnects, 1, "who is counted by name stays so");
    assert_eq!(visits.totals(), VisitTotals { connects: 1000, disconnects: 1 });
}
