use std::collections::BTreeSet;

use super::*;
use crate::types::{
    Access, Alert, CommandCounts, HostFigures, IoCounts, IoStatDrive, IoStatVolume, JobKind, Pool,
    PoolCounters, PoolDrive, PoolJobs, PoolSpace, PoolSteps, Progress, ReactorFigures, Receiver,
    Severity, StepCounts, ThreadFigures, Volume,
};

fn counts() -> IoCounts {
    IoCounts {
        operations: 5,
        transferred_bytes: 20480,
        total_us: 1_500_000,
        max_us: 80_000_000,
        buckets: vec![[20, 1], [99, 1], [100, 1], [99_999, 1], [80_000_000, 1]],
    }
}

fn counters() -> PoolCounters {
    let compress = StepCounts { operations: 3, latency_seconds: 0.5, busy_seconds: 0.25 };
    let steps = PoolSteps { compress, ..PoolSteps::default() };
    PoolCounters { blocks_written: 9, steps, ..PoolCounters::default() }
}

fn pool() -> Pool {
    let progress = Progress { done_percent: 25.0, ..Progress::default() };
    let drive = PoolDrive {
        name: "drive-0".to_owned(),
        pool: "tank".to_owned(),
        states: vec!["online".to_owned()],
        size_bytes: Some(1 << 40),
        model: Some("a \"quoted\" model".to_owned()),
        ..PoolDrive::default()
    };
    Pool {
        name: "tank".to_owned(),
        states: vec!["degraded".to_owned()],
        space: Some(PoolSpace { raw_bytes: 7, ..PoolSpace::default() }),
        counters: Some(counters()),
        jobs: Some(PoolJobs { rebuild: Some(progress), ..PoolJobs::default() }),
        drives: vec![drive],
        ..Pool::default()
    }
}

fn snapshot() -> Snapshot {
    let pools = vec![pool(), Pool { name: "closed".to_owned(), ..Pool::default() }];
    let volume = Volume {
        name: "v0".to_owned(),
        pool: "tank".to_owned(),
        size_bytes: 4096,
        access: Access { hosts: vec!["nqn.2014-08.org.example:a".to_owned()], allow_any: false },
        ..Volume::default()
    };
    let active = IoStatVolume {
        name: "v0".to_owned(),
        pool: "tank".to_owned(),
        reads: counts(),
        waiting_operations: 2,
        delayed_operations: 7,
        delayed_seconds: 0.5,
        ..IoStatVolume::default()
    };
    let busy = IoStatDrive {
        name: "drive-0".to_owned(),
        pool: "tank".to_owned(),
        busy_seconds: 1.25,
        writes: counts(),
        ..IoStatDrive::default()
    };
    let alert = Alert {
        severity: Severity::Error,
        code: "failed".to_owned(),
        pool: None,
        drive: None,
        message: String::new(),
        hint: None,
    };
    let jobs = crate::jobs::jobs(&pools, &[]);
    let status = Status {
        version: "1.0.0".to_owned(),
        pid: 1,
        uptime_seconds: 60,
        reactors: 2,
        subsystem_nqn: String::new(),
        serial: String::new(),
        portals: Vec::new(),
        hosts_connected: 1,
        host_connects: 3,
        host_disconnects: 2,
        warnings: Vec::new(),
        alerts: vec![alert],
        pools,
        volumes: vec![volume],
    };
    let iostat = IoStat { volumes: vec![active], drives: vec![busy], ..IoStat::default() };
    let thread = ThreadFigures { name: "reactor-0".to_owned(), cpu_seconds: 1.5 };
    let reactor = ReactorFigures { tasks: 9, ready_tasks: 2, operations_in_flight: 5, turns: 70 };
    let reactors = vec![ReactorFigures::default(), reactor];
    let process = ProcessFigures { threads: vec![thread], reactors, ..ProcessFigures::default() };
    let receiver = Receiver {
        name: "pager".to_owned(),
        states: vec!["failing".to_owned()],
        sent_events: 5,
        failed_attempts: 4,
        queued_events: 3,
        dropped_events: 2,
        ..Receiver::default()
    };
    let (hosts, receivers) = (Vec::new(), vec![receiver]);
    let host_figures = vec![HostFigures {
        nqn: "nqn.2014-08.org.example:a".to_owned(),
        writes: CommandCounts { operations: 6, transferred_bytes: 24576 },
        ..HostFigures::default()
    }];
    Snapshot { status, iostat, hosts, host_figures, jobs, receivers, process }
}

#[test]
fn a_scrape_has_every_figure_with_its_labels() {
    let text = snapshot().text();
    for line in [
        r#"ashlar_build_info{version="1.0.0"} 1"#,
        "ashlar_uptime_seconds 60",
        "ashlar_host_connects_total 3",
        r#"ashlar_alerts{severity="error",code="failed"} 1"#,
        r#"ashlar_thread_cpu_seconds_total{thread="reactor-0"} 1.5"#,
        r#"ashlar_reactor_tasks{reactor="reactor-1"} 9"#,
        r#"ashlar_reactor_tasks_ready{reactor="reactor-1"} 2"#,
        r#"ashlar_reactor_operations_in_flight{reactor="reactor-1"} 5"#,
        r#"ashlar_reactor_turns_total{reactor="reactor-1"} 70"#,
        r#"ashlar_host_operations_total{host="nqn.2014-08.org.example:a",operation="write"} 6"#,
        r#"ashlar_host_operations_total{host="nqn.2014-08.org.example:a",operation="read"} 0"#,
        r#"ashlar_host_transferred_bytes_total{host="nqn.2014-08.org.example:a",operation="write"} 24576"#,
        r#"ashlar_pool_state{pool="tank",state="degraded"} 1"#,
        r#"ashlar_pool_state{pool="tank",state="online"} 0"#,
        r#"ashlar_pool_raw_bytes{pool="tank"} 7"#,
        r#"ashlar_pool_blocks_written_total{pool="tank"} 9"#,
        r#"ashlar_pool_step_operations_total{pool="tank",step="compress"} 3"#,
        r#"ashlar_pool_step_latency_seconds_total{pool="tank",step="compress"} 0.5"#,
        r#"ashlar_pool_step_busy_seconds_total{pool="tank",step="compress"} 0.25"#,
        r#"ashlar_pool_step_busy_seconds_total{pool="tank",step="map"} 0.0"#,
        r#"ashlar_drive_busy_seconds_total{pool="tank",drive="drive-0"} 1.25"#,
        r#"ashlar_job_done_ratio{pool="tank",kind="rebuild"} 0.25"#,
        r#"ashlar_volume_size_bytes{pool="tank",volume="v0"} 4096"#,
        r#"ashlar_volume_operations_total{pool="tank",volume="v0",operation="read"} 5"#,
        r#"ashlar_volume_operations_waiting{pool="tank",volume="v0"} 2"#,
        r#"ashlar_volume_operations_delayed_total{pool="tank",volume="v0"} 7"#,
        r#"ashlar_volume_delay_seconds_total{pool="tank",volume="v0"} 0.5"#,
        r#"ashlar_receiver_events_sent_total{receiver="pager"} 5"#,
        r#"ashlar_receiver_attempts_failed_total{receiver="pager"} 4"#,
        r#"ashlar_receiver_events_queued{receiver="pager"} 3"#,
        r#"ashlar_receiver_events_dropped_total{receiver="pager"} 2"#,
        r#"ashlar_receiver_failing{receiver="pager"} 1"#,
        r#"ashlar_drive_state{pool="tank",drive="drive-0",state="online"} 1"#,
        r#"ashlar_drive_transferred_bytes_total{pool="tank",drive="drive-0",operation="write"} 20480"#,
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
    }
    assert!(text.contains(r#"model="a \"quoted\" model""#), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

/// 600 connects with names that nobody knows made 1,200 series.
#[test]
fn hosts_that_call_themselves_by_names_without_an_end_are_told_as_one() {
    let host = |name: &str, second: usize| Host {
        nqn: format!("nqn.2014-08.org.example:{name}"),
        kind: "io".to_owned(),
        io_queues: 2,
        connected_at: format!("2026-01-01T00:00:{second:02}Z"),
        ..Host::default()
    };
    let figures = |host: &Host| HostFigures { nqn: host.nqn.clone(), ..HostFigures::default() };
    let mut snapshot = snapshot();
    let of_list = host("a", 59);
    let invented: Vec<_> = (0..600).map(|it| host(&format!("{it:03}"), it / 20)).collect();
    snapshot.host_figures = invented.iter().chain([&of_list]).map(figures).collect();
    snapshot.hosts = invented.into_iter().chain([of_list]).collect();
    let text = snapshot.text();
    let series = |name: &str| text.lines().filter(|it| it.starts_with(name)).count();
    assert_eq!(series("ashlar_host_controllers{"), 1 + hosts::OTHERS_MAX + 1);
    assert_eq!(series("ashlar_host_operations_total{"), 3 * (1 + hosts::OTHERS_MAX));
    for line in [
        r#"ashlar_host_controllers{host="nqn.2014-08.org.example:a"} 1"#,
        r#"ashlar_host_controllers{host="nqn.2014-08.org.example:000"} 1"#,
        r#"ashlar_host_controllers{host="other"} 536"#,
        r#"ashlar_host_io_queues{host="other"} 1072"#,
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
    }
}

/// A rule that warns of whatever else there is leaves out by its code what has a rule of its own.
#[test]
fn alerts_are_counted_by_how_bad_they_are_and_by_their_codes() {
    let mut snapshot = snapshot();
    assert!(
        !Snapshot { status: no_alerts(), ..self::snapshot() }.text().contains("ashlar_alerts{")
    );
    let alert = snapshot.status.alerts[0].clone();
    let hot = Alert { severity: Severity::Warning, code: "hot".to_owned(), ..alert.clone() };
    snapshot.status.alerts = vec![alert.clone(), hot, alert];
    let text = snapshot.text();
    let counted: Vec<&str> = text.lines().filter(|it| it.starts_with("ashlar_alerts{")).collect();
    let expected = [
        r#"ashlar_alerts{severity="warning",code="hot"} 1"#,
        r#"ashlar_alerts{severity="error",code="failed"} 2"#,
    ];
    assert_eq!(counted, expected);
}

fn no_alerts() -> Status {
    Status { alerts: Vec::new(), ..snapshot().status }
}

#[test]
fn a_histogram_counts_each_operation_once_below_the_bounds_that_it_is_below() {
    let text = snapshot().text();
    let bucket = |le: &str| {
        let labels = r#"pool="tank",volume="v0",operation="read""#;
        let name = format!(r#"ashlar_volume_latency_seconds_bucket{{le="{le}",{labels}}} "#);
        let line = text.lines().find_map(|line| line.strip_prefix(&*name));
        line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).to_owned()
    };
    let bounds = ["0.00005", "0.0001", "0.0002", "0.1", "10.0", "100.0", "+Inf"];
    let expected = ["1", "2", "3", "4", "4", "5", "5"];
    assert_eq!(bounds.map(bucket), expected, "20 µs and 99 µs, 80 s and less are told apart");
}

#[test]
fn what_is_not_known_has_no_series() {
    let text = snapshot().text();
    assert!(!text.contains(r#"ashlar_pool_raw_bytes{pool="closed"}"#), "{text}");
    assert!(!text.contains("ashlar_pool_full_in_seconds{"), "it does not grow");
    assert!(!text.contains("ashlar_drive_temperature_celsius{"), "the drive does not say it");
    assert!(!text.contains("NaN"));
}

#[test]
fn the_reference_names_each_family_once_and_a_scrape_has_no_other() {
    let all = metrics();
    let names: BTreeSet<&str> = all.iter().map(|metric| &*metric.name).collect();
    assert_eq!(names.len(), all.len(), "each once");
    let text = snapshot().text();
    let told: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| {
            let (name, kind) = line.split_once(' ').expect("a name and a kind");
            if kind == "counter" { format!("{name}_total") } else { name.to_owned() }
        })
        .collect();
    assert_eq!(told, names.iter().map(|name| (*name).to_owned()).collect());
    for metric in &all {
        assert!(metric.name.starts_with("ashlar_"), "{}", metric.name);
        assert!(metric.help.ends_with('.'), "{}: {}", metric.name, metric.help);
        assert_eq!(metric.name.ends_with("_total"), metric.kind == "counter", "{}", metric.name);
    }
}

#[test]
fn two_erases_of_pools_of_one_name_are_one_series() {
    let job = |id: &str, state: &str| {
        let states = vec![state.to_owned()];
        let (id, pool) = (id.to_owned(), "tank".to_owned());
        Job { id, pool, kind: JobKind::Erase, states, ..snapshot().jobs.remove(0) }
    };
    let mut snapshot = snapshot();
    snapshot.jobs = vec![job("a/erase", "running"), job("b/erase", "finished")];
    let text = snapshot.text();
    let of_job: Vec<&str> =
        text.lines().filter(|line| line.starts_with("ashlar_job_running{")).collect();
    assert_eq!(of_job, [r#"ashlar_job_running{pool="tank",kind="erase"} 1"#]);
}
