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
    let pool = PoolState { name: "tank".into(), uuid: "p".into(), volatile: false, drives };
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
