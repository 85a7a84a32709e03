//! A pool with single parity loses a drive while a host reads, writes and trims: the host sees no
//! error and no wrong byte, then and after each start, without the drive and with what it held long
//! ago.

use std::fs::{self, File};
use std::path::Path;

use crate::hosts::{Load, Volume};
use crate::support::Place;

/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 5;
/// The one that is lost.
const LOST: usize = 3;
/// Blocks of the volume: 48 MiB.
const BLOCKS: u64 = 12288;

fn make_pool(place: &Place) {
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    daemon.terminate();
}

fn is_believed(place: &Place) -> bool {
    place.drive_states("tank", LOST).iter().any(|state| state == "online")
}

/// A file as it is now, where it is not to be found. Returns its name.
fn copy_of(place: &Place, image: &Path) -> std::path::PathBuf {
    let copy = place.aside(LOST);
    fs::copy(image, &copy).expect("room");
    copy
}

/// Loses the drive under load by `lose`. Returns the volume, with what its blocks must read as.
fn lose_under_load(place: &Place, volume: Volume, lose: impl FnOnce(&Path)) -> Volume {
    let daemon = place.start();
    let mut load = Load::start(place, vec![volume], 1);
    load.await_rounds();
    assert_eq!(place.pool_states("tank"), ["online"]);
    lose(&place.image(LOST));
    load.await_rounds();
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", LOST));
    load.await_rounds();
    let mut volumes = load.join().0;
    daemon.terminate();
    volumes.pop().expect("the volume")
}

/// How a daemon that works without the lost drive is ended, and what it says of the drive until
/// then.
#[derive(Clone, Copy)]
struct Life {
    drive_is: &'static str,
    end_well: bool,
}

/// A start after which everything is right without the lost drive, and remains so under load.
fn works_without(place: &Place, volume: Volume, seed: u64, life: Life) -> Volume {
    let daemon = place.start();
    assert_states(place, life);
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
    let states = place.drive_states("tank", LOST);
    let is = |word: &str| states.iter().any(|state| state == word);
    // What lived on it may have been rebuilt by now.
    let is_known = is(life.drive_is) || (life.drive_is == "absent" && is("released"));
    assert!(is_known && place.has_lost("tank", LOST) && !is_believed(place), "{states:?}");
}

#[test]
fn a_drive_that_is_removed_costs_nothing_and_is_not_believed_when_it_comes_back() {
    let place = Place::by_hand();
    make_pool(&place);
    let mut stale = None;
    let volume = lose_under_load(&place, Volume::new("tank/v0", BLOCKS, 11), |image| {
        stale = Some(copy_of(&place, image));
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

/// Single parity survives one drive at a time, and any number one after the other, as long as there
/// is room.
#[test]
fn a_second_drive_may_go_once_what_lived_on_the_first_is_on_others() {
    const SECOND: usize = 0;
    let place = Place::new();
    make_pool(&place);
    let daemon = place.start();
    place.ok(&["pool", "set", "tank", "recon-prio=50", "recon-p99=20ms"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 13)], 1);
    for (lost, left) in [(LOST, 4), (SECOND, 3)] {
        load.await_rounds();
        fs::remove_file(place.image(lost)).expect("a file");
        place.wait_until("the loss is noticed", |place| place.has_lost("tank", lost));
        place.ok(&["pool", "rebuild", "tank", "--wait"]);
        assert_eq!(place.drive_states("tank", lost)[0], "released");
        assert_eq!(place.pool_states("tank"), ["online", "reduced"]);
        let drives = place.json(&["drive", "list"]);
        let online = drives
            .as_array()
            .expect("drives")
            .iter()
            .filter(|drive| drive["states"][0] == "online");
        assert_eq!(online.count(), left);
        load.await_rounds();
    }
    let volumes = load.join().0;
    daemon.kill();
    let daemon = place.start();
    let pool = place.json(&["pool", "show", "tank"]);
    assert_eq!(
        (&pool["settings"]["recon_prio_percent"], &pool["settings"]["recon_p99_us"]),
        (&50.into(), &20_000.into())
    );
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn a_pool_takes_a_drive_instead_of_one_that_it_has_lost() {
    const ADDED: usize = DRIVES;
    let place = Place::new();
    make_pool(&place);
    let daemon = place.start();
    let limit =
        || place.json(&["pool", "show", "tank"])["space"]["limit_bytes"].as_u64().expect("bytes");
    let limit_at_first = limit();
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 17)], 1);
    load.await_rounds();
    fs::remove_file(place.image(LOST)).expect("a file");
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", LOST));
    let pool = place.json(&["pool", "add-drive", "tank", &place.drive(ADDED)]);
    assert_eq!(pool["drives"][ADDED]["states"][0], "online");
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    assert_eq!(limit(), limit_at_first);
    let volumes = load.join().0;
    daemon.kill();
    // The daemon remembers where the drive is, and the pool that it is a member.
    let daemon = place.start();
    assert_eq!(place.drive_states("tank", ADDED)[0], "online");
    fs::remove_file(place.image(0)).expect("a file");
    Load::start(&place, volumes, 2).join();
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 0));
    daemon.terminate();
}

#[test]
fn what_cannot_be_added_is_refused_with_the_reason_and_changes_nothing() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let foreign = place.image(7);
    let mut content = vec![0; 48 << 20];
    content[512..520].copy_from_slice(b"EFI PART");
    fs::write(&foreign, content).expect("room");
    let cases = [
        (place.file(1), "in use by pool 'tank'"),
        (place.file(7), "holds"),
        (
            format!("file:{},size=20MiB", place.image(8).display()),
            "a drive of this pool needs at least",
        ),
        (place.file(9), "there is no such file"),
    ];
    for (drive, why) in cases {
        let said = place.refused(&["pool", "add-drive", "tank", &drive]);
        assert!(said.contains(why), "'{why}' is not in: {said}");
    }
    assert!(!place.image(8).exists(), "what was made for it is gone again");
    assert_eq!(
        place.json(&["pool", "show", "tank"])["drives"].as_array().expect("drives").len(),
        3
    );
    place.ok(&["pool", "add-drive", "tank", &place.file(7), "--force"]);
    assert_eq!(place.drive_states("tank", 3)[0], "online");
}

#[test]
fn a_drive_is_given_up_on_demand_but_not_one_too_many() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..4);
    place.ok(&["volume", "create", "tank/v0", "--size", "48MiB", "--allow", "any"]);
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    let cases = [
        (["drive", "fail", "tank/drive-9", "--yes"], "pool 'tank' has no drive 'drive-9'"),
        (["drive", "fail", "tank", "--yes"], "write POOL/DRIVE"),
    ];
    for (verb, why) in cases {
        let said = place.refused(&verb);
        assert!(said.contains(why), "'{why}' is not in: {said}");
    }
    place.ok(&["drive", "fail", "tank/drive-2", "--yes"]);
    assert!(place.has_lost("tank", 2));
    let said = place.refused(&["drive", "fail", "tank/2", "--yes"]);
    assert!(said.contains("the pool has lost tank/drive-2 already"), "{said}");
    place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(place.drive_states("tank", 2)[0], "released");
    for verb in [&["pool", "show", "tank"][..], &["drive", "list"]] {
        let said = place.in_words(verb);
        assert!(said.contains("tank/drive-2: given up by request"), "{said}");
    }
    let (lost, specs) = (place.image(2).display().to_string(), place.file(2));
    let takers = [
        &["pool", "add-drive", "tank", &specs][..],
        &["pool", "spare", "add", "tank", &specs],
        &["drive", "label-clear", &specs, "--yes"],
        &["pool", "add-drive", "tank", &lost],
    ];
    for taker in takers {
        let said = place.refused(taker);
        for part in [
            &lost,
            "drive-2 of pool 'tank'",
            "drive return tank/drive-2",
            "remove-drive tank drive-2",
        ] {
            assert!(said.contains(part), "'{part}' is not in: {said}");
        }
    }
    place.ok(&["drive", "fail", "tank/0", "--yes"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    // Two are left of a pool that needs two.
    let said = place.ok(&["drive", "fail", "tank/1", "--yes"]);
    assert!(said.contains("takes no writes until a drive is back"), "{said}");
    let states = place.pool_states("tank");
    assert!(
        states.contains(&"read-only".to_owned()) && !states.contains(&"full".to_owned()),
        "{states:?}"
    );
    let said = place.refused(&["drive", "fail", "tank/3", "--yes"]);
    for part in
        ["1 drive is lost of pool 'tank'", "its level survives no more", "tank/drive-3 --force"]
    {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    let done = place.ok(&["drive", "fail", "tank/3", "--force", "--yes"]);
    assert!(done.contains("takes no writes and cannot read some data"), "{done}");
    let pool = place.json(&["pool", "show", "tank"]);
    assert_eq!(pool["problem"], "2 drives are lost, and the level survives 1");
    assert_eq!(pool["drives"][3]["problem"], "given up by request");
}
