use super::*;
use crate::types::{
    AfterLoss, DriveHealth, DriveWarning, Obstacle, PoolCounters, PoolJobs, PoolSpace, Progress,
    Scrub, Spare, Verify,
};

fn pool(states: &[&str], drives: Vec<PoolDrive>) -> Pool {
    let states = states.iter().map(|state| (*state).to_owned()).collect();
    Pool { name: "tank".to_owned(), states, drives, ..Pool::default() }
}

fn drive(name: &str, states: &[&str]) -> PoolDrive {
    let states = states.iter().map(|state| (*state).to_owned()).collect();
    PoolDrive { name: name.to_owned(), states, ..PoolDrive::default() }
}

/// What is not well with pools of which nothing stands from before.
fn alerts_of(pools: &[Pool]) -> Vec<Alert> {
    alerts(pools, |pool| Standing::default().after(pool), &[])
}

fn told(pools: &[Pool]) -> Vec<(Severity, String)> {
    alerts_of(pools).into_iter().map(|alert| (alert.severity, alert.code)).collect()
}

#[test]
fn what_goes_on_by_request_and_what_is_over_is_no_alert() {
    let drives = vec![drive("drive-0", &["online"]), drive("drive-1", &["evacuating"])];
    let states = ["online", "scrubbing", "trimming", "rebalancing", "evacuating"];
    assert_eq!(told(&[pool(&states, drives)]), []);
}

fn after_loss(problem: Option<&str>) -> Option<PoolSpace> {
    let after_loss = AfterLoss { problem: problem.map(str::to_owned), ..AfterLoss::default() };
    Some(PoolSpace { after_loss: Some(after_loss), ..PoolSpace::default() })
}

/// The rebuild is over within seconds or hours: whoever asks later has to hear of it.
#[test]
fn a_drive_that_is_lost_stays_an_alert_once_what_lived_on_it_is_restored() {
    let drives = || vec![drive("drive-0", &["online"]), drive("drive-1", &["released"])];
    let safe = Pool { space: after_loss(None), ..pool(&["online", "reduced"], drives()) };
    let all = alerts_of(&[safe]);
    let [alert] = &all[..] else { panic!("{all:?}") };
    assert_eq!((alert.code.as_str(), alert.severity), ("released", Severity::Warning));
    assert_eq!(alert.drive.as_deref(), Some("drive-1"));
    assert!(alert.hint.as_deref().unwrap().contains("pool add-drive tank"), "{alert:?}");
    let replaced = alerts_of(&[pool(&["online"], drives())]);
    let hint = replaced[0].hint.as_deref().unwrap();
    assert!(hint.contains("pool remove-drive tank drive-1") && !hint.contains("add"), "{hint}");
}

#[test]
fn a_pool_that_survives_no_further_loss_is_an_alert_unless_it_never_did_or_a_state_says_so() {
    let of = |level: &str, states: &[&str], problem| {
        let level = Some(level.to_owned());
        told(&[Pool { level, space: after_loss(problem), ..pool(states, vec![]) }])
    };
    let few = Some("without drive-0 1 drive is left");
    let codes = |words: &[&str]| -> Vec<(Severity, String)> {
        words.iter().map(|word| (Severity::Warning, (*word).to_owned())).collect()
    };
    assert_eq!(of("5", &["online", "reduced"], few), codes(&["no_second_loss"]));
    assert_eq!(of("5", &["online", "reduced"], None), []);
    assert_eq!(of("1", &["online"], few), [], "a mirror of two is as it was made");
    assert_eq!(of("0", &["online", "reduced"], few), []);
    assert_eq!(of("5", &["degraded", "reduced"], few), codes(&["degraded"]));
    assert_eq!(of("5", &["online", "reduced", "short-for-loss"], few), codes(&["short-for-loss"]));
}

/// A pool that is open is not imported: the command would fail.
#[test]
fn what_to_do_about_a_pool_that_takes_no_writes_is_what_works_on_an_open_pool() {
    let all = alerts_of(&[pool(&["read-only"], vec![])]);
    let hint = all[0].hint.as_deref().expect("a way out");
    assert!(hint.contains("ashlar drive return tank/DRIVE"), "{hint}");
    assert!(hint.contains("ashlar pool add-drive tank") && !hint.contains("import"), "{hint}");
}

#[test]
fn the_worst_comes_first_with_what_to_do_about_it() {
    let drives = vec![drive("drive-0", &["online", "slow"]), drive("drive-1", &["failed"])];
    let ill = pool(&["degraded", "rebuilding"], drives);
    let words = [
        (Severity::Error, "failed".to_owned()),
        (Severity::Warning, "degraded".to_owned()),
        (Severity::Warning, "slow".to_owned()),
    ];
    assert_eq!(told(std::slice::from_ref(&ill)), words);
    let all = alerts_of(&[ill]);
    let hint = all[0].hint.as_deref().expect("a way out");
    assert_eq!(hint, "replace it: `ashlar pool replace tank drive-1 /dev/...`");
    assert_eq!(all[0].drive.as_deref(), Some("drive-1"));
}

#[test]
fn an_alert_says_why() {
    let after_loss = AfterLoss { problem: Some("8MiB short".to_owned()), ..AfterLoss::default() };
    let space =
        PoolSpace { after_loss: Some(after_loss), reserve_released: true, ..PoolSpace::default() };
    let short = Pool { space: Some(space), ..pool(&["online", "short-for-loss"], vec![]) };
    let all = alerts_of(&[short]);
    assert_eq!(all[0].message, "pool 'tank' is short-for-loss: 8MiB short");
    assert_eq!(all[1].code, "reserve_released");
    let closed = Pool {
        problem: Some("2 of 3 drives are missing".to_owned()),
        ..pool(&["unavailable"], vec![])
    };
    assert!(alerts_of(&[closed])[0].message.ends_with("unavailable: 2 of 3 drives are missing"));
}

#[test]
fn what_drives_warn_of_and_spares_that_cannot_be_taken_are_alerts() {
    let warning = DriveWarning {
        kind: "worn".to_owned(),
        severity: Severity::Warning,
        message: "it has spent 97 % of its life".to_owned(),
    };
    let health = DriveHealth { warnings: vec![warning], ..DriveHealth::default() };
    let worn = PoolDrive { health, ..drive("drive-0", &["online"]) };
    let spare = Spare { spec: "/dev/sdz".to_owned(), problem: Some("it is smaller".to_owned()) };
    let ill = Pool { spares: vec![spare], ..pool(&["online"], vec![worn]) };
    let words =
        [(Severity::Error, "spare_refused".to_owned()), (Severity::Warning, "worn".to_owned())];
    assert_eq!(told(&[ill]), words);
}

/// Reads that fail for good were in the metrics alone.
#[test]
fn data_that_cannot_be_read_or_repaired_and_a_ledger_that_differs_are_errors() {
    let counters = Some(PoolCounters { blocks_unrecovered: 3, ..PoolCounters::default() });
    let scrub = Scrub { states: vec!["finished".to_owned()], unrepaired: 2, ..Scrub::default() };
    let differences = vec!["live: 8KiB counted, 4KiB found".to_owned()];
    let verify = Verify { states: vec!["wrong".to_owned()], differences, ..Verify::default() };
    let (scrub, verify) = (Some(scrub), Some(verify));
    let jobs = Some(PoolJobs { scrub, verify, ..PoolJobs::default() });
    let faulty = PoolDrive { read_errors: Some(3), ..drive("drive-1", &["online"]) };
    let ill = Pool { counters, jobs, ..pool(&["online"], vec![faulty]) };
    let all = alerts_of(&[ill]);
    let codes: Vec<_> = all.iter().map(|alert| (alert.code.as_str(), alert.severity)).collect();
    let expected = ["data_unreadable", "scrub_unrepaired", "ledger_differs"];
    assert_eq!(codes, expected.map(|code| (code, Severity::Error)));
    assert!(all[0].message.ends_with("drive-1 (reads refused: 3)"), "{}", all[0].message);
    assert!(all[2].message.ends_with("8KiB counted, 4KiB found"), "{}", all[2].message);
    let mut hints = all.iter().map(|alert| alert.hint.as_deref().expect("a way out"));
    assert!(hints.all(|hint| hint.contains("tank")));
}

#[test]
fn wrong_data_that_was_made_right_is_no_alert() {
    let counters = PoolCounters {
        wrong_blocks_corrected: 9,
        sectors_repaired: 9,
        sectors_healed: 9,
        ..PoolCounters::default()
    };
    assert_eq!(told(&[Pool { counters: Some(counters), ..pool(&["online"], vec![]) }]), []);
}

#[test]
fn a_rebuild_that_was_told_to_be_stuck_is_an_error_until_it_goes_on() {
    let rebuild = Some(Progress { obstacle: Some(Obstacle::Unreadable), ..Progress::default() });
    let jobs = || Some(PoolJobs { rebuild, ..PoolJobs::default() });
    let look = |states: &[&str]| Pool { jobs: jobs(), ..pool(states, vec![]) };
    let stuck = Standing::default().with_rebuild(true);
    let of_it = |pool: Pool| {
        let all = alerts(&[pool], |pool| stuck.after(pool), &[]);
        all.into_iter().find(|alert| alert.code == "rebuild_stuck")
    };
    let alert = of_it(look(&["degraded", "need-rebuild"])).expect("it stands still");
    assert_eq!((alert.severity, alert.pool.as_deref()), (Severity::Error, Some("tank")));
    assert!(alert.message.ends_with("bring lost drives back"), "{}", alert.message);
    assert!(alert.hint.is_some_and(|hint| hint.contains("pool add-drive tank ")));
    assert_eq!(of_it(look(&["degraded", "rebuilding"])), None);
}

#[test]
fn a_pool_that_has_a_word_of_the_hints_in_its_name_keeps_it_and_a_lost_drive_is_named() {
    let drives = vec![drive("drive-0", &["online"]), drive("drive-1", &["failed"])];
    let ill = Pool { name: "myDRIVE".to_owned(), ..pool(&["read-only"], drives) };
    let all = alerts_of(&[ill]);
    let hints: Vec<&str> = all.iter().filter_map(|alert| alert.hint.as_deref()).collect();
    assert!(hints[0].contains("`ashlar drive return myDRIVE/drive-1`"), "{hints:?}");
    assert!(hints[1].contains("`ashlar pool replace myDRIVE drive-1 /dev/...`"), "{hints:?}");
}
