use super::*;

const SOCKET: &str = "/run/ashlar/ashlar.sock";

fn said(process: Option<&Process>, asked: Asked) -> String {
    refusal(&SOCKET, process, Duration::from_secs(30), asked).to_string()
}

fn process(stat: &str) -> Process {
    Process::from_stat(77, stat)
}

#[test]
fn a_daemon_that_is_stopped_is_named_with_what_lets_it_go_on() {
    let said = said(Some(&process("77 (ashlar) T 1 77 77 0 -1")), Asked::Question);
    let expected = "the daemon at /run/ashlar/ashlar.sock, process 77 (ashlar), has not answered for 30s\n  it is \
                    stopped: kill -CONT 77 lets it go on";
    assert_eq!(said, expected);
}

#[test]
fn a_daemon_that_hangs_is_named_with_what_ends_it() {
    let said = said(Some(&process("77 (ashlar) D 1")), Asked::Question);
    assert!(said.contains("process 77 (ashlar)") && said.contains("kill -KILL 77"), "{said}");
    assert!(!said.contains("stopped") && !said.contains("may be doing"), "{said}");
}

#[test]
fn a_change_that_is_not_answered_may_be_under_way() {
    for stat in ["77 (ashlar) S 1", "77 (ashlar) T 1", ""] {
        let said = said(Some(&process(stat)), Asked::Change);
        assert!(said.contains("it may be doing what it was asked for"), "{said}");
    }
}

#[test]
fn something_else_that_listens_there_is_named() {
    let said = said(Some(&process("77 (my (odd) name) S 1")), Asked::Question);
    assert!(said.contains("process 77 (my (odd) name)") && said.contains("--socket"), "{said}");
    assert!(!said.contains("kill"), "it is not ours to end: {said}");
}

#[test]
fn a_listener_that_cannot_be_seen_is_no_reason_to_say_nothing() {
    assert!(self::said(None, Asked::Question).contains(SOCKET));
    let unknown = Process { pid: 77, name: None, is_stopped: false };
    assert_eq!(process(""), unknown);
    assert!(self::said(Some(&unknown), Asked::Question).contains("process 77, has not"));
}
