//! What volumes may be promised: formatted capacity, its bounds, and overcommitting.

use std::fs;

use crate::support::Place;

const MIB: u64 = 1 << 20;

fn figure(place: &Place, name: &str) -> u64 {
    let pool = place.json(&["pool", "show", "tank"]);
    pool["space"][name].as_u64().unwrap_or_else(|| panic!("{name} is not in {pool}"))
}

/// A pool of four drives that does not overcommit.
fn create(place: &Place) {
    let drives = place.drives(0..4);
    let arguments = ["pool", "create", "tank", "--level", "5"].into_iter();
    place.ok(&arguments.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>());
}

fn size(bytes: u64) -> String {
    bytes.to_string()
}

fn assert_says(said: &str, words: &[&str]) {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    words.iter().for_each(|word| assert!(said.contains(word), "'{word}' is not in: {said}"));
}

#[test]
fn volumes_are_promised_what_is_formatted_and_that_is_changed_while_they_are_in_use() {
    let place = Place::new();
    let daemon = place.start();
    create(&place);
    let provisioned = figure(&place, "provisioned_bytes") / MIB * MIB;
    assert_eq!(figure(&place, "formatted_bytes"), figure(&place, "provisioned_bytes"));
    place.ok(&["volume", "create", "tank/v0", "--size", &size(provisioned - 4 * MIB)]);
    let refused = place.refused(&["volume", "create", "tank/v1", "--size", "8MiB"]);
    assert_says(&refused, &["8MiB more cannot be promised", "set-capacity", "overcommit=on"]);
    let grown = size(provisioned + 4 * MIB);
    assert_says(
        &place.refused(&["volume", "resize", "tank/v0", "--size", &grown]),
        &["8MiB more cannot"],
    );
    place.ok(&["volume", "resize", "tank/v0", "--size", &size(provisioned)]);

    // Nothing is stored: nobody knows yet what data compress to.
    assert_says(&place.refused(&["pool", "set-capacity", "tank", "2x"]), &["--force"]);
    place.ok(&["pool", "set-capacity", "tank", "2x", "--force"]);
    assert_eq!(figure(&place, "formatted_bytes"), 2 * figure(&place, "provisioned_bytes"));
    place.ok(&["volume", "create", "tank/v1", "--size", "8MiB"]);
    assert_eq!(figure(&place, "promised_bytes"), provisioned + 8 * MIB);
    let refused = place.refused(&["pool", "set-capacity", "tank", "1x"]);
    assert_says(&refused, &["that volumes are promised", "delete volumes"]);
    place.ok(&["volume", "delete", "tank/v1", "--yes"]);
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(figure(&place, "formatted_bytes"), 2 * figure(&place, "provisioned_bytes"));
    place.ok(&["pool", "set-capacity", "tank", "1.0x"]);
    assert_eq!(figure(&place, "formatted_bytes"), figure(&place, "provisioned_bytes"));
}

#[test]
fn a_capacity_that_cannot_be_is_refused_and_nothing_changes() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    let formatted = figure(&place, "formatted_bytes");
    let refused =
        |wanted: &str| place.refused(&["pool", "set-capacity", "tank", "--force", "--", wanted]);
    assert_says(&refused("0"), &["less than the", "1.0x is the least"]);
    assert_says(&refused("0x"), &["1.0x is the least"]);
    assert_says(&refused("0.999x"), &["1.0x is the least"]);
    assert_says(&refused("-1x"), &["'-1x' is not a factor"]);
    assert_says(&refused("-5GiB"), &["neither a factor", "nor a size"]);
    assert_says(&refused("4.001x"), &["4.0x", "add drives, or choose less"]);
    assert_says(&refused("96TiB"), &["4.0x", "add drives, or choose less"]);
    assert_says(&refused("18446744073709551615"), &["4.0x"]);
    assert_says(&refused("99999999999x"), &["is not a factor"]);
    assert_says(&refused("2.4y"), &["neither a factor", "nor a size"]);
    assert_says(&refused("2.40001x"), &["at most three digits"]);
    assert_says(
        &place.refused(&["pool", "set-capacity", "tonk", "2x"]),
        &["there is no pool 'tonk'"],
    );
    let both = place.request(
        "POST",
        "/api/v1/pools/tank/set-capacity",
        r#"{"formatted_bytes": 1, "factor": "2x"}"#,
    );
    assert_says(&both, &["invalid_capacity", "give either formatted_bytes or factor"]);
    assert_eq!(figure(&place, "formatted_bytes"), formatted);
}

#[test]
fn a_pool_that_overcommits_promises_without_bound() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..4);
    place.ok(&["volume", "create", "tank/v0", "--size", "20TiB"]);
    assert_eq!(figure(&place, "promised_bytes"), 20 << 40);
    place.ok(&["pool", "set", "tank", "overcommit=off"]);
    let refused = place.refused(&["volume", "create", "tank/v1", "--size", "1MiB"]);
    assert_says(&refused, &["volumes have 20TiB"]);
    daemon.kill();
    let _daemon = place.start();
    // What is promised already stays promised.
    assert_eq!(figure(&place, "promised_bytes"), 20 << 40);
    place.ok(&["volume", "resize", "tank/v0", "--size", "1MiB", "--yes"]);
    place.ok(&["volume", "create", "tank/v1", "--size", "1MiB"]);
}

#[test]
fn of_two_changes_at_once_both_are_made_one_after_the_other() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    std::thread::scope(|scope| {
        for factor in ["2x", "3x"] {
            let place = &place;
            scope.spawn(move || {
                for _ in 0..10 {
                    place.ok(&["pool", "set-capacity", "tank", factor, "--force"]);
                }
            });
        }
    });
    let provisioned = figure(&place, "provisioned_bytes");
    assert!([2 * provisioned, 3 * provisioned].contains(&figure(&place, "formatted_bytes")));
}

#[test]
fn a_degraded_pool_keeps_what_is_formatted_and_lets_it_be_changed() {
    let place = Place::by_hand();
    let _daemon = place.start();
    create(&place);
    place.ok(&["pool", "set-capacity", "tank", "2x", "--force"]);
    let formatted = figure(&place, "formatted_bytes");
    fs::remove_file(place.image(0)).expect("a file");
    place.wait_until("the loss is known", |place| place.has_lost("tank", 0));
    assert_eq!(figure(&place, "formatted_bytes"), formatted, "it stays");
    place.ok(&["pool", "set-capacity", "tank", "3x", "--force"]);
}

#[test]
fn a_read_only_pool_says_why_what_is_formatted_stays_as_it_is() {
    let place = Place::by_hand();
    let _daemon = place.start();
    let drives = place.drives(0..2);
    let arguments = ["pool", "create", "tank", "--level", "1"].into_iter();
    place.ok(&arguments.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>());
    place.ok(&["pool", "set-capacity", "tank", "2x", "--force"]);
    let formatted = figure(&place, "formatted_bytes");
    fs::remove_file(place.image(1)).expect("a file");
    place.wait_until("the pool is read-only", |place| {
        place.pool_states("tank").contains(&"read-only".to_owned())
    });
    let refused = place.refused(&["pool", "set-capacity", "tank", "3x", "--force"]);
    assert_says(&refused, &["1 drives are left, and new data needs 2"]);
    assert_eq!(figure(&place, "formatted_bytes"), formatted);
}
