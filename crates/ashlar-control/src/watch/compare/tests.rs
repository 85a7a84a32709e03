use super::*;
use crate::types::{AfterLoss, DataMove, JobKind, PoolJobs, PoolSpace, Progress};

fn drive(name: &str, states: &[&str]) -> PoolDrive {
    let states = states.iter().map(|state| (*state).to_owned()).collect();
    PoolDrive { name: name.to_owned(), uuid: name.to_owned(), states, ..PoolDrive::default() }
}

fn pool(states: &[&str], drives: &[&str], percent: Option<f64>) -> Seen {
    let names = ["drive-0", "drive-1", "drive-2"];
    let pool = Pool {
        name: "tank".to_owned(),
        uuid: "u".to_owned(),
        states: states.iter().map(|state| (*state).to_owned()).collect(),
        drives: names
            .iter()
            .zip(drives)
            .map(|(name, state)| drive(name, &[state, "sparse"]))
            .collect(),
        space: Some(PoolSpace::default()),
        jobs: Some(PoolJobs { rebuild: percent.map(at_percent), ..PoolJobs::default() }),
        ..Pool::default()
    };
    Seen { pools: vec![pool], ..Seen::default() }
}

fn at_percent(done_percent: f64) -> Progress {
    Progress { done_percent, ..Progress::default() }
}

/// Of the first pool.
fn space(seen: &mut Seen) -> &mut PoolSpace {
    seen.pools[0].space.as_mut().expect("it is open")
}

/// Of the first pool.
fn jobs(seen: &mut Seen) -> &mut PoolJobs {
    seen.pools[0].jobs.as_mut().expect("it is open")
}

/// Kinds, with the state, the percentage or the drive.
fn told(looks: impl IntoIterator<Item = Seen>) -> Vec<String> {
    let tell = |happening: Happening| {
        let percent = happening.done_percent.map(|percent| percent.to_string());
        let more =
            happening.states.first().cloned().or(percent).or(happening.drive).or(happening.host);
        more.map_or(happening.kind.clone(), |more| format!("{} {more}", happening.kind))
    };
    let mut looks = looks.into_iter();
    let mut before = looks.next().expect("a first look");
    let mut all = Vec::new();
    for mut now in looks {
        all.extend(happenings(&before, &mut now));
        before = now;
    }
    all.into_iter().map(tell).collect()
}

const WELL: [&str; 3] = ["online"; 3];

#[test]
fn a_loss_that_is_made_good_between_two_looks_is_told_as_one() {
    let gone = ["online", "released", "online"];
    let of_drive = |before: &Seen, now: &[&str]| {
        let all = happenings(before, &mut pool(&["online", "reduced"], now, None));
        let told = all.into_iter().find(|happening| happening.kind == "drive_state");
        told.map(|told| (told.severity, told.message, told.hint))
    };
    let (severity, message, hint) = of_drive(&pool(&["online"], &WELL, None), &gone).unwrap();
    assert_eq!(severity, Severity::Error);
    assert!(hint.is_some_and(|hint| hint.contains("replace")), "there is something to do");
    assert!(message.contains("drive-1 of pool 'tank' is lost"), "{message}");
    let failed = pool(&["degraded"], &["online", "failed", "online"], None);
    assert_eq!(of_drive(&failed, &gone).unwrap().0, Severity::Info, "the loss was told of");
    assert_eq!(of_drive(&Seen::default(), &gone).unwrap().0, Severity::Info, "it is an old one");
}

#[test]
fn a_lost_drive_is_told_from_loss_to_rebuilt_in_order() {
    let lost = ["online", "failed", "online"];
    let rebuilding = |percent| pool(&["degraded", "rebuilding"], &lost, Some(percent));
    let looks = [
        pool(&["online"], &WELL, None),
        pool(&["degraded"], &lost, None),
        rebuilding(0.0),
        rebuilding(9.9),
        rebuilding(10.0),
        rebuilding(10.1),
        rebuilding(57.5),
        pool(&["online", "reduced"], &["online", "released", "online"], None),
        pool(&["online", "reduced"], &["online", "released", "online"], None),
    ];
    assert_eq!(
        told(looks),
        [
            "drive_state failed",
            "pool_state_entered degraded",
            "rebuild_began 0",
            "rebuild_progress 10",
            "rebuild_progress 57",
            "drive_state released",
            "pool_state_entered reduced",
            "rebuild_ended",
            "pool_state_left degraded",
        ]
    );
}

#[test]
fn progress_says_how_much_is_left_and_for_how_long() {
    let look = |progress: Progress| {
        let mut seen = pool(&["degraded"], &WELL, None);
        jobs(&mut seen).rebuild = Some(progress);
        seen
    };
    let happened = |before: &Seen, now: &mut Seen| {
        let told = happenings(before, now)
            .into_iter()
            .find(|happening| happening.kind.starts_with("rebuild_"));
        let told = told.expect("it is told");
        (told.message, told.done_percent, told.left_bytes, told.eta_seconds)
    };
    let mut begun = look(Progress { left_bytes: 4 << 30, ..Progress::default() });
    let message = "the rebuild of pool 'tank' has begun: 4GiB left".to_owned();
    assert_eq!(
        happened(&pool(&["degraded"], &WELL, None), &mut begun),
        (message, Some(0), Some(4 << 30), None)
    );
    let mut later = look(Progress {
        done_percent: 50.3,
        left_bytes: 2 << 30,
        eta_seconds: Some(40),
        ..Progress::default()
    });
    let message = "the rebuild of pool 'tank' is done to 50 %: 2GiB left, 40s to go".to_owned();
    assert_eq!(happened(&begun, &mut later), (message, Some(50), Some(2 << 30), Some(40)));
}

#[test]
fn the_end_of_a_move_says_whether_it_is_done_was_stopped_or_has_failed() {
    for (state, problem, expected) in [
        ("finished", None, "has ended: 1GiB were moved"),
        ("stopped", None, "was stopped: what was not moved stays"),
        ("failed", Some("drive 1 was lost"), "has failed: drive 1 was lost"),
    ] {
        let mut begun = pool(&["online", "rebalancing"], &WELL, None);
        jobs(&mut begun).rebalance = Some(at_percent(10.0));
        happenings(&pool(&["online"], &WELL, None), &mut begun);
        let mut ended = pool(&["online"], &WELL, None);
        jobs(&mut ended).moves = vec![DataMove {
            kind: JobKind::Rebalance,
            states: vec![state.to_owned()],
            drives: Vec::new(),
            done_percent: 10.0,
            started_at: None,
            finished_at: None,
            took_seconds: None,
            moved_bytes: 1 << 30,
            problem: problem.map(str::to_owned),
        }];
        let told = happenings(&begun, &mut ended);
        let message = &told.first().expect("it has ended").message;
        assert_eq!(*message, format!("the rebalance of pool 'tank' {expected}"));
    }
}

#[test]
fn a_rebalance_is_told_from_its_beginning_to_its_end() {
    let look = |percent: Option<f64>| {
        let mut seen = pool(&["online"], &WELL, None);
        seen.pools[0].states.extend(percent.map(|_| "rebalancing".to_owned()));
        jobs(&mut seen).rebalance = percent.map(at_percent);
        seen
    };
    let looks = [None, Some(0.0), Some(5.0), Some(30.0), None].map(look);
    assert_eq!(told(looks), ["rebalance_began 0", "rebalance_progress 30", "rebalance_ended"]);
}

#[test]
fn a_drive_that_gets_slow_is_told_of_and_when_it_is_well() {
    let look = |is_slow: bool| {
        let mut seen = pool(&["online"], &WELL, None);
        seen.pools[0].drives[1].states.extend(is_slow.then(|| "slow".to_owned()));
        seen
    };
    let looks = [false, true, true, false].map(look);
    assert_eq!(told(looks), ["drive_state slow", "drive_state online"]);
}

/// All is on others before the drives know of it, and a second loss sets a rebuild back.
#[test]
fn a_rebuild_has_ended_when_the_pool_is_whole_and_not_before() {
    let lost = ["online", "absent", "online"];
    let look = |percent| pool(&["degraded"], &lost, percent);
    let percents = [None, Some(30.0), None, Some(95.0), Some(20.0), Some(25.0), Some(40.0), None];
    let mut expected = vec!["rebuild_began 30", "rebuild_progress 95", "rebuild_progress 40"];
    assert_eq!(told(percents.map(look)), expected);
    let whole = pool(&["online"], &WELL, None);
    expected.extend(["drive_state online", "rebuild_ended", "pool_state_left degraded"]);
    assert_eq!(told(percents.map(look).into_iter().chain([whole])), expected);
}

#[test]
fn a_drive_that_is_lost_while_it_is_evacuated_is_rebuilt() {
    let looks = [
        pool(&["online", "evacuating"], &["online", "evacuating", "online"], Some(50.0)),
        pool(&["online", "evacuating"], &["online", "evacuating", "online"], Some(51.0)),
        pool(&["degraded"], &["online", "failed", "online"], Some(0.0)),
    ];
    let told = told(std::iter::once(Seen::default()).chain(looks));
    let expected = [
        "evacuation_began 50",
        "drive_state failed",
        "pool_state_entered degraded",
        "rebuild_began 0",
    ];
    assert_eq!(told[3..7], expected);
}

#[test]
fn a_drive_that_is_removed_is_evacuated_and_gone() {
    let leaving = pool(&["online", "evacuating"], &["online", "online", "evacuating"], Some(1.0));
    let looks = [pool(&["online"], &WELL, None), leaving, pool(&["online"], &["online"; 2], None)];
    assert_eq!(
        told(looks),
        [
            "drive_state evacuating",
            "pool_state_entered evacuating",
            "evacuation_began 1",
            "drive_removed drive-2",
            "evacuation_ended",
            "pool_state_left evacuating",
        ]
    );
}

#[test]
fn pools_come_fill_up_and_go() {
    let looks = [
        Seen::default(),
        pool(&["online"], &WELL, None),
        pool(&["online", "full"], &WELL, None),
        pool(&["online"], &WELL, None),
        Seen::default(),
    ];
    let expected =
        ["pool_opened", "pool_state_entered full", "pool_state_left full", "pool_closed"];
    assert_eq!(told(looks), expected);
}

#[test]
fn a_pool_whose_forecast_comes_and_goes_is_warned_of_once() {
    let look = |(minutes, left)| {
        let mut seen = pool(&["online"], &WELL, None);
        space(&mut seen).full_in_seconds = left;
        Seen { at: Duration::from_secs(minutes * 60), ..seen }
    };
    let (soon, later, none) = (Some(3 * 3600), Some(5 * 3600), None);
    let looks = || [(0_u64, later), (1, soon), (2, later), (15, none), (16, soon), (17, later)];
    assert_eq!(told(looks().map(look)), ["pool_full_soon"], "14 minutes are not long");
    let again = looks().into_iter().chain([(31, later), (40, soon)]);
    assert_eq!(told(again.map(look)), ["pool_full_soon", "pool_full_soon"]);
}

#[test]
fn a_pool_that_is_found_lacking_says_so_at_once() {
    let found = pool(&["degraded"], &["online", "absent", "online"], None);
    let expected = ["pool_opened", "drive_state absent", "pool_state_entered degraded"];
    assert_eq!(told([Seen::default(), found]), expected);
    let shut = || pool(&["unavailable"], &["unknown"; 3], None);
    assert_eq!(told([Seen::default(), shut()]), ["pool_state_entered unavailable"]);
    let open = || pool(&["online"], &WELL, None);
    assert_eq!(told([shut(), open()]), ["pool_opened", "pool_state_left unavailable"]);
}

#[test]
fn a_pool_that_is_being_opened_is_told_of_once_it_is_open_or_could_not_be() {
    let opening = || pool(&["opening"], &["unknown"; 3], None);
    let shut = || pool(&["unavailable"], &["unknown"; 3], None);
    let open = || pool(&["online"], &WELL, None);
    assert_eq!(told([Seen::default(), opening(), open()]), ["pool_opened"]);
    assert_eq!(told([opening(), shut()]), ["pool_state_entered unavailable"]);
    // It is tried again, which says nothing until it is open.
    let tried_again = [shut(), opening(), shut(), opening(), open()];
    assert_eq!(told(tried_again), ["pool_opened", "pool_state_left unavailable"]);
    let lacking = pool(&["degraded"], &["online", "absent", "online"], None);
    assert_eq!(
        told([opening(), lacking]),
        ["pool_opened", "drive_state absent", "pool_state_entered degraded"]
    );
}

#[test]
fn a_drive_that_is_there_again_and_is_refused_is_told_of_once_for_each_reason() {
    let refused = |why: Option<&str>| {
        let mut seen = pool(&["degraded"], &["online", "absent", "online"], None);
        seen.pools[0].drives[1].return_refused = why.map(str::to_owned);
        seen
    };
    let looks = [None, Some("it is another"), Some("it is another"), Some("it hangs"), None];
    assert_eq!(told(looks.map(refused)), ["drive_refused drive-1"; 2]);
}

#[test]
fn a_drive_that_comes_is_told_of() {
    let looks = [pool(&["online"], &["online"; 2], None), pool(&["online"], &WELL, None)];
    assert_eq!(told(looks), ["drive_added drive-2"]);
}

/// It has two names until what it missed is restored, and was told to be online at every look.
#[test]
fn a_drive_that_comes_back_is_told_once() {
    let looks = || {
        let with = |drives: Vec<PoolDrive>| {
            let mut seen = pool(&["degraded"], &[], None);
            seen.pools[0].drives = drives;
            seen
        };
        let is =
            |name: &str, state: &str| PoolDrive { uuid: "new".to_owned(), ..drive(name, &[state]) };
        let back = || with(vec![is("drive-1", "returned"), is("drive-3", "online")]);
        [
            with(vec![drive("drive-1", &["absent"])]),
            back(),
            back(),
            with(vec![is("drive-3", "online")]),
        ]
    };
    assert_eq!(told(looks()), ["drive_state returned", "drive_added drive-3"]);
}

#[test]
fn a_finished_trim_is_told_once_with_what_it_has_left_out() {
    let look = |finished_at: Option<&str>, refusals: u64, skipped_drives: &[&str]| {
        let mut seen = pool(&["online"], &WELL, None);
        let skipped_drives = skipped_drives.iter().map(|drive| (*drive).to_owned()).collect();
        let finished_at = finished_at.map(str::to_owned);
        jobs(&mut seen).trim = Some(Trim {
            finished_at,
            free_bytes: 8 << 30,
            refusals,
            skipped_drives,
            ..Trim::default()
        });
        seen
    };
    let happened = |before: &Seen, mut now: Seen| {
        let all = happenings(before, &mut now).into_iter();
        all.map(|happening| (happening.severity, happening.message)).collect::<Vec<_>>()
    };
    let running = look(None, 0, &[]);
    let well = "the drives of pool 'tank' know of 8GiB of free space".to_owned();
    assert_eq!(happened(&running, look(Some("a"), 0, &[])), [(Severity::Info, well.clone())]);
    let ill = format!("{well}; drives have refused 3 times: the log says why; left out: drive-1");
    assert_eq!(
        happened(&look(Some("a"), 0, &[]), look(Some("b"), 3, &["drive-1"])),
        [(Severity::Warning, ill)]
    );
    assert!(happened(&look(Some("a"), 0, &[]), look(Some("a"), 0, &[])).is_empty());
}

#[test]
fn a_finished_scrub_is_told_once_with_what_it_has_found() {
    let look = |state: &str, finished_at: Option<u64>, wrong: u64, unrepaired: u64| {
        let mut seen = pool(&["online"], &WELL, None);
        let spec = Some("/dev/nvme1n1".to_owned());
        let drive =
            ScrubbedDrive { name: "drive-1".to_owned(), spec, wrong, ..ScrubbedDrive::default() };
        let drives = if wrong > 0 { vec![drive] } else { Vec::new() };
        let (states, checked_bytes) = (vec![state.to_owned()], 1 << 30);
        let finished_at = finished_at.map(|second| format!("2026-01-01T00:00:{second:02}Z"));
        jobs(&mut seen).scrub = Some(Scrub {
            states,
            finished_at,
            checked_bytes,
            wrong,
            unrepaired,
            drives,
            ..Scrub::default()
        });
        seen
    };
    let happened = |before: &Seen, mut now: Seen| {
        let all = happenings(before, &mut now).into_iter();
        all.map(|happening| (happening.severity, happening.message)).collect::<Vec<_>>()
    };
    let running = look("running", None, 0, 0);
    let well = happened(&running, look("finished", Some(9), 0, 0));
    let right = "the scrub of pool 'tank' has looked at 1GiB; everything was right".to_owned();
    assert_eq!(well, [(Severity::Info, right)]);
    let wrong = happened(&look("finished", Some(9), 0, 0), look("finished", Some(12), 3, 1));
    assert_eq!(wrong[0].0, Severity::Error);
    for part in ["3 wrong", "1 not repaired", "on drive-1 (/dev/nvme1n1)"] {
        assert!(wrong[0].1.contains(part), "'{part}' is not in: {}", wrong[0].1);
    }
    assert!(happened(&look("finished", Some(9), 3, 0), look("finished", Some(9), 3, 0)).is_empty());
    assert!(happened(&running, look("stopped", Some(9), 0, 0)).is_empty());
}

#[test]
fn what_cannot_be_remembered_is_told_once_and_again_when_more_of_it_cannot_and_so_is_its_end() {
    let look = |warnings: &[(&str, &str)]| {
        let warning = |(file, message): &(&str, &str)| Warning {
            file: (*file).to_owned(),
            message: (*message).to_owned(),
        };
        Seen { warnings: warnings.iter().map(warning).collect(), ..Seen::default() }
    };
    let looks = [
        look(&[]),
        look(&[("a", "no room")]),
        look(&[("a", "no room")]),
        look(&[("a", "no room: more")]),
        look(&[("a", "no room: more"), ("b", "no room")]),
        look(&[("b", "no room")]),
        look(&[]),
        look(&[]),
    ];
    let [failed, over] = ["state_not_written", "state_written"];
    assert_eq!(told(looks), [failed, failed, failed, over, over]);
}

/// Writes were refused, and nothing had been told before.
#[test]
fn what_gets_short_of_room_is_told_before_writes_are_refused_and_when_it_is_over() {
    let look = |states: &[&str]| {
        let mut seen = pool(states, &WELL, None);
        space(&mut seen).safe_to_write_bytes = 4 << 20;
        let problem =
            Some("without drive-0 new data would be refused: 8MiB more live than may".to_owned());
        space(&mut seen).after_loss =
            Some(AfterLoss { short_bytes: Some(8 << 20), problem, ..AfterLoss::default() });
        seen
    };
    let (well, short, nearly) =
        (["online"], ["online", "short-for-loss"], ["online", "nearly-full", "short-for-loss"]);
    let full = ["online", "short-for-loss", "full"];
    let messages = |before: &[&str], now: &[&str]| {
        let told = happenings(&look(before), &mut look(now));
        told.into_iter().map(|told| (told.severity, told.message)).collect::<Vec<_>>()
    };
    let warning = |message: &str| (Severity::Warning, message.to_owned());
    let short_for_loss = "pool 'tank' is short-for-loss: without drive-0 new data would be refused: 8MiB more live than may";
    assert_eq!(messages(&well, &short), [warning(short_for_loss)]);
    assert_eq!(
        messages(&short, &nearly),
        [warning("pool 'tank' is nearly-full: 4MiB are safe to write")]
    );
    assert_eq!(
        messages(&nearly, &full),
        [
            (Severity::Error, "pool 'tank' is full: writes are refused".to_owned()),
            (Severity::Info, "pool 'tank' is no longer nearly-full".to_owned())
        ]
    );
    assert_eq!(
        messages(&full, &well),
        ["short-for-loss", "full"]
            .map(|state| (Severity::Info, format!("pool 'tank' is no longer {state}")))
    );
}

/// `ashlar drive return tank/DRIVE` was told, which nobody can type.
#[test]
fn what_to_do_about_a_state_names_the_drive_that_is_lost() {
    let lost = ["online", "absent", "online"];
    let mut now = pool(&["degraded", "read-only"], &lost, None);
    let all = happenings(&pool(&["online"], &WELL, None), &mut now);
    let told = all.into_iter().find(|told| told.states == ["read-only"]).expect("it is told");
    let hint = told.settled().hint.expect("there is something to do");
    assert!(hint.contains("`ashlar drive return tank/drive-1`"), "{hint}");
}
