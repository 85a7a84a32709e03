use ashlar_control::types::IoStatPool;

use super::*;

/// So many reads that took so long each.
fn counts(operations: u64, us: u64) -> IoCounts {
    let buckets = if operations > 0 { vec![[us, operations]] } else { Vec::new() };
    let transferred_bytes = operations * 4096;
    IoCounts { operations, transferred_bytes, total_us: operations * us, max_us: us, buckets }
}

fn volume(name: &str, reads: IoCounts) -> IoStatVolume {
    IoStatVolume {
        name: name.into(),
        pool: "tank".into(),
        uuid: name.into(),
        operations_in_flight: 1,
        compression_ratio: Some(2.0),
        reads,
        ..IoStatVolume::default()
    }
}

/// A state of a daemon with these volumes.
pub fn state(instance: &str, uptime_seconds: f64, volumes: Vec<IoStatVolume>) -> IoStat {
    let pool = IoStatPool { name: "tank".into(), uuid: "P".into(), compression_ratio: Some(1.5) };
    let instance = instance.into();
    IoStat { instance, uptime_seconds, pools: vec![pool], volumes, ..IoStat::default() }
}

/// One of two volumes.
pub fn two_volumes(uptime_seconds: f64, operations: u64) -> IoStat {
    let volumes = vec![volume("a", counts(operations, 50)), volume("b", counts(0, 0))];
    state("1", uptime_seconds, volumes)
}

fn reads(report: &Report) -> Vec<(&str, u64)> {
    report.lines.iter().map(|line| (line.name.as_str(), line.kinds[0].took.count())).collect()
}

#[test]
fn the_first_report_is_of_all_that_was_counted_since_the_start() {
    let report = Report::new(None, &two_volumes(10.0, 200));
    assert!(report.is_since_start && !report.is_restarted);
    assert_eq!(
        (report.interval_seconds, reads(&report)),
        (10.0, vec![("tank", 200), ("a", 200), ("b", 0)])
    );
    assert_eq!(report.lines[0].operations_in_flight, 2, "a pool is the sum of its volumes");
    // 200 reads of 50 µs each in ten seconds.
    assert!((report.mean_queue(&report.lines[1]) - 0.001).abs() < 1e-9);
}

#[test]
fn each_further_one_is_of_what_came_between() {
    let report = Report::new(Some(&two_volumes(10.0, 200)), &two_volumes(12.0, 250));
    assert!(!report.is_since_start && !report.is_restarted);
    assert_eq!((report.interval_seconds, reads(&report)[1]), (2.0, ("a", 50)));
    assert_eq!(report.lines[1].kinds[0].bytes, 50 * 4096);
}

#[test]
fn a_restart_of_the_daemon_is_told_and_counts_from_its_start() {
    let again = state("2", 0.5, vec![volume("a", counts(7, 50))]);
    let report = Report::new(Some(&two_volumes(10.0, 200)), &again);
    assert!(report.is_restarted && !report.is_since_start);
    assert_eq!((report.interval_seconds, reads(&report)[1]), (0.5, ("a", 7)));
}

#[test]
fn what_is_counted_anew_was_counted_in_the_interval() {
    let imported = state("1", 12.0, vec![volume("a", counts(3, 50))]);
    let report = Report::new(Some(&two_volumes(10.0, 200)), &imported);
    assert_eq!(reads(&report)[1], ("a", 3));
}

#[test]
fn a_volume_that_is_deleted_goes_and_one_that_is_made_comes() {
    let later = state("1", 11.0, vec![volume("b", counts(4, 9)), volume("c", counts(5, 9))]);
    let report = Report::new(Some(&two_volumes(10.0, 200)), &later);
    assert_eq!(reads(&report), [("tank", 9), ("b", 4), ("c", 5)]);
}

#[test]
fn a_volume_that_was_renamed_goes_on() {
    let renamed = IoStatVolume { name: "new".into(), ..volume("a", counts(201, 50)) };
    let report = Report::new(Some(&two_volumes(10.0, 200)), &state("1", 11.0, vec![renamed]));
    assert_eq!(reads(&report)[1], ("new", 1));
}

#[test]
fn a_volume_without_its_pool_stands_alone() {
    let alone = IoStat { pools: Vec::new(), ..two_volumes(10.0, 1) };
    let report = Report::new(None, &alone);
    assert_eq!(reads(&report), [("a", 1), ("b", 0)]);
    assert!(!report.lines[0].is_below_pool);
}

#[test]
fn programs_get_counts_and_latencies_and_null_for_what_is_not_known() {
    let report = Report::new(None, &two_volumes(10.0, 200));
    let shown = serde_json::to_value(report.shown()).expect("JSON");
    assert_eq!(shown["since_start"], true);
    let (one, other) = (&shown["volumes"][0], &shown["volumes"][1]);
    assert_eq!(one["reads"]["operations"], 200);
    assert_eq!((&one["reads"]["p50_us"], &one["reads"]["max_us"]), (&50.into(), &50.into()));
    assert!(other["reads"]["p50_us"].is_null() && other["writes"]["mean_us"].is_null());
    assert_eq!(shown["pools"][0]["compression_ratio"], 1.5);
}
