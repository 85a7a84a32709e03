//! Labels that are taken off drives, and given back.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::Place;

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

/// Nothing led back to a pool whose drives somebody had partitioned, and nothing of it was gone.
#[test]
fn a_pool_under_partition_tables_gets_its_labels_back() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["pool", "export", "tank", "--yes"]);
    let drives: Vec<String> = (0..3).map(|number| place.file(number)).collect();
    let labelled = place.refused(&["drive", "label-restore", &drives[0], "--yes"]);
    assert_says(&labelled, &["0.img", "drive 0 of pool 'tank'", "nothing to restore"]);
    (0..3).for_each(|number| partition(&place.image(number)));
    let import =
        ["pool", "import", "--drive", &drives[0], "--drive", &drives[1], "--drive", &drives[2]];
    let way_out =
        ["drive 0 of the Ashlar pool 'tank'", "label was overwritten by", "drive label-restore"];
    assert_says(
        &place.refused(&import),
        &[&["none of the drives is a member"], &way_out[..]].concat(),
    );
    assert_says(&place.ok(&["drive", "show", &drives[0]]), &way_out);
    let create = ["pool", "create", "other", "--level", "0", "--drive", &drives[0]];
    assert_says(&place.refused(&create), &way_out);
    let asked = place.refused(&["drive", "label-restore", &drives[0]]);
    assert_says(&asked, &["GPT", "is lost", "drive 0 of pool 'tank'", "--yes"]);
    let some = place.run(&["drive", "label-restore", &drives[0], &place.file(8), "--yes"]);
    assert!(!some.status.success(), "there is no 8.img");
    assert_says(
        &String::from_utf8_lossy(&some.stdout),
        &["0.img is drive 0 of the Ashlar pool 'tank'"],
    );
    assert_says(&String::from_utf8_lossy(&some.stderr), &["8.img"]);
    let restored = place.ok(&["drive", "label-restore", &drives[1], &drives[2], "--yes"]);
    assert_says(&restored, &["2.img is drive 2 of the Ashlar pool 'tank'"]);
    place.ok(&import);
    assert!((0..3).all(|number| !place.has_lost("tank", number)));
    fs::write(place.image(9), vec![0; 32 << 20]).expect("there is room");
    let blank = place.refused(&["drive", "label-restore", &place.file(9), "--yes"]);
    assert_says(&blank, &["9.img", "no copy of a label"]);
}

/// Writes a GPT at both ends of a drive, as partition tools do.
fn partition(drive: &Path) {
    let file = fs::OpenOptions::new().write(true).open(drive).expect("it is there");
    let size = file.metadata().expect("a file").len();
    let mut table = vec![0; 34 * 512];
    table[510..512].copy_from_slice(&[0x55, 0xaa]);
    table[450] = 0xee;
    table[512..520].copy_from_slice(b"EFI PART");
    file.write_all_at(&table, 0).expect("room");
    table.rotate_left(512);
    table.truncate(33 * 512);
    table[32 * 512..32 * 512 + 8].copy_from_slice(b"EFI PART");
    file.write_all_at(&table, size - table.len() as u64).expect("room");
}

#[test]
fn a_label_is_cleared_only_from_a_drive_that_no_open_pool_has() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    assert_says(
        &place.refused(&["drive", "label-clear", &place.file(0), "--yes"]),
        &["in use by pool 'tank'"],
    );
    place.ok(&["pool", "export", "tank", "--yes"]);
    assert_says(
        &place.ok(&["drive", "label-clear", &place.file(0), "--yes"]),
        &["pool 'tank'", "cleared"],
    );
    // Nobody is asked whether nothing may be lost.
    assert_says(
        &place.refused(&["drive", "label-clear", &place.file(0)]),
        &["0.img carries no label"],
    );
    assert!(!place.ok(&["drive", "show", &place.file(0)]).contains("tank"));
    let others = [place.file(1), place.file(2)];
    place.ok(&["pool", "import", "--drive", &others[0], "--drive", &others[1], "--degraded"]);
    assert!(place.has_lost("tank", 0));
}
