//! Drives whose superblocks are damaged or cannot be read by this version, and drives cut short.

use crate::cli::assert_says;
use crate::support::{Place, spoil};

#[test]
fn one_damaged_superblock_of_two_does_no_harm_and_both_cost_the_drive() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon.terminate();
    spoil(&place.image(0), 0, 4096);
    let daemon = place.start();
    assert_eq!(place.json(&["pool", "show", "tank"])["states"][0], "online");
    daemon.terminate();
    spoil(&place.image(1), 0, 16);
    spoil(&place.image(1), (48 << 20) - 4096, 4096);
    let daemon = place.start();
    assert!(place.has_lost("tank", 1));
    daemon.terminate();
}

#[test]
fn a_drive_that_was_cut_off_is_left_out() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon.terminate();
    std::fs::File::options().write(true).open(place.image(2)).unwrap().set_len(47 << 20).unwrap();
    let _daemon = place.start();
    let pool = place.json(&["pool", "show", "tank"]);
    assert!(place.has_lost("tank", 2));
    assert_says(&pool["notes"].to_string(), &["2.img", "47MiB"]);
}

#[test]
fn damaged_superblocks_on_all_drives_and_those_of_a_newer_format_are_told_apart() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("damaged", 0..3);
    place.create_pool("newer", 3..6);
    daemon.terminate();
    for index in 0..3 {
        spoil(&place.image(index), 256, 16);
        spoil(&place.image(index), (48 << 20) - 4096 + 256, 16);
    }
    for index in 3..6 {
        make_newer(&place.image(index));
    }
    let _daemon = place.start();
    let pools = place.json(&["pool", "list"]);
    let overwritten =
        ["of the Ashlar pool 'damaged'", "label was overwritten", "drive label-restore"];
    assert_says(&pools[0]["problem"].to_string(), &overwritten);
    assert_says(&pools[1]["problem"].to_string(), &["format 4.0", "newer Ashlar"]);
    let (one, two, three) = (place.file(3), place.drive(6), place.drive(7));
    let drives = ["--drive", &one, "--drive", &two, "--drive", &three];
    let said = place.refused(&[&["pool", "create", "other", "--level", "5"], &drives[..]].concat());
    assert_says(&said, &["an Ashlar pool of another format"]);
}

/// Makes both copies of a superblock those of format 4.0.
fn make_newer(image: &std::path::Path) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().read(true).write(true).open(image).unwrap();
    for offset in [0, (48 << 20) - 4096] {
        let mut sector = vec![0; 4096];
        file.read_exact_at(&mut sector, offset).unwrap();
        sector[8] = 4;
        sector[12..16].fill(0);
        let crc = ashlar_store::format::codec::crc32c(&sector);
        sector[12..16].copy_from_slice(&crc.to_le_bytes());
        file.write_all_at(&sector, offset).unwrap();
    }
}
