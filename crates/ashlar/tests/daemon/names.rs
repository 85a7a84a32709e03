//! What pools and volumes may be called: one rule, wherever a name comes from.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::Place;

const RULE: &str = "beginning with a letter or digit";

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

#[test]
fn what_nobody_could_write_is_no_name_for_a_pool_or_a_volume() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    let drives = place.drives(3..6);
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let uuid = "6b1d5f9c-2a3e-4b7d-9c8f-0a1b2c3d4e5f";
    for name in [".", "..", ".hidden", "_x", "a b", uuid, &"x".repeat(65)] {
        let created =
            place.refused(&[&["pool", "create", name, "--level", "5"], &drives[..]].concat());
        assert_says(&created, &[name, RULE]);
        let body =
            serde_json::json!({ "name": name, "level": "5", "drives": ["mem:64MiB"] }).to_string();
        assert_says(&place.request("POST", "/api/v1/pools", &body), &["400", "invalid_name", RULE]);
        let body =
            serde_json::json!({ "pool": "tank", "name": name, "size_bytes": 1 << 24 }).to_string();
        assert_says(
            &place.request("POST", "/api/v1/volumes", &body),
            &["400", "invalid_name", RULE],
        );
        let body = serde_json::json!({ "name": name }).to_string();
        let renamed = place.request("PATCH", "/api/v1/volumes/tank/v0", &body);
        assert_says(&renamed, &["400", "invalid_name", RULE]);
        assert_says(&place.refused(&["volume", "rename", "tank/v0", name]), &[name, RULE]);
    }
    place.ok(&["volume", "rename", "tank/v0", "tank/v1"]);
    place.ok(&["volume", "rename", "tank/v1", "v0"]);
    assert!(!place.image(3).exists(), "no drive was made");
    // A name that is a word of the API is one like others.
    place.ok(&[&["pool", "create", "import", "--level", "5"], &drives[..]].concat());
    assert_eq!(place.json(&["pool", "show", "import"])["name"], "import");
    place.ok(&["pool", "destroy", "import", "--yes"]);
}

/// Gives the pool on a drive another name, as an Ashlar that took any would have.
fn rename(image: &Path, name: &str) {
    let file = std::fs::File::options().read(true).write(true).open(image).expect("a drive");
    for offset in [0, (48 << 20) - 4096] {
        let mut sector = vec![0; 4096];
        file.read_exact_at(&mut sector, offset).expect("a superblock");
        sector[2048] = name.len() as u8;
        sector[2049..2113].fill(0);
        sector[2049..2049 + name.len()].copy_from_slice(name.as_bytes());
        sector[12..16].fill(0);
        let crc = ashlar_store::format::codec::crc32c(&sector);
        sector[12..16].copy_from_slice(&crc.to_le_bytes());
        file.write_all_at(&sector, offset).expect("room");
    }
}

#[test]
fn a_pool_with_an_impossible_name_is_imported_by_its_uuid_alone() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let uuid = place.json(&["pool", "show", "tank"])["uuid"].as_str().expect("a UUID").to_owned();
    place.ok(&["pool", "export", "tank", "--yes"]);
    (0..3).for_each(|index| rename(&place.image(index), ".."));
    let directory = place.path("").display().to_string();
    let said = place.refused(&["pool", "import", "--drive", &directory]);
    assert_says(&said, &["is called '..'", &uuid, "pool import"]);
    place.ok(&["pool", "import", &uuid, "--drive", &directory]);
    assert_eq!(place.json(&["pool", "show", &uuid])["name"], "..");
    place.ok(&["volume", "create", &format!("{uuid}/v0"), "--size", "16MiB"]);
    place.ok(&["pool", "export", &uuid, "--yes"]);
}
