use super::*;

fn host(number: usize) -> HostNqn {
    HostNqn::new(&format!("nqn.2014-08.org.example:{number:03}")).unwrap()
}

fn one_read(bytes: u64) -> HostCounts {
    let mut counts = HostCounts::default();
    counts.note(OpKind::Read, bytes);
    counts
}

#[test]
fn what_connections_answer_adds_up_by_kind() {
    let meter = HostMeter::default();
    meter.add(&one_read(4096));
    let mut both = one_read(512);
    both.note(OpKind::Write, 8192);
    meter.add(&both);
    let counts = meter.counts();
    assert_eq!(counts.of(OpKind::Read), Answered { commands: 2, bytes: 4608 });
    assert_eq!(counts.of(OpKind::Write), Answered { commands: 1, bytes: 8192 });
    assert_eq!(counts.of(OpKind::Trim), Answered::default());
}

#[test]
fn a_host_that_comes_back_goes_on_where_it_was() {
    let mut meters = HostMeters::default();
    meters.connected(&host(1)).add(&one_read(1));
    meters.gone(&host(1));
    meters.connected(&host(1)).add(&one_read(1));
    assert_eq!(meters.counts()[0].1.of(OpKind::Read).commands, 2);
}

#[test]
fn of_hosts_that_have_gone_the_last_ones_are_remembered_and_no_more() {
    let mut meters = HostMeters::default();
    meters.connected(&host(0));
    for number in 1..=GONE_HOSTS_MAX + 2 {
        meters.connected(&host(number));
        meters.gone(&host(number));
    }
    let known: Vec<HostNqn> = meters.counts().into_iter().map(|(nqn, _)| nqn).collect();
    assert_eq!(known.len(), 1 + GONE_HOSTS_MAX);
    assert!(known.contains(&host(0)), "it is connected");
    assert!(!known.contains(&host(2)) && known.contains(&host(3)));
}
