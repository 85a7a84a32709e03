use ashlar_block::latency::Operations;
use ashlar_control::types::{Alert, IoCounts, JobKind, Pool, PoolSpace, Severity};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

fn done(operations: u64, bytes: u64, us: u64) -> Operations {
    let counts = IoCounts {
        operations,
        transferred_bytes: bytes,
        total_us: operations * us,
        max_us: us,
        buckets: vec![[us, operations]],
    };
    Operations::from(&counts)
}

fn line(thing: Thing, name: &str, reads: u64, us: u64) -> Line {
    Line {
        thing,
        pool: "tank".to_owned(),
        name: name.to_owned(),
        is_below_pool: thing != Thing::Pool,
        kinds: [done(reads, reads * 4096, us), done(0, 0, 0), done(0, 0, 0)],
        operations_in_flight: 0,
        compression_ratio: None,
    }
}

fn seen() -> Seen {
    let space = PoolSpace { safe_to_write_bytes: 3 << 30, ..PoolSpace::default() };
    let pool = Pool {
        name: "tank".to_owned(),
        states: vec!["online".to_owned()],
        space: Some(space),
        ..Pool::default()
    };
    let closed =
        Pool { name: "gone".to_owned(), states: vec!["unavailable".to_owned()], ..Pool::default() };
    let status = Status {
        version: "1.0.0".to_owned(),
        pid: 1,
        uptime_seconds: 60,
        reactors: 1,
        subsystem_nqn: String::new(),
        serial: String::new(),
        portals: Vec::new(),
        hosts_connected: 3,
        host_connects: 0,
        host_disconnects: 0,
        warnings: Vec::new(),
        alerts: Vec::new(),
        pools: vec![pool, closed],
        volumes: Vec::new(),
    };
    let mut lines = vec![line(Thing::Pool, "tank", 3000, 100)];
    lines.extend(
        [("busy", 2000, 100), ("slow", 10, 9000), ("idle", 0, 0)]
            .map(|(name, reads, us)| line(Thing::Volume, name, reads, us)),
    );
    let report =
        Report { is_since_start: false, is_restarted: false, interval_seconds: 2.0, lines };
    Seen { status, report, hosts: Vec::new(), jobs: Vec::new() }
}

fn drawn(screen: &mut Screen) -> String {
    drawn_on(screen, 80)
}

fn drawn_on(screen: &mut Screen, columns: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, 10)).expect("a terminal");
    terminal.draw(|frame| screen.draw(frame)).expect("it draws");
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(columns));
    rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

fn press(screen: &mut Screen, code: KeyCode) -> Wish {
    screen.press(Some(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn first_names(screen: &mut Screen) -> Vec<String> {
    let text = drawn(screen);
    let rows = text.lines().skip(4).take(3);
    rows.filter_map(|row| row.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn pools_stand_with_their_rates_and_those_that_are_not_open_with_their_state() {
    let text = drawn(&mut Screen::new(seen()));
    assert!(text.contains("hosts 3  1500 op/s"), "{text}");
    assert!(text.contains("all is well") && text.contains("[1 pools]"), "{text}");
    let tank = text.lines().find(|line| line.starts_with("tank")).expect("a row");
    assert!(tank.contains("1500") && tank.contains("3GiB") && tank.ends_with("online"), "{tank}");
    let gone = text.lines().find(|line| line.starts_with("gone")).expect("a row");
    assert!(gone.ends_with("unavailable") && !gone.contains('0'), "{gone}");
}

#[test]
fn on_a_narrow_screen_columns_are_left_out_and_no_name_is_cut() {
    let mut screen = Screen::new(seen());
    press(&mut screen, KeyCode::Char('2'));
    let text = drawn_on(&mut screen, 30);
    assert!(text.contains("tank/busy ") && text.contains("tank/slow "), "{text}");
    assert!(!text.contains("QUEUE") && drawn(&mut screen).contains("QUEUE"), "{text}");
    drawn_on(&mut screen, 3);
}

#[test]
fn nothing_is_no_less_than_nothing_and_an_error_is_one_line() {
    let mut none = seen();
    none.report.lines.clear();
    let mut screen = Screen::new(none);
    assert!(drawn(&mut screen).contains("  0 op/s"));
    screen.problem = Some("no daemon answers\n  start a daemon".to_owned());
    let text = drawn(&mut screen);
    assert!(text.contains("no answer: no daemon answers\n"), "{text}");
}

#[test]
fn volumes_are_sorted_by_what_a_key_says() {
    let mut screen = Screen::new(seen());
    press(&mut screen, KeyCode::Char('2'));
    assert_eq!(first_names(&mut screen), ["tank/busy", "tank/slow", "tank/idle"]);
    press(&mut screen, KeyCode::Char('l'));
    assert_eq!(first_names(&mut screen), ["tank/slow", "tank/busy", "tank/idle"]);
    press(&mut screen, KeyCode::Char('n'));
    assert_eq!(first_names(&mut screen), ["tank/busy", "tank/idle", "tank/slow"]);
}

#[test]
fn a_long_list_scrolls_and_never_past_its_end() {
    let mut all = seen();
    all.report.lines = (0..20).map(|at| line(Thing::Volume, &format!("v{at:02}"), 0, 0)).collect();
    let mut screen = Screen::new(all);
    press(&mut screen, KeyCode::Tab);
    assert_eq!(first_names(&mut screen)[0], "tank/v00");
    press(&mut screen, KeyCode::Down);
    assert_eq!(first_names(&mut screen)[0], "tank/v01");
    press(&mut screen, KeyCode::End);
    for _ in 0..9 {
        press(&mut screen, KeyCode::PageDown);
    }
    assert!(drawn(&mut screen).contains("tank/v19"));
    assert_eq!(first_names(&mut screen)[0], "tank/v15");
    press(&mut screen, KeyCode::Home);
    assert_eq!(first_names(&mut screen)[0], "tank/v00");
}

#[test]
fn what_is_not_well_and_a_daemon_that_does_not_answer_are_said() {
    let mut ill = seen();
    let alert = |message: &str| Alert {
        severity: Severity::Error,
        code: "failed".to_owned(),
        pool: None,
        drive: None,
        message: message.to_owned(),
        hint: None,
    };
    ill.status.alerts = vec![alert("drive-1 is failed"), alert("pool 'tank' is degraded")];
    let mut screen = Screen::new(ill);
    assert!(drawn(&mut screen).contains("drive-1 is failed (and 1 more: ashlar status -x)"));
    screen.fail("no daemon answers".to_owned());
    assert!(drawn(&mut screen).contains("no answer: no daemon answers"));
    screen.show(seen());
    assert!(drawn(&mut screen).contains("all is well"));
}

#[test]
fn jobs_that_go_on_come_first() {
    let mut busy = seen();
    let job = |kind: JobKind, state: &str| Job {
        id: format!("tank/{}", kind.word()),
        kind,
        pool: "tank".to_owned(),
        pool_uuid: String::new(),
        drives: Vec::new(),
        states: vec![state.to_owned()],
        done_percent: 50.0,
        done_bytes: None,
        left_bytes: Some(1 << 30),
        eta_seconds: None,
        started_at: None,
        finished_at: None,
        problem: None,
        result: Some("nothing was wrong".to_owned()),
        can_stop: false,
    };
    busy.jobs = vec![job(JobKind::Scrub, "finished"), job(JobKind::Trim, "running")];
    let mut screen = Screen::new(busy);
    press(&mut screen, KeyCode::Char('5'));
    assert_eq!(first_names(&mut screen), ["tank/trim", "tank/scrub"]);
    let text = drawn(&mut screen);
    assert!(text.contains("1GiB left") && text.contains("nothing was wrong"), "{text}");
}

#[test]
fn the_clock_stops_and_goes_on_and_q_ends() {
    let mut screen = Screen::new(seen());
    press(&mut screen, KeyCode::Char(' '));
    assert!(screen.is_stopped() && drawn(&mut screen).contains("stopped"));
    press(&mut screen, KeyCode::Char(' '));
    assert!(!screen.is_stopped());
    assert_eq!(press(&mut screen, KeyCode::Char('x')), Wish::GoOn);
    assert_eq!(press(&mut screen, KeyCode::Char('q')), Wish::End);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.press(Some(control_c)), Wish::End);
}
