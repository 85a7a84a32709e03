//! A pool with single parity loses a drive while a host reads, writes and trims: the host sees no error and
//! no wrong byte, then and after each start, without the drive and with what it held long ago.

#[allow(dead_code, reason = "each test uses a part of what they share")]
mod hosts;
#[allow(dead_code, reason = "each test uses a part of what they share")]
mod support;

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hosts::{Load, Volume};
use support::Place;

/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 5;
/// The one that is lost.
const LOST: usize = 3;
/// Blocks of the volume: 48 MiB.
const BLOCKS: u64 = 12288;
/// How long the daemon may take to notice that a drive is gone: only one that never looks takes that long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two looks at the daemon's status.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

fn make_pool(place: &Place) {
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    daemon.terminate();
}

fn states_of_lost_drive(place: &Place) -> Vec<String> {
    let pool = place.json(&["pool", "show", "tank"]);
    let states = pool["drives"][LOST]["states"].as_array().expect("states").iter();
    states.map(|state| state.as_str().expect("a word").to_owned()).collect()
}

fn is_believed(place: &Place) -> bool {
    states_of_lost_drive(place).iter().any(|state| state == "online")
}

fn pool_states(place: &Place) -> serde_json::Value {
    place.json(&["pool", "show", "tank"])["states"].clone()
}

fn await_loss(place: &Place) {
    let start = Instant::now();
    while is_believed(place) {
        assert!(start.elapsed() < PATIENCE, "nobody has noticed that the drive is gone");
        thread::sleep(LOOK_INTERVAL);
    }
}

/// A file as it is now, next to it. Returns its name.
fn copy_of(image: &Path) -> std::path::PathBuf {
    let copy = image.with_extension("stale");
    fs::copy(image, &copy).expect("room");
    copy
}

/// Loses the drive under load by `lose`. Returns the volume, with what its blocks must read as.
fn lose_under_load(place: &Place, volume: Volume, lose: impl FnOnce(&Path)) -> Volume {
    let daemon = place.start();
    let mut load = Load::start(place, vec![volume], 1);
    load.await_rounds();
    assert_eq!(pool_states(place), serde_json::json!(["online"]));
    lose(&place.image(LOST));
    load.await_rounds();
    await_loss(place);
    assert_eq!(pool_states(place), serde_json::json!(["degraded"]));
    load.await_rounds();
    let mut volumes = load.join().0;
    daemon.terminate();
    volumes.pop().expect("the volume")
}

/// How a daemon that works without the lost drive is ended, and what it says of the drive until then.
#[derive(Clone, Copy)]
struct Life {
    drive_is: &'static str,
    end_well: bool,
}

/// A start after which everything is right without the lost drive, and remains so under load.
fn works_without(place: &Place, volume: Volume, seed: u64, life: Life) -> Volume {
    let daemon = place.start();
    assert_states(place, life);
    assert_eq!(pool_states(place), serde_json::json!(["degraded"]));
    let mut load = Load::start(place, vec![volume], seed);
    load.await_rounds();
    assert_states(place, life);
    let mut volumes = load.join().0;
    if life.end_well {
        daemon.terminate()
    } else {
        daemon.kill()
    }
    volumes.pop().expect("the volume")
}

fn assert_states(place: &Place, life: Life) {
    let states = states_of_lost_drive(place);
    assert!(states.iter().any(|state| state == life.drive_is) && !is_believed(place), "{states:?}");
}

#[test]
fn a_drive_that_is_removed_costs_nothing_and_is_not_believed_when_it_comes_back() {
    let place = Place::new();
    make_pool(&place);
    let mut stale = None;
    let volume = lose_under_load(&place, Volume::new("tank/v0", BLOCKS, 11), |image| {
        stale = Some(copy_of(image));
        fs::remove_file(image).expect("a file");
    });
    let volume = works_without(&place, volume, 2, Life { drive_is: "absent", end_well: true });
    let volume = works_without(&place, volume, 3, Life { drive_is: "absent", end_well: false });
    fs::rename(stale.expect("a copy"), place.image(LOST)).expect("a copy");
    let volume = works_without(&place, volume, 4, Life { drive_is: "stale", end_well: false });
    assert!(place.image(LOST).exists());
    let volume = works_without(&place, volume, 5, Life { drive_is: "stale", end_well: true });
    works_without(&place, volume, 6, Life { drive_is: "stale", end_well: true });
}

#[test]
fn a_drive_whose_content_is_cut_off_costs_nothing() {
    let place = Place::new();
    make_pool(&place);
    let volume = lose_under_load(&place, Volume::new("tank/v0", BLOCKS, 12), |image| {
        File::options().write(true).open(image).and_then(|file| file.set_len(0)).expect("a file");
    });
    let volume = works_without(&place, volume, 2, Life { drive_is: "absent", end_well: false });
    works_without(&place, volume, 3, Life { drive_is: "absent", end_well: true });
}
