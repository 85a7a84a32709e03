//! Drives are removed and replaced under load: the host sees no error and no wrong byte, and what
//! was removed is empty.

use std::fs::{self, File};
use std::time::Duration;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place};

/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 5;
/// The one that goes.
const GOES: usize = 1;
/// The one that comes.
const COMES: usize = DRIVES;
/// Blocks of the volume: 32 MiB.
const BLOCKS: u64 = 8192;
/// How often who waits for a removal looks, five times over.
const SOME_LOOKS: Duration = Duration::from_secs(1);

fn make_pool(place: &Place) {
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
}

/// Writes to the volume of a new pool. Returns it, with what its blocks must read as.
fn fill(place: &Place, seed: u64) -> Vec<Volume> {
    let mut load = Load::start(place, vec![Volume::new("tank/v0", BLOCKS, seed)], 1);
    load.await_rounds();
    load.join().0
}

fn names(place: &Place) -> Vec<String> {
    let pool = place.json(&["pool", "show", "tank"]);
    let drives = pool["drives"].as_array().expect("drives").clone();
    drives.iter().map(|drive| drive["name"].as_str().expect("a name").to_owned()).collect()
}

/// The drive's file can be used for something else.
fn is_empty(place: &Place, index: usize) -> bool {
    let shown = place.run(&["drive", "show", &place.file(index), "--output", "json"]);
    shown.status.success() && crate::support::text(&shown.stdout).contains("\"blank\"")
}

#[test]
fn a_drive_is_removed_under_load_and_is_empty_then() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 31)], 1);
    load.await_rounds();
    let name = format!("drive-{GOES}");
    place.ok(&["pool", "remove-drive", "tank", &name, "--wait", "--yes"]);
    assert_eq!(names(&place), ["drive-0", "drive-2", "drive-3", "drive-4"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    assert!(is_empty(&place, GOES), "it is let go of");
    fs::remove_file(place.image(GOES)).expect("a file");
    load.await_rounds();
    let volumes = load.join().0;
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    fs::remove_file(place.image(0)).expect("a file");
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

/// It ended at once, and for a moment the drive was in use.
#[test]
fn who_waits_for_the_removal_of_a_drive_that_was_lost_before_waits_until_it_is_let_go_of() {
    let place = Place::by_hand();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    place.ok(&["pool", "remove-drive", "tank", "drive-1", "--wait", "--yes"]);
    assert_eq!(names(&place), ["drive-0", "drive-2", "drive-3", "drive-4"]);
    assert!(is_empty(&place, GOES), "it is let go of");
    daemon.terminate();
}

fn is_online(place: &Place, name: &str) -> bool {
    let pool = place.json(&["pool", "show", "tank"]);
    let drives = pool["drives"].as_array().expect("drives").clone();
    drives.iter().any(|drive| drive["name"] == name && drive["states"][0] == "online")
}

/// It ended well at once, while the drive was a member still and what had lived on it was not
/// restored.
#[test]
fn who_waits_for_the_removal_of_a_drive_that_is_lost_meanwhile_waits_until_it_is_no_member() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    let volumes = fill(&place, 67);
    // So that it is lost before it is empty. Should it be empty by then, it is no member all the
    // same.
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    let (waited, failed) = std::thread::scope(|scope| {
        let waiter = scope
            .spawn(|| place.run(&["pool", "remove-drive", "tank", "drive-1", "--wait", "--yes"]));
        place.wait_until("it is on its way out", |place| !is_online(place, "drive-1"));
        let failed = place.run(&["drive", "fail", "tank/drive-1", "--yes"]);
        // So that who waits sees that it is lost, unless little of it is left or the machine stands
        // still.
        std::thread::sleep(SOME_LOOKS);
        place.ok(&["pool", "set", "tank", "recon-prio=100"]);
        (waiter.join().expect("it runs"), failed)
    });
    let said = crate::support::text(&waited.stderr);
    assert!(waited.status.success(), "{said}");
    // What nobody saw between two looks is not said; but nothing is that was not so.
    let was_seen = said.contains("drive-1 was lost before it was empty");
    assert!(was_seen || said.is_empty(), "{said}");
    assert!(failed.status.success() || !was_seen, "{said}");
    assert_eq!(names(&place), ["drive-0", "drive-2", "drive-3", "drive-4"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

/// The checkpoint that decided it wrote to a segment on that drive, which nothing sealed: the
/// removal never ended.
#[test]
fn a_drive_leaves_a_pool_in_which_nothing_else_happens() {
    let place = Place::by_hand();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    place.ok(&["pool", "remove-drive", "tank", "drive-1", "--yes"]);
    place.wait_until("the drive has left", |place| !names(place).contains(&"drive-1".to_owned()));
    daemon.terminate();
}

#[test]
fn a_removal_goes_on_after_a_kill_and_can_be_cancelled() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    let volumes = fill(&place, 37);
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    place.ok(&["pool", "remove-drive", "tank", "drive-1", "--yes"]);
    daemon.kill();
    let daemon = place.start();
    // It may be no member by now.
    let cancelled = place.run(&["pool", "remove-drive", "tank", "drive-1", "--cancel"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    assert_eq!(names(&place).contains(&"drive-1".to_owned()), cancelled.status.success());
    if cancelled.status.success() {
        let said = place.refused(&["pool", "remove-drive", "tank", "drive-1", "--cancel"]);
        assert!(said.contains("is not being removed"), "{said}");
        place.ok(&["pool", "set", "tank", "recon-prio=100"]);
        place.ok(&["pool", "remove-drive", "tank", "drive-1", "--wait", "--yes"]);
    }
    place.wait_until("the drive is empty", |place| is_empty(place, GOES));
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn a_drive_is_replaced_whether_it_works_or_not() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 41)], 1);
    load.await_rounds();
    place.ok(&["pool", "replace", "tank", "drive-1", &place.drive(COMES), "--wait"]);
    assert!(is_empty(&place, GOES), "it is let go of");
    assert_eq!(names(&place), ["drive-0", "drive-2", "drive-3", "drive-4", "drive-5"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    place.ok(&["drive", "fail", "tank/drive-0", "--yes"]);
    place.ok(&["pool", "replace", "tank", "drive-0", &place.drive(COMES + 1), "--wait"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    assert_eq!(names(&place), ["drive-2", "drive-3", "drive-4", "drive-5", "drive-6"]);
    let volumes = load.join().0;
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn what_cannot_be_removed_is_refused_with_the_reason_and_stays() {
    let place = Place::by_hand();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let said = place.refused(&["pool", "remove-drive", "tank", "drive-9", "--yes"]);
    assert!(said.contains("pool 'tank' has no drive 'drive-9'"), "{said}");
    let said = place.refused(&["pool", "remove-drive", "tank", "drive-1", "--yes"]);
    assert!(said.contains("2 drives would be left, and the pool's level needs 3"), "{said}");
    let said = place.refused(&["pool", "replace", "tank", "drive-1", &place.file(9)]);
    assert!(said.contains("there is no such file"), "{said}");
    assert_eq!(names(&place), ["drive-0", "drive-1", "drive-2"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
}

/// Takes a drive away, with what it held then.
fn pull(place: &Place, index: usize) {
    fs::copy(place.image(index), place.aside(index)).expect("room");
    fs::remove_file(place.image(index)).expect("a file");
}

fn takes_nothing(place: &Place) -> bool {
    place.pool_states("tank").contains(&"read-only".to_owned())
}

/// Takes drives away without which the pool takes no writes, all at once: with a pause between them
/// what the first one held might be restored before the next one is missed. What they held when the
/// pool halted is kept.
fn pull_too_many(place: &Place, daemon: &Daemon, indexes: &[usize]) {
    let open = |index: &usize| File::open(place.image(*index)).expect("a file");
    let held: Vec<File> = indexes.iter().map(open).collect();
    daemon.stop_while(|| {
        indexes.iter().for_each(|index| fs::remove_file(place.image(*index)).expect("a file"));
    });
    place.wait_until("the pool takes no writes", takes_nothing);
    for (index, mut file) in indexes.iter().zip(held) {
        let mut pulled = File::create(place.aside(*index)).expect("room");
        std::io::copy(&mut file, &mut pulled).expect("room");
    }
}

fn push_in_again(place: &Place, index: usize) {
    fs::rename(place.aside(index), place.image(index)).expect("a file");
}

#[test]
fn a_drive_that_was_pulled_comes_back_under_load_and_is_needed_then() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 43)], 1);
    load.await_rounds();
    pull(&place, GOES);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", GOES));
    load.await_rounds();
    push_in_again(&place, GOES);
    place.ok(&["drive", "return", "tank/drive-1"]);
    place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    // What was written while it was pulled may have a scrub look at it.
    place.wait_until("nothing else is to be done", |place| place.pool_states("tank") == ["online"]);
    assert_eq!(names(&place), ["drive-0", "drive-2", "drive-3", "drive-4", "drive-5"]);
    load.await_rounds();
    pull(&place, 0);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 0));
    load.await_rounds();
    let volumes = load.join().0;
    daemon.kill();
    let daemon = place.start();
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn a_drive_comes_back_to_a_daemon_that_has_never_seen_it() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 47)], 1);
    load.await_rounds();
    pull(&place, GOES);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", GOES));
    let volumes = load.join().0;
    daemon.kill();
    let daemon = place.start();
    let said = place.refused(&["drive", "return", "tank/drive-1"]);
    assert!(said.contains("there is no such file"), "{said}");
    let elsewhere = place.image(9);
    fs::rename(place.aside(GOES), &elsewhere).expect("a file");
    let said = place.ok(&["drive", "return", "tank/drive-1", "--at", &place.file(9)]);
    assert!(said.starts_with("tank/drive-1 is back as tank/drive-5; "), "{said}");
    assert!(said.contains(&format!("tank/{} names it", place.file(9))), "{said}");
    place.wait_until("what it missed is restored", |place| {
        !names(place).contains(&"drive-1".to_owned())
    });
    // What was written while it was pulled may have a scrub look at it.
    place.wait_until("nothing else is to be done", |place| place.pool_states("tank") == ["online"]);
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn a_pool_that_has_lost_too_many_drives_goes_on_when_they_come_back() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    let volumes = fill(&place, 53);
    pull_too_many(&place, &daemon, &[0, GOES]);
    push_in_again(&place, GOES);
    place.ok(&["drive", "return", "tank/drive-1"]);
    assert!(!takes_nothing(&place), "{:?}", place.pool_states("tank"));
    let mut load = Load::start(&place, volumes, 2);
    load.await_rounds();
    let volumes = load.join().0;
    push_in_again(&place, 0);
    place.ok(&["drive", "return", "tank/drive-0"]);
    place.wait_until("all is restored", |place| place.pool_states("tank") == ["online"]);
    Load::start(&place, volumes, 3).join();
    daemon.terminate();
}

/// It was closed before anybody knew whether it could be opened again, and what could still be read
/// was gone.
#[test]
fn a_pool_that_has_halted_stays_open_until_enough_of_its_drives_are_there() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    let volumes = fill(&place, 59);
    pull_too_many(&place, &daemon, &[0, GOES]);
    let said = place.refused(&["drive", "return", "tank/drive-99"]);
    assert!(said.contains("has no drive 'drive-99'"), "{said}");
    let said = place.refused(&["drive", "return", "tank/drive-1"]);
    assert!(
        said.contains("2 of 5 drives are missing") && said.contains("stays open for reads"),
        "{said}"
    );
    assert!(said.contains("there is no such file"), "{said}");
    assert!(takes_nothing(&place), "{:?}", place.pool_states("tank"));
    for index in [0, GOES] {
        push_in_again(&place, index);
    }
    place.ok(&["drive", "return", "tank/drive-1"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

/// With the first of the lost ones the pool was taken for one that could be opened, and closed: but
/// that one had missed something.
#[test]
fn a_pool_that_has_halted_goes_on_with_the_drive_that_was_lost_last() {
    let place = Place::by_hand();
    let daemon = place.start();
    make_pool(&place);
    // What is lost first is not restored before the other drive is lost, too.
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 61)], 1);
    load.await_rounds();
    pull(&place, GOES);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", GOES));
    load.await_rounds();
    let volumes = load.join().0;
    pull_too_many(&place, &daemon, &[0]);
    push_in_again(&place, GOES);
    let said = place.refused(&["drive", "return", "tank/drive-1"]);
    assert!(
        said.contains("2 of 5 drives are missing") && said.contains("stays open for reads"),
        "{said}"
    );
    assert!(takes_nothing(&place), "{:?}", place.pool_states("tank"));
    push_in_again(&place, 0);
    place.ok(&["drive", "return", "tank/drive-0"]);
    place.wait_until("it takes writes", |place| !takes_nothing(place));
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn what_cannot_come_back_is_refused_with_the_reason() {
    let place = Place::by_hand();
    let _daemon = place.start();
    place.create_pool("tank", 0..4);
    let said = place.refused(&["drive", "return", "tank/drive-1"]);
    assert!(
        said.contains(
            "tank/drive-1 works: the pool has not lost it. Pool 'tank' has lost no drive"
        ),
        "{said}"
    );
    fs::write(place.image(9), vec![0; 48 << 20]).expect("room");
    pull(&place, GOES);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", GOES));
    let said = place.refused(&["drive", "return", "tank/drive-1", "--at", &place.file(9)]);
    assert!(said.contains("`ashlar pool replace` takes it as a new drive"), "{said}");
    push_in_again(&place, GOES);
    place.ok(&["drive", "return", "tank/drive-1"]);
    let said = place.refused(&["drive", "return", "tank"]);
    assert!(said.contains("write POOL/DRIVE"), "{said}");
}

#[test]
fn a_drive_that_comes_back_is_known_by_its_path() {
    let place = Place::by_hand();
    let _daemon = place.start();
    place.create_pool("tank", 0..4);
    let by_path = format!("tank/{}", place.file(GOES));
    for _ in 0..3 {
        place.ok(&["drive", "fail", &by_path, "--yes"]);
        let said = place.ok(&["drive", "return", &by_path]);
        assert!(said.contains(&format!("{by_path} is back as tank/drive-")), "{said}");
    }
}
