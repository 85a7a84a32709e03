use super::*;

const LOST: HostEnd = HostEnd {
    reason: "connection_lost",
    text: "the connection was lost",
    is_orderly: false,
    lasted: Duration::from_millis(500),
};

fn host(number: usize) -> String {
    format!("nqn.2014-08.org.example:{number:03}")
}

fn visit(number: usize, controllers: usize, end: Option<HostEnd>) -> HostVisit {
    HostVisit {
        at: SystemTime::UNIX_EPOCH,
        nqn: host(number),
        address: "10.0.0.1:4420".to_owned(),
        controller_id: 7,
        controllers,
        end,
    }
}

fn taken(visits: Vec<HostVisit>) -> HostVisits {
    HostVisits { visits, lost: 0 }
}

fn kinds(told: &[Told]) -> Vec<&str> {
    told.iter().map(|(_, happening)| happening.kind.as_str()).collect()
}

/// Each host comes and is lost.
fn storm(hosts: usize) -> HostVisits {
    let both = |number| [visit(number, 1, None), visit(number, 0, Some(LOST))];
    taken((0..hosts).flat_map(both).collect())
}

#[test]
fn a_host_that_comes_and_goes_is_told_of_with_address_controller_and_reason() {
    let mut visits = Visits::default();
    let told = visits.tell(Instant::now(), storm(1));
    assert_eq!(kinds(&told), ["host_connected", "host_disconnected"]);
    let (at, gone) = &told[1];
    assert_eq!(*at, Some(SystemTime::UNIX_EPOCH));
    assert_eq!(gone.severity, Severity::Warning);
    assert_eq!(gone.host, Some(host(0)));
    assert_eq!(gone.address.as_deref(), Some("10.0.0.1:4420"));
    assert_eq!(gone.controller_id, Some(7));
    assert_eq!(gone.reason.as_deref(), Some("connection_lost"));
    assert!(gone.message.ends_with("for 500 ms: the connection was lost"), "{}", gone.message);
    assert_eq!(visits.due(Instant::now()), None);
}

#[test]
fn further_paths_of_a_host_are_told_of_as_such() {
    let orderly = HostEnd { reason: "host_disconnected", is_orderly: true, ..LOST };
    let all = vec![visit(0, 1, None), visit(0, 2, None), visit(0, 1, Some(orderly))];
    let told = Visits::default().tell(Instant::now(), taken(all));
    assert_eq!(kinds(&told), ["host_connected", "host_path_connected", "host_path_disconnected"]);
    assert_eq!(told[2].1.severity, Severity::Info);
}

#[test]
fn a_host_that_comes_and_goes_without_an_end_is_told_of_a_few_times_and_then_once() {
    let mut visits = Visits::default();
    let start = Instant::now();
    let all = (0..50).flat_map(|_| [visit(3, 1, None), visit(3, 0, Some(LOST))]).collect();
    assert_eq!(visits.tell(start, taken(all)).len(), EVENTS_OF_HOST_MAX as usize);
    // Others are told of meanwhile.
    assert_eq!(visits.tell(start, taken(vec![visit(4, 1, None)])).len(), 1);
    assert_eq!(visits.due(start), Some(INTERVAL));
    let summary = visits.tell(start + INTERVAL, HostVisits::default());
    assert_eq!(kinds(&summary), ["host_reconnected"]);
    let message = &summary[0].1.message;
    assert!(message.contains("46 controllers more were made and 46 have ended"), "{message}");
    assert!(message.contains("the connection was lost (46 times)"), "{message}");
    assert_eq!(visits.due(start + INTERVAL), None);
}

#[test]
fn a_storm_of_500_hosts_is_told_of_in_a_few_events_that_name_them_all() {
    let mut visits = Visits::default();
    let start = Instant::now();
    let first = visits.tell(start, storm(500));
    assert_eq!(first.len(), EVENTS_MAX as usize);
    let summary = visits.tell(start + INTERVAL, HostVisits::default());
    assert!(summary.len() <= 500_usize.div_ceil(HOSTS_NAMED_MAX), "{}", summary.len());
    assert!(kinds(&summary).iter().all(|kind| *kind == "hosts"));
    assert!(summary[0].1.message.starts_with("of 468 hosts 468 controllers more were made"));
    let said: String = first.iter().chain(&summary).map(|(_, it)| it.message.clone()).collect();
    assert!((0..500).all(|number| said.contains(&host(number))));
}

#[test]
fn more_hosts_than_are_counted_by_name_are_counted_together() {
    let mut visits = Visits::default();
    let start = Instant::now();
    visits.tell(start, storm(HOSTS_MAX + 100));
    assert!(visits.hosts.len() <= HOSTS_MAX);
    let summary = visits.tell(start + INTERVAL, HostVisits::default());
    assert!(summary[0].1.message.contains("; 200 times that was another host"));
}

#[test]
fn what_the_node_could_not_keep_is_told_of() {
    let told = Visits::default().tell(Instant::now(), HostVisits { visits: Vec::new(), lost: 12 });
    assert_eq!(kinds(&told), ["host_visits_lost"]);
    assert!(told[0].1.message.starts_with("12 connects"), "{}", told[0].1.message);
}

/// The bytes that events take in the log, about.
fn bytes(told: &[Told]) -> usize {
    let of = |it: &Happening| serde_json::to_string(it).expect("plain data").len();
    told.iter().map(|(_, happening)| of(happening)).sum()
}

#[test]
fn hosts_that_come_without_an_end_take_a_small_part_of_the_log_in_an_hour() {
    let (mut visits, start, mut all) = (Visits::default(), Instant::now(), 0);
    let long = |number: usize| format!("{}{}", host(number), "y".repeat(190));
    for second in 0..3600 {
        let named = |number| HostVisit { nqn: long(number), ..visit(number, 1, None) };
        let come = (0..40).map(|at| named((second as usize * 40 + at) % HOSTS_MAX));
        let now = start + Duration::from_secs(second);
        all += bytes(&visits.tell(now, taken(come.collect())));
    }
    assert!(all < 2 << 20, "{all} bytes of 32 MiB");
    // Somebody who comes when that is long over is told of as ever.
    let end = start + Duration::from_secs(3600) + visits.interval();
    visits.tell(end, HostVisits::default());
    assert_eq!(visits.tell(end + QUIET, storm(500)).len(), EVENTS_MAX as usize);
}

#[test]
fn a_host_that_flaps_for_an_hour_takes_little_of_the_log() {
    let (mut visits, start, mut all) = (Visits::default(), Instant::now(), 0);
    for second in 0..3600 {
        let told = visits.tell(start + Duration::from_secs(second), storm(1));
        all += bytes(&told);
    }
    assert!(all < 128 << 10, "{all} bytes");
}
