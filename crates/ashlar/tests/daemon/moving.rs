//! A pool's drives move to another machine: in any order, whether it was exported or its machine
//! died.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place, skip};

const DRIVES: usize = 5;
/// Blocks of the volume: 32 MiB.
const BLOCKS: u64 = 8192;

/// A pool with a volume that a host has filled, on a machine that runs.
fn filled(seed: u64) -> (Place, Daemon, Vec<Volume>) {
    let place = Place::by_hand();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, seed)], seed);
    load.await_rounds();
    let volumes = load.join().0;
    (place, daemon, volumes)
}

/// Moves a drive's file from machine to machine, into another slot: the order is turned around.
fn carry(index: usize, from: &Place, to: &Place) {
    fs::rename(from.image(index), to.image(DRIVES - 1 - index)).expect("a file");
}

fn directory(place: &Place) -> String {
    place.path("").display().to_string()
}

#[test]
fn an_exported_pool_is_imported_by_another_machine_in_any_order_once_all_drives_are_there() {
    let (here, _here, volumes) = filled(41);
    here.ok(&["pool", "export", "tank", "--yes"]);
    let there = Place::new();
    let daemon = there.start();
    (1..DRIVES).for_each(|index| carry(index, &here, &there));
    let drives = directory(&there);
    let import = ["pool", "import", "--drive", &drives];
    let said = there.refused(&import);
    for part in ["of 5 drives", "drive 0", "--degraded"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    assert_eq!(there.json(&["pool", "list"]), serde_json::json!([]));
    carry(0, &here, &there);
    there.ok(&import);
    assert_eq!(there.pool_states("tank"), ["online"]);
    let volumes = Load::start(&there, volumes, 42).join().0;
    // It is the new machine's from now on, also after a restart.
    daemon.terminate();
    let _daemon = there.start();
    assert_eq!(there.pool_states("tank"), ["online"]);
    Load::start(&there, volumes, 43).join();
}

/// It would count as redundancy that is not there until reads had found out, one by one, what it
/// has missed.
#[test]
fn an_old_copy_of_a_drive_is_not_taken_for_the_drive() {
    let (here, _here, volumes) = filled(57);
    here.ok(&["pool", "export", "tank", "--yes"]);
    let (copy, drive) = (here.path("copy"), here.image(2));
    fs::copy(&drive, &copy).expect("room");
    let drives: Vec<String> =
        (0..DRIVES).flat_map(|drive| ["--drive".to_owned(), here.drive(drive)]).collect();
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let import = [&["pool", "import"][..], &drives].concat();
    here.ok(&import);
    let volumes = Load::start(&here, volumes, 58).join().0;
    here.ok(&["pool", "export", "tank", "--yes"]);
    fs::rename(&copy, &drive).expect("a file");
    let said = here.refused(&import);
    for part in ["2.img is drive 2, but stale", "--degraded", "drive return tank/drive-2"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    here.ok(&[&import[..], &["--degraded"]].concat());
    // Whatever of it is restored by the time one looks.
    let [lost, stale] = here.drive_states("tank", 2).try_into().expect("two words");
    assert!(["absent", "released"].contains(&&*lost) && stale == "stale", "{lost}, {stale}");
    let volumes = Load::start(&here, volumes, 59).join().0;
    here.ok(&["drive", "return", "tank/drive-2"]);
    here.ok(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(here.json(&["pool", "show", "tank"])["counters"]["wrong_blocks_corrected"], 0);
    Load::start(&here, volumes, 60).join();
}

/// Whoever took the wrong one of the two for the drive would go on from what was true when the copy
/// was made.
#[test]
fn a_pool_with_a_copy_of_a_drive_is_imported_once_the_copy_is_taken_away() {
    let (here, _here, volumes) = filled(53);
    here.ok(&["pool", "export", "tank", "--yes"]);
    let there = Place::new();
    let _there = there.start();
    (0..DRIVES).for_each(|index| carry(index, &here, &there));
    let copy = there.image(DRIVES);
    fs::copy(there.image(DRIVES - 1 - 2), &copy).expect("room");
    let drives = directory(&there);
    for degraded in [&[][..], &["--degraded"]] {
        let said = there.refused(&[&["pool", "import", "--drive", &drives], degraded].concat());
        assert!(said.contains("two drives both claim to be drive 2 of the pool"), "{said}");
        assert_eq!(there.json(&["pool", "list"]), serde_json::json!([]));
    }
    fs::remove_file(copy).expect("a file");
    there.ok(&["pool", "import", "--drive", &drives]);
    assert_eq!(there.pool_states("tank"), ["online"]);
    Load::start(&there, volumes, 54).join();
}

#[test]
fn what_is_left_of_a_dead_machines_pool_is_imported_when_that_is_said_and_what_was_forgotten_is_stale()
 {
    let (here, daemon, volumes) = filled(43);
    daemon.kill();
    let there = Place::new();
    let _there = there.start();
    (1..DRIVES).for_each(|index| carry(index, &here, &there));
    let drives = directory(&there);
    there.refused(&["pool", "import", "--drive", &drives]);
    there.ok(&["pool", "import", "--drive", &drives, "--degraded"]);
    Load::start(&there, volumes, 44).join();
    // The drive that was forgotten is no pool for the machine that comes back.
    let here_again = here.start();
    let pool = here.json(&["pool", "list"])[0].clone();
    assert_eq!(pool["states"][0], "unavailable");
    here.ok(&["pool", "export", "tank", "--yes"]);
    let said = here.refused(&["pool", "import", "--drive", &here.file(0), "--degraded"]);
    assert!(said.contains("4 of 5 drives are missing"), "{said}");
    drop(here_again);
}

#[test]
fn a_pool_that_one_machine_has_open_is_not_imported_by_another() {
    let (here, _here, volumes) = filled(47);
    let there = Place::new();
    let _there = there.start();
    let drives = directory(&here);
    for degraded in [&[][..], &["--degraded"]] {
        let said = there.refused(&[&["pool", "import", "--drive", &drives], degraded].concat());
        assert!(said.contains("in use"), "{said}");
    }
    assert_eq!(here.pool_states("tank"), ["online"]);
    Load::start(&here, volumes, 48).join();
}

/// A file as a block device. Two of one file are two machines' ways to one drive: the lock on one
/// says nothing of the other.
struct Loop(String);

impl Loop {
    fn over(path: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(path).output().ok()?;
        let name = String::from_utf8(made.stdout).expect("a name").trim().to_owned();
        made.status.success().then_some(Loop(name))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// Files, and two ways to each of them.
fn shared_drives(place: &Place) -> Option<(Vec<Loop>, Vec<Loop>)> {
    let files: Vec<_> = (0..DRIVES).map(|index| place.image(index)).collect();
    for file in &files {
        fs::File::create(file).and_then(|file| file.set_len(48 << 20)).expect("room");
    }
    let all = || files.iter().map(|file| Loop::over(file)).collect::<Option<Vec<_>>>();
    Some((all()?, all()?))
}

fn with_drives<'a>(words: &[&'a str], drives: &'a [Loop]) -> Vec<&'a str> {
    words
        .iter()
        .copied()
        .chain(drives.iter().flat_map(|drive| ["--drive", drive.0.as_str()]))
        .collect()
}

fn make_shared(here: &Place, drives: &[Loop]) -> Vec<Volume> {
    here.ok(&with_drives(&["pool", "create", "tank", "--level", "5"], drives));
    let size = (BLOCKS * 4096).to_string();
    here.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(here, vec![Volume::new("tank/v0", BLOCKS, 59)], 59);
    load.await_rounds();
    load.join().0
}

/// Locks end at the machine. Both had the pool, and each wrote where the other one did.
#[test]
fn machines_that_reach_the_same_drives_have_the_pool_one_after_the_other() {
    let (here, there) = (Place::new(), Place::new());
    let Some((ways_here, ways_there)) = shared_drives(&here) else {
        return skip("there are no loop devices");
    };
    let (daemon, _there) = (here.start(), there.start());
    let volumes = make_shared(&here, &ways_here);
    let import = with_drives(&["pool", "import", "tank"], &ways_there);
    let said = there.refused(&import);
    assert!(said.contains("has the pool open: export it there"), "{said}");
    let said = there.refused(&["drive", "label-clear", &ways_there[1].0, "--yes"]);
    assert!(said.contains("belongs to pool 'tank'"), "{said}");
    let volumes = Load::start(&here, volumes, 60).join().0;

    // It stands still, and another machine takes over.
    daemon.stop_while(|| drop(there.ok(&import)));
    let volumes = Load::start(&there, volumes, 61).join().0;
    here.wait_until("the pool is another machine's", |here| {
        here.in_words(&["pool", "show", "tank"]).contains("has opened the pool")
    });
    let error = Load::start(&here, vec![Volume::new("tank/v0", BLOCKS, 59)], 62).error();
    assert!(!error.is_empty(), "nothing of it is answered here");
    let said = here.refused(&["pool", "destroy", "tank", "--yes"]);
    assert!(said.contains("has opened pool 'tank'"), "{said}");
    here.run(&["pool", "export", "tank", "--yes"]);
    assert_eq!(here.json(&["pool", "list"]), serde_json::json!([]));
    let volumes = Load::start(&there, volumes, 63).join().0;

    // And back, without a wait for a machine that has stopped.
    there.ok(&["pool", "export", "tank", "--yes"]);
    here.ok(&with_drives(&["pool", "import", "tank"], &ways_here));
    Load::start(&here, volumes, 64).join();
}
