use ashlar_control::types::{
    AfterLoss, Alert, CommandCounts, Event, PoolJobs, PoolSettings, PoolSpace, QosLimits,
    QosPolicy, Severity, Spare, VolumeQos,
};

use super::*;

fn pool(states: &[&str], rebuild: Option<Progress>) -> Pool {
    let states = states.iter().map(|state| (*state).to_owned()).collect();
    Pool {
        name: "tank".to_owned(),
        states,
        jobs: Some(PoolJobs { rebuild, ..PoolJobs::default() }),
        ..Pool::default()
    }
}

fn with_scrub(scrub: Scrub, pool: Pool) -> Pool {
    let jobs = pool.jobs.unwrap_or_default();
    Pool { jobs: Some(PoolJobs { scrub: Some(scrub), ..jobs }), ..pool }
}

#[test]
fn what_is_moved_off_a_drive_is_not_called_rebuilt() {
    let progress = Some(Progress { done_percent: 12.5, left_bytes: 4096, ..Progress::default() });
    for (states, said, not_said) in [
        (["online", "evacuating"], "12.5 % moved", "rebuilt"),
        (["degraded", "rebuilding"], "12.5 % rebuilt", "moved"),
    ] {
        for text in [rebuild(&pool(&states, progress)), super::pool(&pool(&states, progress))] {
            assert!(text.contains(said) && !text.contains(not_said), "{text}");
        }
    }
}

#[test]
fn a_degraded_pool_is_never_said_to_have_nothing_to_rebuild() {
    assert!(!rebuild(&pool(&["degraded", "need-rebuild"], None)).contains("nothing"));
    assert!(rebuild(&pool(&["online"], None)).contains("there is nothing to rebuild"));
}

#[test]
fn a_pool_has_lost_too_many_drives_when_its_level_survives_fewer() {
    let with = |level: &str, states: &[&str]| {
        let drive =
            |state: &&str| PoolDrive { states: vec![(*state).to_owned()], ..PoolDrive::default() };
        let drives = states.iter().map(drive).collect();
        has_lost_too_many(&Pool { level: Some(level.to_owned()), drives, ..Pool::default() })
    };
    assert!(with("5", &["failed", "absent", "online"]));
    assert!(!with("6", &["failed", "absent", "online", "online"]));
    assert!(!with("5", &["failed", "released", "online", "online"]));
}

#[test]
fn who_gives_a_drive_up_is_told_what_the_pool_cannot_do_without_it() {
    assert_eq!(lacks(&pool(&["degraded", "need-rebuild"], None)), None);
    let read_only =
        lacks(&pool(&["degraded", "need-rebuild", "read-only"], None)).expect("it takes no writes");
    assert!(
        read_only.contains("takes no writes") && read_only.contains("add-drive"),
        "{read_only}"
    );
}

#[test]
fn a_pool_of_one_drive_is_over_one_drive() {
    let pool = Pool { drives: vec![PoolDrive::default()], ..pool(&["online"], None) };
    assert!(
        opened_pool("created", &pool).contains("over 1 drive,"),
        "{}",
        opened_pool("created", &pool)
    );
}

#[test]
fn why_a_drive_was_lost_stands_below_the_table_of_drives() {
    let drive = |name: &str, problem: Option<&str>| PoolDrive {
        name: name.to_owned(),
        pool: "tank".to_owned(),
        problem: problem.map(str::to_owned),
        ..PoolDrive::default()
    };
    let all = [drive("drive-0", None), drive("drive-1", Some("given up by request"))];
    let of_pool = super::pool(&Pool { drives: all.to_vec(), ..pool(&["degraded"], None) });
    for text in [drives(&all), of_pool] {
        assert_eq!(text.lines().last(), Some("tank/drive-1: given up by request"), "{text}");
    }
    assert!(!drives(&all[..1]).contains("drive-0:"));
}

#[test]
fn a_scrub_that_runs_says_what_is_left_and_judges_nothing_that_it_has_not_seen() {
    let running = |scrub: Scrub| scrubbed(&Scrub { states: vec!["running".to_owned()], ..scrub });
    assert_eq!(running(Scrub::default()), "a scrub is 0.0 % done, 0B checked");
    let half = Scrub { done_percent: 50.0, checked_bytes: 1 << 30, ..Scrub::default() };
    assert_eq!(
        running(Scrub { left_bytes: Some(1 << 30), eta_seconds: Some(7), ..half }),
        "a scrub is 50.0 % done, 1GiB checked, 1GiB left, 7s to go; nothing was wrong so far"
    );
}

#[test]
fn a_scrub_names_drives_by_their_paths_too() {
    let name = "drive-2".to_owned();
    let drive = ScrubbedDrive {
        name,
        spec: Some("/dev/nvme2n1".to_owned()),
        wrong: 7,
        ..ScrubbedDrive::default()
    };
    let found = Scrub {
        states: vec!["finished".to_owned()],
        wrong: 7,
        drives: vec![drive],
        ..Scrub::default()
    };
    let text = scrub(&with_scrub(found, pool(&["online"], None)));
    let row: Vec<&str> = text.lines().last().expect("a row").split_whitespace().collect();
    assert_eq!(row[..3], ["drive-2", "/dev/nvme2n1", "7"], "{text}");
}

#[test]
fn a_scrub_says_which_drives_were_given_up_for_what_it_found() {
    let drive = |name: &str, given_up: Option<&str>| ScrubbedDrive {
        name: name.to_owned(),
        repaired: 5,
        given_up: given_up.map(str::to_owned),
        ..ScrubbedDrive::default()
    };
    let drives = vec![drive("drive-1", None), drive("drive-2", Some("gave wrong bytes 10 times"))];
    let found = Scrub {
        states: vec!["finished".to_owned()],
        repaired: 10,
        wrong: 10,
        drives,
        ..Scrub::default()
    };
    let scrubbed = with_scrub(found, pool(&["degraded"], None));
    let text = scrub(&scrubbed);
    assert!(text.ends_with("drive-2 was given up: gave wrong bytes 10 times"), "{text}");
    assert!(!text.contains("drive-1 was given up"), "{text}");
    let text = super::pool(&scrubbed).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("10 repaired, 0 not repaired; drive-2 was given up"), "{text}");
}

#[test]
fn volumes_of_a_pool_that_is_not_open_are_said_to_be_hidden() {
    let volume = Volume { pool: "tank".to_owned(), name: "v0".to_owned(), ..Volume::default() };
    let (open, closed) =
        (pool(&["online"], None), Pool { name: "bad".to_owned(), ..pool(&["unavailable"], None) });
    assert!(volumes(&[], std::slice::from_ref(&open)).contains("`ashlar volume create` makes one"));
    for known in [vec![], vec![volume]] {
        let said = volumes(&known, &[open.clone(), closed.clone()]);
        assert!(
            said.ends_with("the volumes of pool 'bad' are not shown: it is not open"),
            "{said}"
        );
        assert!(!said.contains("create` makes one"), "{said}");
    }
}

#[test]
fn what_is_not_known_of_a_pool_that_is_not_open_is_no_zero() {
    let drive = PoolDrive { states: vec!["unknown".to_owned()], ..PoolDrive::default() };
    let closed = Pool { drives: vec![drive], ..pool(&["unavailable"], None) };
    for said in [pools(std::slice::from_ref(&closed)), super::pool(&closed), drives(&closed.drives)]
    {
        assert!(!said.contains("0B") && !said.contains(" 0 "), "{said}");
    }
    let limit = |pool: &Pool| {
        let text = super::pool(pool);
        let line =
            text.lines().find(|line| line.trim_start().starts_with("limit")).expect("a limit");
        line.split_whitespace().last().expect("a figure").to_owned()
    };
    assert_eq!(
        (
            limit(&closed),
            limit(&Pool { space: Some(PoolSpace::default()), ..pool(&["online"], None) })
        ),
        ("-".to_owned(), "0B".to_owned())
    );
}

/// Sixty-four characters, as many as a name may have.
fn long_name() -> String {
    "n".repeat(64)
}

fn assert_fits(what: &str, text: &str) {
    for line in text.lines() {
        // What is to be copied stays whole, alone on its line.
        let is_alone = line.split_whitespace().count() == 1;
        assert!(
            line.chars().count() <= 80 || is_alone,
            "{what} has a line of {}:\n{text}",
            line.chars().count()
        );
    }
}

fn worst_drive(at: usize) -> PoolDrive {
    PoolDrive {
        name: format!("drive-{}", 65_000 + at),
        pool: long_name(),
        uuid: "11111111-2222-3333-4444-555555555555".to_owned(),
        spec: Some(format!("file:/srv/{}/{at}.img", "a-long-directory/".repeat(10))),
        kernel_name: Some("nvme101c101n101".to_owned()),
        states: ["evacuating", "slow", "stale", "sparse"].map(str::to_owned).to_vec(),
        problem: Some("it came back as drive-65535; what it missed is being restored; ".repeat(3)),
        size_bytes: Some((1 << 50) - (1 << 20)),
        read_errors: Some(u64::MAX),
        wrong_answers: Some(u64::MAX),
        ..PoolDrive::default()
    }
}

fn worst_pool() -> Pool {
    let many = 1023 * (1 << 40) + 12_345;
    Pool {
        name: long_name(),
        level: Some("16+4".to_owned()),
        states: [
            "degraded",
            "need-rebuild",
            "rebalancing",
            "scrubbing",
            "evacuating",
            "reduced",
            "read-only",
            "full",
        ]
        .map(str::to_owned)
        .to_vec(),
        problem: Some(
            "2 of 12 drives are missing, and new data needs more of them than are left ".repeat(3),
        ),
        notes: vec!["things to know that are not errors, and are long ".repeat(4)],
        drives: (0..12).map(worst_drive).collect(),
        spares: vec![Spare {
            spec: format!("/dev/disk/by-id/{}", long_name()),
            problem: Some("it is gone ".repeat(9)),
        }],
        space: Some(PoolSpace {
            physical_used_bytes: many,
            limit_bytes: many,
            safe_to_write_bytes: many,
            ..PoolSpace::default()
        }),
        settings: Some(PoolSettings {
            recon_prio_percent: 100,
            recon_p99_us: 59_999_999,
            fault_threshold: u32::MAX,
            io_timeout_seconds: 3600,
            ..PoolSettings::default()
        }),
        jobs: Some(PoolJobs { scrub: Some(worst_scrub()), ..PoolJobs::default() }),
        ..Pool::default()
    }
}

fn worst_scrub() -> Scrub {
    let drive = ScrubbedDrive {
        name: "drive-65535".to_owned(),
        spec: Some(format!("/dev/disk/by-id/{}", long_name())),
        wrong: 1 << 32,
        unreadable: 1 << 32,
        repaired: 1 << 32,
        unrepaired: 1 << 32,
        given_up: Some("it gave wrong bytes too often ".repeat(4)),
    };
    Scrub { states: vec!["running".to_owned()], wrong: 9, drives: vec![drive], ..Scrub::default() }
}

fn worst_limits() -> QosLimits {
    let many = Some(1023 * (1 << 40) + 12_345);
    QosLimits {
        iops_max: many,
        write_bytes_per_second_max: many,
        write_iops_per_gib: Some(4_000_000_000),
        burst_seconds: 3599.999,
        ..QosLimits::default()
    }
}

fn worst_qos() -> VolumeQos {
    VolumeQos {
        policy: Some(long_name()),
        source: "pool".to_owned(),
        limits: worst_limits(),
        throttled: true,
        waiting_operations: 100_000,
        delayed_operations: 9_000_000_000,
        delayed_seconds: 123_456_789.5,
        ..VolumeQos::default()
    }
}

fn worst_policy() -> QosPolicy {
    QosPolicy {
        name: long_name(),
        pool: long_name(),
        limits: worst_limits(),
        weight: 1000,
        default: true,
        volumes: vec![long_name(); 1000],
    }
}

fn worst_volume(access: Access) -> Volume {
    let many = 1023 * (1 << 40) + 12_345;
    Volume {
        pool: long_name(),
        name: long_name(),
        uuid: "11111111-2222-3333-4444-555555555555".to_owned(),
        nsid: 99_999,
        size_bytes: many,
        logical_used_bytes: many,
        physical_used_bytes: many,
        compression_ratio: Some(12_345.678),
        access,
        qos: worst_qos(),
        ..Volume::default()
    }
}

fn long_nqn() -> String {
    format!("nqn.2014-08.org.nvmexpress:uuid:{}", "f".repeat(36))
}

#[test]
fn every_table_fits_a_terminal_whatever_stands_in_it() {
    let hosts_of = |count| Access { allow_any: false, hosts: vec![long_nqn(); count] };
    let volumes_of = [worst_volume(hosts_of(1)), worst_volume(hosts_of(500))];
    let closed = Pool { states: vec!["unavailable".to_owned()], ..worst_pool() };
    let happening = ashlar_control::types::Happening {
        kind: "pool_state_entered".to_owned(),
        message: format!(
            "pool '{}' is read-only: {} {{{}}}",
            long_name(),
            "why ".repeat(50),
            "\"a\":1,".repeat(50)
        ),
        ..Default::default()
    };
    let told = Event {
        seq: 1_764_111_111_111,
        time: "2026-01-31T12:00:00.000Z".to_owned(),
        what: happening,
    };
    let host = ashlar_control::types::Host {
        nqn: long_nqn(),
        host_id: "11111111-2222-3333-4444-555555555555".to_owned(),
        address: "[1111:2222:3333:4444:5555:6666:7777:8888]:65535".to_owned(),
        io_queues: 65_534,
        reads: CommandCounts { operations: u64::MAX / 2, transferred_bytes: u64::MAX / 2 },
        connected_at: "1970-01-01T00:00:00Z".to_owned(),
        controller_id: 65_519,
        kind: "discovery".to_owned(),
        ..Default::default()
    };
    let said = [
        ("pool list", pools(&[worst_pool(), closed.clone()])),
        ("pool show", super::pool(&worst_pool())),
        ("pool scrub", scrub(&worst_pool()).split_once('\n').expect("a table").1.to_owned()),
        ("drive list", drives(&worst_pool().drives)),
        ("drive show", member(&worst_drive(1))),
        ("volume list", volumes(&volumes_of, &[closed])),
        ("volume show", volume(&volumes_of[0])),
        ("qos list", policies(&[worst_policy(), worst_policy()])),
        ("qos show", policy(&worst_policy())),
        ("host list", hosts(&[host])),
        ("events", events(&[told])),
        ("pool show -e", pool_with_health(&worst_pool())),
        ("drive show -e", member_with_health(&worst_drive(1))),
    ];
    said.iter().for_each(|(what, text)| assert_fits(what, text));
    for (what, text) in &said[..1] {
        assert!(text.contains("need-rebuild") && text.contains('…'), "{what}:\n{text}");
    }
    assert!(said[6].1.lines().any(|line| line.trim() == long_nqn()), "{}", said[6].1);
}

#[test]
fn what_all_know_is_shown_within_a_terminal_too() {
    let portal = |address: &str| ashlar_control::types::Portal {
        transport: "tcp".to_owned(),
        address: address.to_owned(),
        port: 65_535,
        kind: "discovery".to_owned(),
    };
    let node = Status {
        version: "1.0.0".to_owned(),
        pid: 4_194_304,
        uptime_seconds: 1 << 30,
        reactors: 64,
        subsystem_nqn: long_nqn(),
        serial: String::new(),
        portals: vec![portal("255.255.255.255"), portal("1111:2222:3333:4444:5555:6666:7777:8888")],
        hosts_connected: 500,
        host_connects: 0,
        host_disconnects: 0,
        alerts: vec![Alert {
            severity: Severity::Warning,
            code: "daemon_warning".to_owned(),
            pool: None,
            drive: None,
            message: format!("cannot write /var/lib/ashlar/node.toml: {}", "no room ".repeat(20)),
            hint: Some("make room ".repeat(20)),
        }],
        warnings: Vec::new(),
        pools: vec![worst_pool()],
        volumes: vec![worst_volume(Access::default())],
    };
    let text = status(&node);
    assert_fits("status", &text);
    assert!(text.contains("warning: cannot write /var/lib/ashlar/node.toml"), "{text}");
    assert!(
        text.contains(&format!("subsystem  {}", long_nqn())),
        "its name stands beside its title:\n{text}"
    );
}

#[test]
fn drives_that_are_no_members_any_more_are_not_counted() {
    let drive = |state: &str| PoolDrive { states: vec![state.to_owned()], ..PoolDrive::default() };
    let drives = ["online", "released", "absent", "returned"].map(drive).to_vec();
    assert_eq!(members(&Pool { drives, ..Pool::default() }), 2);
}

#[test]
fn a_pool_says_whether_it_survives_one_loss_and_with_how_much_room() {
    let said = |after_loss: AfterLoss| {
        let space = PoolSpace { after_loss: Some(after_loss), ..PoolSpace::default() };
        let text = super::pool(&Pool { space: Some(space), ..pool(&["online"], None) });
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = text.split_once("survives one loss ").expect("it is said").1;
        said.split_once(" reserve ").expect("it comes next").0.to_owned()
    };
    let survives =
        AfterLoss { survives: true, spare_bytes: Some(40 << 20), ..AfterLoss::default() };
    assert_eq!(said(survives), "yes, with 40MiB to spare");
    let short = AfterLoss { short_bytes: Some(120 << 20), ..AfterLoss::default() };
    assert_eq!(said(short), "no: 120MiB short");
    let problem = Some("without drive-0 data could not be read".to_owned());
    assert_eq!(
        said(AfterLoss { problem, ..AfterLoss::default() }),
        "no: without drive-0 data could not be read"
    );
}
