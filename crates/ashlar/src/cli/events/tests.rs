use super::*;

#[test]
fn lines_that_come_in_pieces_are_put_together() {
    let mut lines = Lines::default();
    let mut add = |data: &'static [u8]| lines.add(&Bytes::from_static(data)).unwrap();
    assert!(add(b"id: 1\ndata: {\"a").len() == 1 && add(b"\":").is_empty());
    assert_eq!(add(b"2}\n\n: \n"), ["data: {\"a\":2}", "", ": "]);
}

#[test]
fn what_has_no_end_of_a_line_is_refused() {
    let mut lines = Lines::default();
    let endless = Bytes::from(vec![b'x'; EVENT_BYTES_MAX]);
    assert!(lines.add(&endless).is_ok());
    assert!(lines.add(&endless).is_err());
}

#[test]
fn events_are_missed_where_numbers_are_and_not_where_the_daemon_was_started() {
    let event = |seq, kind| {
        let severity = ashlar_control::types::Severity::Info;
        let what = ashlar_control::types::Happening::new(severity, kind, "it");
        Event { seq, time: String::new(), what }
    };
    let mut last = None;
    let mut missed = |seq, kind| missed(&mut last, &event(seq, kind));
    assert_eq!(missed(100, EventKind::Change), None);
    assert_eq!(missed(101, EventKind::Change), None);
    assert_eq!(missed(105, EventKind::Change), Some(3));
    assert_eq!(missed(5_000_000, EventKind::DaemonStarted), None);
}
