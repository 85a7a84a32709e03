use super::*;

const HOST: &str = "nqn.2014-08.org.example:host";

fn host(nqn: &str, kind: &str) -> Host {
    Host {
        nqn: nqn.to_owned(),
        host_id: String::new(),
        address: String::new(),
        io_queues: 1,
        connected_at: String::new(),
        controller_id: 1,
        kind: kind.to_owned(),
    }
}

fn connected(is_connected: bool, (connects, disconnects): (u64, u64)) -> Seen {
    let hosts = if is_connected { vec![host(HOST, "io")] } else { Vec::new() };
    let visit = HostVisits { nqn: HOST.to_owned(), connects, disconnects };
    Seen { hosts, visits: vec![visit], ..Seen::default() }
}

fn told(before: &Seen, now: &Seen) -> Vec<String> {
    let tell = |happening: Happening| format!("{}: {}", happening.kind, happening.message);
    happenings(before, now).into_iter().map(tell).collect()
}

#[test]
fn a_host_that_comes_and_goes_between_two_looks_is_told_of() {
    let looks = |visits| told(&connected(false, (0, 0)), &connected(false, visits));
    let gone = format!("host_disconnected: host {HOST} has no connection any more");
    let once = format!("host_connected: host {HOST} was connected for a moment");
    assert_eq!(looks((1, 1)), [once, gone.clone()]);
    let often = format!("host_connected: host {HOST} was connected 500 times, each for a moment");
    assert_eq!(looks((500, 500)), [often, gone]);
}

#[test]
fn a_host_that_comes_just_after_the_look_is_told_of_once_by_the_next() {
    // Counted by this look, and seen by the next.
    assert!(told(&connected(false, (0, 0)), &connected(false, (1, 0))).is_empty());
    let come = told(&connected(false, (1, 0)), &connected(true, (0, 0)));
    assert_eq!(come, [format!("host_connected: host {HOST} is connected")]);
    // The same, and gone by then.
    assert_eq!(told(&connected(false, (1, 0)), &connected(false, (0, 1))).len(), 2);
}

#[test]
fn a_host_that_loses_a_path_and_is_back_is_told_of() {
    let message = format!(
        "host_reconnected: host {HOST} has lost 2 of its controllers meanwhile, and made 1"
    );
    assert_eq!(told(&connected(true, (1, 0)), &connected(true, (1, 2))), [message]);
}

#[test]
fn a_host_that_was_there_before_or_is_there_now_is_told_of_once() {
    assert_eq!(told(&connected(true, (1, 0)), &connected(false, (3, 4))).len(), 1);
    assert_eq!(told(&connected(false, (0, 0)), &connected(true, (4, 3))).len(), 1);
    assert!(told(&connected(true, (1, 0)), &connected(true, (0, 0))).is_empty());
}

#[test]
fn hosts_of_the_discovery_service_are_not_told_of() {
    let discovering = Seen { hosts: vec![host(HOST, "discovery")], ..Seen::default() };
    assert!(told(&Seen::default(), &discovering).is_empty());
}

#[test]
fn a_name_that_two_hosts_use_is_told_of_once_with_both() {
    let shared = |nqn: &str| {
        let host = |number| (format!("id-{number}"), format!("10.0.0.{number}:4420"));
        SharedHostNqn { nqn: nqn.to_owned(), hosts: [host(1), host(2)] }
    };
    let seen = |names: &[&str]| Seen {
        shared_nqns: names.iter().map(|nqn| shared(nqn)).collect(),
        ..Seen::default()
    };
    let both = told(&seen(&["nqn.a"]), &seen(&["nqn.a", "nqn.b"]));
    assert_eq!(both.len(), 1);
    for part in
        ["host_nqn_shared: ", "nqn.b", "10.0.0.1:4420", "id-1", "10.0.0.2:4420", "id-2", "hostnqn"]
    {
        assert!(both[0].contains(part), "{both:?}");
    }
    assert!(told(&seen(&["nqn.a"]), &seen(&["nqn.a"])).is_empty());
    assert!(told(&seen(&["nqn.a"]), &seen(&[])).is_empty());
    assert_eq!(told(&seen(&[]), &seen(&["nqn.a"])).len(), 1, "again, after it was over");
}
