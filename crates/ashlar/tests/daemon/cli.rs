//! The command line and the daemon behind it, as people meet them.

use crate::support::{Place, refused, spoil};

const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:6b1d5f9c-2a3e-4b7d-9c8f-0a1b2c3d4e5f";

pub(crate) fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

#[test]
fn a_pool_and_its_volumes_live_through_all_verbs() {
    let place = Place::new();
    let _daemon = place.start();
    assert_says(&place.create_pool("tank", 0..3), &["'tank' is created", "sparse"]);
    place.ok(&["volume", "create", "tank/v0", "--size", "20GiB", "--allow", "any"]);
    place.ok(&[
        "volume",
        "create",
        "tank/v1",
        "--size",
        "1GiB",
        "--sector-size",
        "512",
        "--compression",
        "none",
    ]);
    let status = place.json(&["status"]);
    assert!(
        status["subsystem_nqn"].as_str().unwrap().starts_with("nqn.2014-08.org.nvmexpress:uuid:")
    );
    assert_eq!(
        (&status["portals"][0]["transport"], &status["portals"][0]["kind"]),
        (&"tcp".into(), &"io".into())
    );
    assert_ne!(status["portals"][0]["port"], 0);
    assert_eq!(status["pools"][0]["states"], serde_json::json!(["online"]));
    assert_eq!(status["volumes"].as_array().unwrap().len(), 2);
    assert_eq!(place.json(&["pool", "show", "tank"])["space"]["promised_bytes"], 21_u64 << 30);

    place.ok(&["volume", "resize", "tank/v0", "--size", "30GiB"]);
    place.ok(&["volume", "resize", "tank/v0", "--size", "10GiB", "--yes"]);
    place.ok(&["volume", "rename", "tank/v0", "database"]);
    let volume = place.json(&["volume", "show", "tank/database"]);
    assert_eq!((&volume["size_bytes"], &volume["nsid"]), (&(10_u64 << 30).into(), &1.into()));
    place.ok(&["volume", "allow", "tank/v1", HOST]);
    assert_eq!(
        place.json(&["volume", "show", "tank/v1"])["access"]["hosts"],
        serde_json::json!([HOST])
    );
    place.ok(&["volume", "deny", "tank/v1", "all"]);
    assert_eq!(
        place.json(&["volume", "show", "tank/v1"])["access"]["hosts"],
        serde_json::json!([])
    );
    let deleted = place.json(&["volume", "delete", "tank/database", "--yes"]);
    assert_eq!(deleted, serde_json::json!({ "volume": "tank/database", "done": "deleted" }));
    let refused = place.refused(&["volume", "show", "tank/database", "--output", "json"]);
    let refused: serde_json::Value = serde_json::from_str(&refused).expect("JSON");
    assert_says(refused["error"].as_str().unwrap(), &["there is no volume 'tank/database' here"]);
    assert_eq!(refused["code"], "no_such_volume");
    let unclear = place.run(&["volume", "list", "--frobnicate", "--output", "json"]);
    assert_eq!(unclear.status.code(), Some(2));
    let unclear: serde_json::Value = serde_json::from_slice(&unclear.stderr).expect("JSON");
    assert_says(unclear["error"].as_str().unwrap(), &["--frobnicate"]);
    assert_says(&place.ok(&["volume", "list"]), &["tank/v1"]);

    assert_eq!(place.json(&["drive", "list"]).as_array().unwrap().len(), 3);
    for drive in [&*place.file(1), "tank/drive-1", "tank/1"] {
        assert_says(&place.ok(&["drive", "show", drive]), &["drive-1", "tank", "online"]);
    }
    assert_says(
        &place.refused(&["drive", "show", "tank/drive-9"]),
        &["pool 'tank' has no drive 'drive-9'"],
    );
    assert_says(&place.ok(&["host", "list"]), &["no host"]);
    for table in [&["pool", "list"][..], &["pool", "show", "tank"], &["status"]] {
        assert_says(&place.ok(table), &["tank", "online"]);
    }
}

#[test]
fn exported_pools_are_imported_and_destroyed_ones_leave_free_drives() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB"]);
    let uuid = place.json(&["volume", "show", "tank/v0"])["uuid"].clone();
    let exported = place.json(&["pool", "export", "tank", "--yes"]);
    assert_eq!(exported, serde_json::json!({ "pool": "tank", "done": "exported" }));
    assert_eq!(place.json(&["pool", "list"]), serde_json::json!([]));
    assert_says(&place.ok(&["drive", "show", &place.file(2)]), &["drive 2", "pool 'tank'"]);
    let directory = place.path("").display().to_string();
    place.ok(&["pool", "import", "--drive", &directory]);
    assert_eq!(place.json(&["volume", "show", "tank/v0"])["uuid"], uuid);
    daemon.terminate();
    let _daemon = place.start();
    assert_eq!(place.json(&["volume", "show", "tank/v0"])["uuid"], uuid);
    assert_says(&place.refused(&["pool", "destroy", "tank"]), &["v0", "--yes"]);
    place.ok(&["pool", "destroy", "tank", "--yes"]);
    assert_eq!(place.json(&["pool", "list"]), serde_json::json!([]));
    assert_says(
        &place.refused(&["pool", "import", "--drive", &place.file(0)]),
        &["none of the drives is a member"],
    );
}

#[test]
fn after_every_kind_of_end_everything_is_there_under_the_same_identifiers() {
    let place = Place::new();
    let mut daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB", "--allow", HOST]);
    place.ok(&["volume", "create", "tank/v1", "--size", "2GiB", "--sector-size", "512"]);
    let identity = |place: &Place| {
        let status = place.json(&["status"]);
        let pick = |volume: &serde_json::Value| {
            ["name", "uuid", "nsid", "size_bytes", "lba_bytes", "access", "created_at"]
                .map(|key| volume[key].clone())
        };
        let volumes: Vec<_> = status["volumes"].as_array().unwrap().iter().map(pick).collect();
        (
            status["subsystem_nqn"].clone(),
            status["serial"].clone(),
            status["pools"][0]["uuid"].clone(),
            volumes,
        )
    };
    let before = identity(&place);
    for end_well in [true, false, true] {
        if end_well {
            daemon.terminate()
        } else {
            daemon.kill()
        }
        daemon = place.start();
        assert_eq!(identity(&place), before);
    }
    place.ok(&["volume", "delete", "tank/v1", "--yes"]);
    daemon.kill();
    let _daemon = place.start();
    place.ok(&["volume", "create", "tank/v2", "--size", "1GiB"]);
    assert_eq!(
        place.json(&["volume", "show", "tank/v2"])["nsid"],
        3,
        "a number is not given out twice"
    );
}

#[test]
fn what_cannot_be_is_refused_by_name_and_changes_nothing() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB"]);
    let before = (place.json(&["pool", "list"]), place.json(&["volume", "list"]));
    let new: Vec<String> = (5..8).map(|index| place.drive(index)).collect();
    let small = format!("{},size=16MiB", place.file(5));
    let tiny = format!("{},size=1MiB", place.file(5));
    let taken = place.file(0);
    let three = ["--drive", &new[0], "--drive", &new[1], "--drive", &new[2]];
    let create = |name, level, drives: &[&str]| {
        let arguments: Vec<&str> = ["pool", "create", name, "--level", level]
            .into_iter()
            .chain(drives.iter().copied())
            .collect();
        place.refused(&arguments)
    };
    assert_says(&create("p", "5", &three[..4]), &["at least 3 drives", "2 were given"]);
    assert_says(&create("p", "6", &three), &["at least 4 drives"]);
    assert_says(&create("p", "9", &three), &["'9' is not a level"]);
    assert_says(&create("a/b", "5", &three), &["'a/b'"]);
    assert_says(&create("tank", "5", &three), &["'tank' already"]);
    assert_says(
        &create("p", "5", &["--drive", &new[0], "--drive", &new[0], "--drive", &new[1]]),
        &["same drive"],
    );
    assert_says(
        &create("p", "5", &["--drive", &taken, "--drive", &new[0], "--drive", &new[1]]),
        &["in use by pool 'tank'"],
    );
    assert_says(
        &create("p", "5", &["--drive", &small, "--drive", &new[1], "--drive", &new[2]]),
        &["16MiB", "at least"],
    );
    assert_says(
        &create("p", "5", &["--drive", &tiny, "--drive", &new[1], "--drive", &new[2]]),
        &["too small"],
    );
    assert_says(
        &create("p", "5", &["--drive", "/dev/nothing", "--drive", &new[1], "--drive", &new[2]]),
        &["/dev/nothing", "no such device"],
    );
    assert_says(
        &create("p", "5", &["--drive", "nonsense", "--drive", &new[1], "--drive", &new[2]]),
        &["'nonsense' is not a drive"],
    );
    assert_says(
        &create(
            "p",
            "5",
            &["--chunk-size", "100KiB", "--drive", &new[0], "--drive", &new[1], "--drive", &new[2]],
        ),
        &["power of two"],
    );
    let said = create("p", "5", &[&["--chunk-size", "10TiB"], &three[..]].concat());
    assert_says(&said, &["a chunk of 10TiB cannot be", "power of two"]);
    assert!(!said.contains("conversion"), "{said}");
    for index in 5..8 {
        assert!(!place.image(index).exists(), "a refused pool leaves no files");
    }
    let volumes: [(&[&str], &[&str]); 10] = [
        (&["create", "tank/v1", "--size", "0"], &["0 was asked for"]),
        (&["create", "tank/v1", "--size", "1000"], &["1000", "4096"]),
        (&["create", "tank/v1", "--size", "2EiB"], &["more than a volume can have"]),
        (&["create", "tank/v1", "--size", "big"], &["'big' is not a size"]),
        (&["create", "tank/v0", "--size", "1GiB"], &["'tank/v0' already"]),
        (&["create", "tonk/v1", "--size", "1GiB"], &["no pool 'tonk'"]),
        (&["create", "tank/v1", "--size", "1GiB", "--sector-size", "1024"], &["512 or 4096"]),
        (&["create", "tank/v1", "--size", "1GiB", "--allow", "host1"], &["'host1'", "nqn."]),
        (&["resize", "tank/v0", "--size", "512MiB"], &["from 1GiB to 512MiB", "--yes"]),
        (&["delete", "tank/v9"], &["no volume 'v9'"]),
    ];
    for (arguments, said) in volumes {
        assert_says(&place.refused(&[&["volume"], arguments].concat()), said);
    }
    assert_says(&place.refused(&["pool", "list", "--frobnicate"]), &["--frobnicate"]);
    for verb in ["show", "rebuild"] {
        assert_says(
            &place.refused(&["pool", verb, "nothing"]),
            &["no pool 'nothing'", "ashlar pool list"],
        );
    }
    let said = place.refused(&["pool", "set", "nothing", "recon-prio=10"]);
    assert_says(&said, &["no pool 'nothing'", "ashlar pool list"]);
    assert_says(
        &place.refused(&["volume", "show", "tank/none"]),
        &["'tank/none'", "ashlar volume list"],
    );
    assert_eq!((place.json(&["pool", "list"]), place.json(&["volume", "list"])), before);
}

#[test]
fn drives_of_different_sizes_are_taken_and_what_is_wasted_is_said() {
    let place = Place::new();
    let _daemon = place.start();
    let said = place.ok(&[
        "pool",
        "create",
        "tank",
        "--level",
        "5",
        "--drive",
        "mem:64MiB",
        "--drive",
        "mem:64MiB",
        "--drive",
        "mem:128MiB",
    ]);
    assert_says(&said, &["'tank' is created", "differ in size", "64MiB"]);
}

#[test]
fn a_drive_that_holds_something_is_named_and_taken_only_by_force() {
    let place = Place::new();
    let _daemon = place.start();
    std::fs::File::create(place.image(0)).unwrap().set_len(48 << 20).unwrap();
    spoil(&place.image(0), 8 << 10, 4096);
    let drives = [place.file(0), place.drive(1), place.drive(2)];
    let create = [
        "pool", "create", "tank", "--level", "5", "--drive", &drives[0], "--drive", &drives[1],
        "--drive", &drives[2],
    ];
    assert_says(&place.refused(&create), &[&drives[0], "holds data of an unknown kind", "--force"]);
    assert!(!place.image(1).exists(), "what was made for the pool is gone again");
    place.ok(&[&create[..], &["--force"]].concat());
    place.ok(&["pool", "export", "tank", "--yes"]);
    let again = place.refused(&create);
    assert_says(&again, &["the Ashlar pool 'tank'", "label-clear", "--force"]);
}

#[test]
fn a_pool_that_cannot_be_opened_is_said_so_and_the_others_are_served() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("bad", 0..3);
    place.create_pool("good", 3..6);
    place.ok(&["volume", "create", "good/v0", "--size", "1GiB"]);
    daemon.terminate();
    for index in 0..3 {
        std::fs::remove_file(place.image(index)).unwrap();
    }
    let daemon = place.start();
    let pools = place.json(&["pool", "list"]);
    assert_eq!((&pools[0]["name"], &pools[0]["states"][0]), (&"bad".into(), &"unavailable".into()));
    assert_says(pools[0]["problem"].as_str().unwrap(), &["0.img"]);
    assert_eq!(pools[1]["states"][0], "online");
    assert_says(
        &place.refused(&["volume", "create", "bad/v0", "--size", "1GiB"]),
        &["not open", "0.img"],
    );
    place.ok(&["pool", "export", "bad", "--yes"]);
    daemon.terminate();
    let _daemon = place.start();
    assert_eq!(place.json(&["pool", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_drive_lost_while_the_pool_is_open_is_noticed_and_its_old_content_is_not_believed() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB"]);
    std::fs::copy(place.image(1), place.aside(1)).unwrap();
    std::fs::remove_file(place.image(1)).unwrap();
    place.wait_until("the drive has failed", |place| place.has_lost("tank", 1));
    place.ok(&["volume", "create", "tank/v1", "--size", "1GiB"]);
    daemon.terminate();
    std::fs::rename(place.aside(1), place.image(1)).unwrap();
    let _daemon = place.start();
    // Whether it is stale by now or taken in again depends on whether the pool has missed it: what
    // it has of the volumes is not believed in either case.
    assert_says(&place.ok(&["volume", "list"]), &["tank/v0", "tank/v1"]);
}

#[test]
fn a_pool_of_memory_is_gone_after_a_restart_and_said_to_be() {
    let place = Place::new();
    let daemon = place.start();
    let drives = ["--drive", "mem:64MiB", "--drive", "mem:64MiB", "--drive", "mem:64MiB"];
    let said = place.ok(&[&["pool", "create", "fleeting", "--level", "5"], &drives[..]].concat());
    assert_says(&said, &["lost when the daemon ends"]);
    let refused = place.refused(&["pool", "export", "fleeting", "--yes"]);
    assert_says(
        &refused,
        &["pool 'fleeting' has drives in memory", "ashlar pool destroy fleeting"],
    );
    assert_eq!(place.json(&["pool", "show", "fleeting"])["states"][0], "online");
    daemon.terminate();
    let _daemon = place.start();
    assert_says(
        &place.ok(&["pool", "list"]),
        &["fleeting", "unavailable", "memory", "pool export"],
    );
}

#[test]
fn a_drive_that_another_daemon_has_names_that_daemon() {
    let (place, other) = (Place::new(), Place::new());
    let first = place.start();
    let _second = other.start();
    place.create_pool("tank", 0..3);
    let said = other.refused(&["drive", "show", &place.file(0)]);
    assert_says(&said, &["in use", &format!("process {}", first.pid())]);
}

#[test]
fn two_daemons_cannot_share_a_directory_or_a_port() {
    let (place, other) = (Place::new(), Place::new());
    let daemon = place.start();
    assert_says(
        &refused(place.serve()),
        &["in use by another daemon", &format!("process {}", daemon.pid())],
    );
    let port = place.json(&["status"])["portals"][0]["port"].to_string();
    let mut command = other.serve();
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    assert_says(&refused(command), &[&port, "in use"]);
    let mut command = other.serve();
    command.arg("--socket").arg(place.socket());
    assert_says(&refused(command), &["another daemon answers"]);
}

#[test]
fn a_wrong_configuration_is_refused_with_its_line_and_key() {
    let place = Place::new();
    let with = |text: &str| {
        let file = place.path("ashlar.toml");
        std::fs::write(&file, text).unwrap();
        let mut command = place.serve();
        command.arg("--config").arg(file);
        refused(command)
    };
    assert_says(&with("reactors = 1\nreactorz = 2\n"), &["ashlar.toml", "line 2", "reactorz"]);
    assert_says(&with("[limits]\nconnection_max = 3\n"), &["line 2", "connection_max"]);
    assert_says(
        &with("[limits]\nqueue_entries_max = 1\n"),
        &["queue_entries_max is 1", "2 to 65536"],
    );
    assert_says(&with("reactors = 0"), &["reactors is 0", "1 to 64"]);
    assert_says(&with("map_memory_bytes = \"1KiB\""), &["map_memory_bytes is 1KiB", "at least"]);
    let mut command = place.serve();
    command.args(["--listen", "somewhere"]);
    assert_says(&refused(command), &["'somewhere' is not an address"]);
}

#[test]
fn every_verb_explains_itself_with_an_example() {
    let place = Place::new();
    let verbs = [
        "serve",
        "demo",
        "status",
        "completions",
        "pool create",
        "pool list",
        "pool show",
        "pool import",
        "pool add-drive",
        "pool remove-drive",
        "pool replace",
        "pool spare add",
        "pool spare remove",
        "pool set",
        "pool rebuild",
        "pool scrub",
        "pool export",
        "pool destroy",
        "drive list",
        "drive show",
        "drive fail",
        "drive return",
        "drive label-clear",
        "drive label-restore",
        "volume create",
        "volume list",
        "volume show",
        "volume resize",
        "volume rename",
        "volume set",
        "volume delete",
        "volume allow",
        "volume deny",
        "qos create",
        "qos list",
        "qos show",
        "qos set",
        "qos delete",
        "qos default",
        "qos limit",
        "host list",
        "events",
        "pool",
        "pool spare",
        "drive",
        "volume",
        "qos",
        "host",
    ];
    for verb in verbs {
        let arguments: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        assert_says(&place.ok(&arguments), &["Example", &format!("ashlar {verb}")]);
    }
    assert_says(&place.ok(&["completions", "bash"]), &["complete"]);
    assert_says(&place.refused(&["status"]), &["no daemon's socket", "ashlar serve"]);
    let show = place.ok(&["pool", "show", "--help"]);
    assert_says(
        &show,
        &["Usage: ashlar pool show [OPTIONS] <POOL>", "Global options:", "--socket <PATH>"],
    );
    let mut without_pool = std::process::Command::new(env!("CARGO_BIN_EXE_ashlar"));
    without_pool.args(["pool", "show"]).env("ASHLAR_SOCKET", place.socket());
    assert_says(&refused(without_pool), &["Usage: ashlar pool show <POOL>"]);
    let json = place.refused(&["status", "--output", "json"]);
    assert_says(&json, &["\"code\":\"no_daemon\"", "\"hint\":\"start a daemon"]);
}

#[test]
fn a_shell_that_completes_is_told_of_the_pools_volumes_and_drives_that_there_are() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    let offered = |words: &[&str]| {
        let mut shell = std::process::Command::new(env!("CARGO_BIN_EXE_ashlar"));
        shell.env("ASHLAR_SOCKET", place.socket()).env("COMPLETE", "bash");
        shell.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).arg("--").args(words);
        let output = shell.output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(offered(&["ashlar", "pool", "show", ""]).contains("tank"));
    assert!(offered(&["ashlar", "volume", "show", "ta"]).contains("tank/v0"));
    let drive = place.json(&["pool", "show", "tank"])["drives"][0]["name"].clone();
    let drive = format!("tank/{}", drive.as_str().expect("a name"));
    assert!(offered(&["ashlar", "drive", "show", "tank/"]).contains(&drive), "{drive}");
}
