use super::*;
use crate::log::Entry;
use crate::types::Happening;

fn event(seq: u64, time: &str, pool: Option<&str>, severity: Severity) -> Event {
    let happening = Happening::new(severity, EventKind::PoolStateEntered, "it");
    let about = Happening { pool: pool.map(str::to_owned), ..happening };
    Event::new(seq, time.to_owned(), about)
}

fn found(query: EventQuery) -> Vec<u64> {
    let all = [
        event(1, "2026-01-01T00:00:00.000Z", None, Severity::Info),
        event(2, "2026-01-01T00:00:01.500Z", Some("tank"), Severity::Error),
        event(3, "2026-01-02T00:00:00.000Z", Some("dozer"), Severity::Warning),
    ];
    let wanted = query.wanted().expect("it is understood");
    wanted.of(all).iter().map(|event| event.seq).collect()
}

#[test]
fn events_are_found_by_what_they_are_about_how_bad_and_when() {
    let text = |text: &str| Some(text.to_owned());
    let any = EventQuery::default;
    assert_eq!(found(any()), [1, 2, 3]);
    assert_eq!(found(EventQuery { severity: Severity::Warning, ..any() }), [2, 3]);
    assert_eq!(found(EventQuery { pool: text("tank"), ..any() }), [2]);
    assert!(found(EventQuery { kind: text("pool_closed,drive_hot"), ..any() }).is_empty());
    assert_eq!(
        found(EventQuery { kind: text("pool_closed,pool_state_entered"), ..any() }),
        [1, 2, 3]
    );
    let since = text("2026-01-01T00:00:01Z");
    assert_eq!(found(EventQuery { since: since.clone(), ..any() }), [2, 3]);
    assert_eq!(found(EventQuery { since, until: text("2026-01-02T00:00:00Z"), ..any() }), [2]);
    assert_eq!(found(EventQuery { after: Some(1), limit: Some(1), ..any() }), [2]);
    assert_eq!(found(EventQuery { limit: Some(1), ..any() }), [3]);
}

#[test]
fn what_no_event_can_be_is_refused_by_name() {
    let text = |text: &str| Some(text.to_owned());
    let refused = |query: EventQuery| query.wanted().err().expect("it is refused").detail;
    let any = EventQuery::default;
    assert!(refused(EventQuery { kind: text("explosion"), ..any() }).contains("'explosion'"));
    assert!(refused(EventQuery { since: text("today"), ..any() }).contains("since=today"));
    assert!(refused(EventQuery { limit: Some(0), ..any() }).contains("limit=0"));
    assert!(refused(EventQuery { limit: Some(10_001), ..any() }).contains("limit=10001"));
}

#[test]
fn a_host_is_found_in_events_of_many_hosts_too() {
    let query = EventQuery { host: Some("nqn.b".to_owned()), ..EventQuery::default() };
    let filter = query.wanted().expect("it is understood").filter;
    let hosts = |names: &[&str]| {
        let hosts = names.iter().map(|name| (*name).to_owned()).collect();
        let what = Happening { hosts, ..Happening::new(Severity::Info, EventKind::Hosts, "many") };
        Event { seq: 1, time: "2026-01-01T00:00:00.000Z".to_owned(), what }
    };
    assert!(filter(&hosts(&["nqn.a", "nqn.b"])) && !filter(&hosts(&["nqn.a"])));
}
