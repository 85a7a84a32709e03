//! Block devices that change their names, come late, and come back.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DRIVE_BYTES, DRIVES, checked, fill, is, places, shown};

use crate::hosts::Volume;
use crate::loops::Loop;
use crate::support::{Place, skip, spoil};

impl Loop {
    /// What a device is to whoever has it open when it is pulled: one without a size. What it held
    /// is kept aside.
    fn pull(&self, place: &Place, index: usize) {
        fs::copy(place.image(index), place.aside(index)).expect("room");
        File::options()
            .write(true)
            .open(place.image(index))
            .and_then(|file| file.set_len(0))
            .expect("a file");
        let pulled = Command::new("losetup").args(["--set-capacity", &self.0]).status();
        assert!(pulled.expect("losetup runs").success());
    }
}

/// A name of a device as udev gives it.
struct ById(PathBuf);

impl ById {
    fn of(device: &Loop, index: usize) -> Option<Self> {
        let directory = Path::new("/dev/disk/by-id");
        fs::create_dir_all(directory).ok()?;
        let name = format!("wwn-0x{:012x}{index:04x}", std::process::id());
        let kernel = Path::new(&device.0).file_name().expect("a name");
        std::os::unix::fs::symlink(Path::new("../..").join(kernel), directory.join(&name)).ok()?;
        Some(ById(directory.join(name)))
    }
}

impl Drop for ById {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn make_images(place: &Place) {
    for index in 0..DRIVES {
        File::create(place.image(index)).and_then(|file| file.set_len(DRIVE_BYTES)).expect("room");
    }
}

/// The images as block devices, in this order. `None`: this machine has no loop devices.
fn loops(place: &Place, order: [usize; DRIVES]) -> Option<Vec<Loop>> {
    order.iter().map(|index| Loop::over(&place.image(*index))).collect()
}

fn create_on(place: &Place, loops: &[Loop]) -> Vec<Volume> {
    let drives = loops.iter().flat_map(|device| ["--drive", device.0.as_str()]);
    place.ok(&["pool", "create", "tank", "--level", "5"]
        .into_iter()
        .chain(drives)
        .collect::<Vec<_>>());
    fill(place, "tank", 171)
}

/// A daemon with a pool on block devices, which are gone once it has ended. `None`: this machine
/// has none.
fn pool_on_loops(place: &Place) -> Option<Vec<Volume>> {
    make_images(place);
    let Some(devices) = loops(place, [0, 1, 2, 3, 4]) else {
        skip("there are no loop devices");
        return None;
    };
    let daemon = place.start();
    let volumes = create_on(place, &devices);
    daemon.terminate();
    Some(volumes)
}

#[test]
fn block_devices_are_found_in_any_order_and_beside_a_foreign_one() {
    let place = Place::new();
    let Some(mut volumes) = pool_on_loops(&place) else { return };
    let foreign = place.path("foreign");
    fs::write(&foreign, vec![0x5a; DRIVE_BYTES as usize]).expect("room");
    for (seed, order) in (172..).zip([[4, 3, 2, 1, 0], [1, 2, 3, 4, 0]]) {
        // It may get the name that a member had, and shifts the others.
        let beside = Loop::over(&foreign).expect("a loop device");
        let devices = loops(&place, order).expect("loop devices");
        let daemon = place.start();
        assert_eq!(place.pool_states("tank"), ["online"], "{}", shown(&place, "tank"));
        let mut found = places(&place, "tank");
        let mut there: Vec<String> = devices.iter().map(|device| device.0.clone()).collect();
        found.sort();
        there.sort();
        assert_eq!(found, there);
        volumes = checked(&place, volumes, seed);
        daemon.kill();
        drop(beside);
    }
    assert!(
        fs::read(&foreign).expect("a file").iter().all(|byte| *byte == 0x5a),
        "it was written to"
    );
}

#[test]
fn a_pool_that_was_exported_is_listed_by_an_import_that_names_none() {
    let place = Place::new();
    if pool_on_loops(&place).is_none() {
        return;
    }
    let devices = loops(&place, [0, 1, 2, 3, 4]).expect("loop devices");
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    place.ok(&["pool", "export", "tank", "--yes"]);
    let listed = place.ok(&["pool", "import"]);
    assert!(listed.contains("tank"), "{listed}");
    let listed = place.json(&["pool", "import"]);
    let pools = listed.as_array().expect("a list");
    assert!(pools.iter().any(|pool| pool["name"] == "tank"), "{listed}");
    let drives: Vec<&str> = devices.iter().map(|device| &*device.0).collect();
    let named: Vec<&str> = drives.iter().flat_map(|drive| ["--drive", drive]).collect();
    place.ok(&[&["pool", "import", "tank"], &named[..]].concat());
    daemon.terminate();
}

#[test]
fn block_devices_that_come_late_or_come_back_are_taken_in() {
    let place = Place::new();
    let Some(volumes) = pool_on_loops(&place) else { return };
    let mut devices: Vec<Loop> =
        [0, 1, 2].map(|index| Loop::over(&place.image(index)).expect("a loop device")).into();
    let daemon = place.start();
    assert!(is(&place, "tank", "unavailable"), "{:?}", place.pool_states("tank"));
    devices.push(Loop::over(&place.image(4)).expect("a loop device"));
    place.wait_until("the pool opens", |place| {
        !is(place, "tank", "unavailable") && !is(place, "tank", "opening")
    });
    devices.push(Loop::over(&place.image(3)).expect("a loop device"));
    place.wait_until("all are there", |place| place.pool_states("tank") == ["online"]);
    let volumes = checked(&place, volumes, 182);
    devices[1].pull(&place, 1);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 1));
    let volumes = checked(&place, volumes, 183);
    let back = Loop::over(&place.aside(1)).expect("a loop device");
    place.wait_until("it is back", |place| {
        place.pool_states("tank") == ["online"] && places(place, "tank").contains(&back.0)
    });
    let volumes = checked(&place, volumes, 184);
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    checked(&place, volumes, 185);
    daemon.terminate();
}

#[test]
fn block_devices_are_remembered_and_shown_by_names_that_outlive_a_restart() {
    let place = Place::new();
    make_images(&place);
    let Some(devices) = loops(&place, [0, 1, 2, 3, 4]) else {
        return skip("there are no loop devices");
    };
    let name = |(index, device)| ById::of(device, index);
    let Some(names) = (0..).zip(&devices).map(name).collect::<Option<Vec<ById>>>() else {
        return skip("no names can be given below /dev/disk/by-id");
    };
    let daemon = place.start();
    let volumes = create_on(&place, &devices);
    let by_id: Vec<String> = names.iter().map(|name| name.0.display().to_string()).collect();
    assert_eq!(places(&place, "tank"), by_id);
    let shown = shown(&place, "tank");
    for (index, device) in devices.iter().enumerate() {
        let drive = &shown["drives"][index];
        assert_eq!(
            (&drive["by_id"], &drive["spec"]),
            (&by_id[index].clone().into(), &by_id[index].clone().into())
        );
        assert_eq!(drive["kernel_name"], device.0.trim_start_matches("/dev/"));
    }
    let text = place.ok(&["drive", "list"]);
    let short = names[0].0.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(text.contains(short) && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let remembered = fs::read_to_string(place.path("node.toml")).expect("its state");
    assert!(by_id.iter().all(|name| remembered.contains(name.as_str())), "{remembered}");
    daemon.terminate();
    drop((names, devices));
    // Other devices, other names: the label tells.
    let devices = loops(&place, [2, 3, 4, 0, 1]).expect("loop devices");
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    checked(&place, volumes, 192);
    daemon.terminate();
    drop(devices);
}

#[test]
fn a_pool_on_block_devices_grows_with_them_and_is_checked_on_them() {
    let place = Place::new();
    make_images(&place);
    let Some(devices) = loops(&place, [0, 1, 2, 3, 4]) else {
        return skip("there are no loop devices");
    };
    let daemon = place.start();
    let volumes = create_on(&place, &devices);
    let raw = || shown(&place, "tank")["space"]["raw_bytes"].as_u64().expect("bytes");
    let before = raw();
    for (index, device) in devices.iter().enumerate() {
        let image = File::options().write(true).open(place.image(index)).expect("a file");
        image.set_len(2 * DRIVE_BYTES).expect("room");
        let grown = Command::new("losetup").args(["--set-capacity", &device.0]).status();
        assert!(grown.expect("losetup runs").success());
    }
    place.wait_until("the room is seen", |place| {
        place.in_words(&["pool", "show", "tank"]).contains("more: `ashlar pool grow tank`")
    });
    place.ok(&["pool", "grow", "tank"]);
    assert_eq!(raw(), before + DRIVES as u64 * DRIVE_BYTES);
    checked(&place, volumes, 201);
    daemon.terminate();
    let drives = devices.iter().map(|device| device.0.as_str());
    let check: Vec<&str> = ["pool", "check"].into_iter().chain(drives).collect();
    let report = place.json(&check);
    assert_eq!((&report["good"], &report["volumes"]), (&true.into(), &1.into()));
    // What it reads it finds wrong on a device as in a file.
    spoil(&place.image(1), 1 << 20, 64 << 10);
    drop(devices);
    let devices = loops(&place, [0, 1, 2, 3, 4]).expect("loop devices");
    let drives = devices.iter().map(|device| device.0.as_str());
    let check: Vec<&str> = ["pool", "check"].into_iter().chain(drives).collect();
    assert_eq!(place.run(&check).status.code(), Some(1));
}
