use super::super::spares::Taking;
use super::*;

#[test]
fn a_node_is_the_same_at_every_start() {
    let directory = tempfile::tempdir().unwrap();
    let first = StateDir::open(directory.path()).unwrap();
    let subsystem = first.node.subsystem();
    assert_eq!(subsystem.serial.len(), 20);
    drop(first);
    let second = StateDir::open(directory.path()).unwrap();
    assert_eq!((second.node.subsystem(), second.node.starts), (subsystem, 2));
}

#[test]
fn two_daemons_do_not_share_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let _first = StateDir::open(directory.path()).unwrap();
    let error = StateDir::open(directory.path()).map(drop).unwrap_err().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
}

#[test]
fn what_was_changed_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let drives = vec![DriveState { spec: "file:/d/0.img".into(), uuid: "u".into() }];
    let pool = PoolState {
        name: "tank".into(),
        uuid: "p".into(),
        volatile: false,
        drives,
        spares: Spares::default(),
    };
    let mut first = StateDir::open(directory.path()).unwrap();
    first.change(|node| node.pools.push(pool.clone())).unwrap();
    drop(first);
    assert_eq!(StateDir::open(directory.path()).unwrap().node.pools, [pool]);
}

#[test]
fn a_damaged_file_is_named_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(file_in(directory.path()), "uuid = ").unwrap();
    let error = StateDir::open(directory.path()).map(drop).unwrap_err().to_string();
    assert!(error.contains("node.toml is damaged"), "{error}");
    assert_eq!(fs::read_to_string(file_in(directory.path())).unwrap(), "uuid = ");
}

#[test]
fn a_directory_that_only_a_dead_daemon_has_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("lock");
    // The process takes the lock and ends; its child has the open file a little longer.
    let script = "exec 9<>\"$1\"; flock 9 || exit 1; echo $$ >&9; sleep 0.2 & exit 0";
    let status = std::process::Command::new("sh").args(["-c", script, "sh"]).arg(&lock).status().unwrap();
    assert!(status.success());
    StateDir::open(directory.path()).unwrap();
    assert_eq!(fs::read_to_string(lock).unwrap(), std::process::id().to_string());
}

/// A daemon was killed when the drive had become a member, and before that was written down.
#[test]
fn a_spare_that_was_being_taken_is_looked_for_with_the_drives() {
    let drive = |spec: &str| DriveState { spec: spec.to_owned(), uuid: spec.to_owned() };
    let taking = |spec: &str| Some(Taking { spec: spec.to_owned(), lost: None });
    let spares = |spec| Spares { taking: taking(spec), ..Spares::default() };
    let pool = |spec| PoolState {
        name: "tank".to_owned(),
        uuid: "p".to_owned(),
        volatile: false,
        drives: vec![drive("a"), drive("b")],
        spares: spares(spec),
    };
    assert_eq!(pool("c").specs(), ["a", "b", "c"]);
    assert_eq!(pool("b").specs(), ["a", "b"]);
}
