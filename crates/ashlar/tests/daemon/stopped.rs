//! A panic in the work of a pool, as a broken invariant is: the pool goes out of service with its
//! reason, everything else goes on, and nothing that was acknowledged is lost. A daemon that dies
//! of it twice leaves the pool closed.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place};

/// Drives of each pool.
const DRIVES: usize = 3;
/// Blocks of each volume: 8 MiB.
const BLOCKS: u64 = 2048;

/// Starts a daemon that panics when it is asked to.
fn start(place: &Place, more: &[&str]) -> Daemon {
    let file = place.path("panics");
    place.start_with(&[&["--inject-panics", file.to_str().expect("a name")], more].concat())
}

/// The next write to the first drive of the pool `ill` panics: `once`, or `twice` so that the
/// daemon ends.
fn ask_for_panic(place: &Place, how: &str) {
    // By a rename: it is read at any time.
    let text = format!("{how} {}\n", place.image(0).display());
    fs::write(place.path("panics.new"), text).expect("room");
    fs::rename(place.path("panics.new"), place.path("panics")).expect("a file");
}

fn filled(place: &Place, pool: &str, drives: std::ops::Range<usize>, seed: u64) -> Vec<Volume> {
    place.create_pool(pool, drives);
    let name = format!("{pool}/v0");
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", &name, "--size", &size, "--allow", "any"]);
    checked(place, vec![Volume::new(&name, BLOCKS, seed)], seed)
}

/// Checks all that the volumes hold, and loads them once more.
fn checked(place: &Place, volumes: Vec<Volume>, seed: u64) -> Vec<Volume> {
    let mut load = Load::start(place, volumes, seed);
    load.await_rounds();
    load.join().0
}

/// A write that the pool has to do.
fn change(place: &Place) -> std::process::Output {
    place.run(&["pool", "set", "ill", "scrub-prio=7"])
}

fn problem(place: &Place) -> String {
    let shown = place.json(&["pool", "show", "ill"]);
    shown["problem"].as_str().unwrap_or_default().to_owned()
}

fn is_out_of_service(place: &Place) -> bool {
    place.pool_states("ill") == ["unavailable"]
}

#[test]
fn a_panic_stops_its_pool_alone_and_the_pool_opens_again_with_all_that_it_had() {
    let place = Place::new();
    let daemon = start(&place, &[]);
    let ill = filled(&place, "ill", 0..DRIVES, 91);
    let well = filled(&place, "well", DRIVES..2 * DRIVES, 92);
    let mut load = Load::start(&place, well, 93);
    ask_for_panic(&place, "once");
    // Or the pool's own work meets it first, and there is no such pool for a moment.
    assert!(!change(&place).status.success());
    place.wait_until("the pool is out of service", is_out_of_service);
    let why = problem(&place);
    assert!(why.contains("a fault that was asked for") && why.contains("fault.rs"), "{why}");
    assert!(why.contains("ashlar pool import ill"), "{why}");
    place.wait_until("the event tells why", |place| {
        let events = place.json(&["events"]);
        let events = events.as_array().expect("a list").iter();
        let mut texts = events.filter(|event| event["object"] == "ill" || event["pool"] == "ill");
        texts.any(|event| {
            event["message"].as_str().is_some_and(|text| text.contains("that was asked for"))
        })
    });
    load.await_rounds();
    let well = load.join().0;
    let shown = place.json(&["status"]);
    assert_eq!(shown["pid"], daemon.pid(), "the daemon is the same");
    place.ok(&["pool", "import", "ill"]);
    assert_eq!(place.pool_states("ill"), ["online"]);
    let ill = checked(&place, ill, 94);
    daemon.terminate();
    let _daemon = start(&place, &[]);
    checked(&place, ill.into_iter().chain(well).collect(), 95);
}

#[test]
fn a_pool_that_a_panic_has_stopped_opens_by_itself_at_the_next_start_and_can_be_exported() {
    let place = Place::new();
    let daemon = start(&place, &[]);
    let ill = filled(&place, "ill", 0..DRIVES, 91);
    ask_for_panic(&place, "once");
    change(&place);
    place.wait_until("the pool is out of service", is_out_of_service);
    daemon.terminate();
    let _daemon = start(&place, &[]);
    assert_eq!(place.pool_states("ill"), ["online"]);
    checked(&place, ill, 96);
    ask_for_panic(&place, "once");
    change(&place);
    place.wait_until("the pool is out of service", is_out_of_service);
    place.ok(&["pool", "export", "ill", "--yes"]);
    let pools = place.json(&["pool", "list"]);
    assert_eq!(pools.as_array().map(Vec::len), Some(0));
    // Its drives are free.
    let given: Vec<String> =
        (0..DRIVES).flat_map(|index| ["--drive".to_owned(), place.file(index)]).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    place.ok(&[&["pool", "import", "ill"], given.as_slice()].concat());
}

/// When the daemon ends that a test has ended: twice within a minute, however long the test takes.
const END_SECONDS: &str = "1750000000";

/// The files that a daemon leaves which overflows its stack, or is killed for want of memory, while
/// it opens the pool.
fn leave_mark_of_opening(place: &Place, uuid: &str) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux has it");
    fs::write(place.path(&format!("opening-{uuid}")), format!("{END_SECONDS} {boot}"))
        .expect("room");
}

#[test]
fn a_daemon_that_ends_twice_without_a_word_while_it_opens_a_pool_starts_with_that_pool_closed() {
    let place = Place::new();
    let daemon = place.start();
    let ill = filled(&place, "ill", 0..DRIVES, 91);
    let well = filled(&place, "well", DRIVES..2 * DRIVES, 92);
    let uuid =
        place.json(&["pool", "show", "ill"])["uuid"].as_str().expect("it has one").to_owned();
    daemon.kill();
    leave_mark_of_opening(&place, &uuid);
    let daemon = place.start();
    assert_eq!(place.pool_states("ill"), ["online"], "once is no reason");
    assert!(!place.path(&format!("opening-{uuid}")).exists());
    daemon.kill();
    leave_mark_of_opening(&place, &uuid);
    let daemon = place.start();
    assert_eq!(
        (place.pool_states("ill"), place.pool_states("well")),
        (vec!["unavailable".to_owned()], vec!["online".to_owned()])
    );
    assert!(
        problem(&place).contains("its opening has ended the daemon twice"),
        "{}",
        problem(&place)
    );
    place.ok(&["pool", "import", "ill"]);
    checked(&place, ill.into_iter().chain(well).collect(), 95);
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(place.pool_states("ill"), ["online"]);
}

/// A kill right after a pool was seen to be open counted for its opening, whose mark was still
/// there; the second within a minute left the pool closed.
#[test]
fn a_daemon_that_is_killed_as_soon_as_its_pool_is_open_opens_it_at_the_next_start() {
    let place = Place::new();
    let daemon = place.start();
    drop(filled(&place, "tank", 0..DRIVES, 93));
    daemon.kill();
    for start in 0..8 {
        let daemon = place.start();
        assert_eq!(place.pool_states("tank"), ["online"], "start {start}");
        daemon.kill();
    }
}

/// The panic that ends the daemon, and not its pool alone.
fn die(place: &Place, mut daemon: Daemon) {
    ask_for_panic(place, "twice");
    change(place);
    assert_eq!(daemon.wait().signal(), Some(6), "aborted");
    let noted = fs::read_to_string(place.path("deaths")).expect("its end is noted");
    let pools = noted.lines().filter_map(|line| line.split_once(' '));
    let noted: String = pools.map(|(pool, _)| format!("{pool} {END_SECONDS}\n")).collect();
    fs::write(place.path("deaths"), noted).expect("room");
}

#[test]
fn a_daemon_that_dies_twice_within_a_minute_of_a_pool_starts_with_that_pool_closed() {
    let place = Place::new();
    let daemon = start(&place, &[]);
    let ill = filled(&place, "ill", 0..DRIVES, 97);
    let well = filled(&place, "well", DRIVES..2 * DRIVES, 98);
    die(&place, daemon);
    let daemon = start(&place, &[]);
    assert_eq!(place.pool_states("ill"), ["online"], "once may be chance");
    die(&place, daemon);
    let daemon = start(&place, &[]);
    assert!(is_out_of_service(&place));
    let why = problem(&place);
    assert!(why.contains("ended the daemon twice") && why.contains("--open-all"), "{why}");
    let well = checked(&place, well, 99);
    daemon.terminate();
    let daemon = start(&place, &[]);
    assert!(is_out_of_service(&place), "nobody has said that it may be opened");
    daemon.terminate();
    let daemon = start(&place, &["--open-all"]);
    assert_eq!(place.pool_states("ill"), ["online"]);
    checked(&place, ill.into_iter().chain(well).collect(), 100);
    daemon.terminate();
    let _daemon = start(&place, &[]);
    assert_eq!(place.pool_states("ill"), ["online"], "it is forgotten");
}

#[test]
fn a_pool_of_which_the_daemon_has_died_twice_is_opened_by_whoever_imports_it() {
    let place = Place::new();
    let mut daemon = start(&place, &[]);
    let ill = filled(&place, "ill", 0..DRIVES, 101);
    for _ in 0..2 {
        die(&place, daemon);
        daemon = start(&place, &[]);
    }
    assert!(is_out_of_service(&place));
    place.ok(&["pool", "import", "ill"]);
    let ill = checked(&place, ill, 102);
    daemon.terminate();
    let _daemon = start(&place, &[]);
    assert_eq!(place.pool_states("ill"), ["online"]);
    checked(&place, ill, 103);
}

// It was told of to nobody who waits for its drives: every later change of any pool waited for
// that.
#[test]
fn a_pool_whose_opening_panics_can_be_imported_and_holds_up_no_other_pool() {
    let place = Place::new();
    let daemon = start(&place, &[]);
    let ill = filled(&place, "ill", 0..DRIVES, 104);
    place.create_pool("well", DRIVES..2 * DRIVES);
    daemon.kill();
    ask_for_panic(&place, "once");
    let _daemon = start(&place, &[]);
    assert!(is_out_of_service(&place));
    let why = problem(&place);
    assert!(why.contains("a fault that was asked for"), "{why}");
    place.ok(&["pool", "add-drive", "well", &place.drive(2 * DRIVES)]);
    place.ok(&["pool", "import", "ill"]);
    checked(&place, ill, 105);
    place.ok(&["pool", "export", "ill", "--yes"]);
}

/// The daemon tried again by itself what had just panicked, and all changes waited for that.
#[test]
fn a_pool_whose_import_panics_is_not_opened_by_itself() {
    let place = Place::new();
    let daemon = start(&place, &[]);
    let ill = filled(&place, "ill", 0..DRIVES, 106);
    daemon.terminate();
    (1..DRIVES)
        .for_each(|index| fs::rename(place.image(index), place.aside(index)).expect("a file"));
    let _daemon = start(&place, &[]);
    place.wait_until("it lacks drives", is_out_of_service);
    ask_for_panic(&place, "once");
    let aside = (1..DRIVES).map(|index| format!("file:{}", place.aside(index).display()));
    let drives: Vec<String> = std::iter::once(place.file(0)).chain(aside).collect();
    let given = drives.iter().flat_map(|drive| ["--drive", drive.as_str()]);
    let import: Vec<&str> = ["pool", "import", "ill"].into_iter().chain(given).collect();
    assert!(!place.run(&import).status.success());
    assert!(is_out_of_service(&place), "it is not being opened");
    assert!(problem(&place).contains("a fault that was asked for"), "{}", problem(&place));
    place.ok(&import);
    checked(&place, ill, 107);
}
