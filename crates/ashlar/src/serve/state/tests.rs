use super::super::spares::Taking;
use super::file::file_in;
use super::*;

/// Files cannot be written any more, as on a full file system: no right keeps root from writing.
fn obstruct(directory: &Path) {
    fs::create_dir(directory.join("node.toml.new")).unwrap();
}

fn clear(directory: &Path) {
    fs::remove_dir(directory.join("node.toml.new")).unwrap();
}

fn write_again(dir: &mut StateDir) {
    if let Some(written) = dir.begin_write().write_if_missing() {
        dir.note(written);
    }
}

fn pool(name: &str) -> PoolState {
    let (name, uuid) = (name.to_owned(), name.to_owned());
    PoolState { name, uuid, volatile: false, drives: Vec::new(), spares: Spares::default() }
}

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
    first.change(|node| node.pools.push(pool.clone()));
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
    let status =
        std::process::Command::new("sh").args(["-c", script, "sh"]).arg(&lock).status().unwrap();
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

#[test]
fn a_node_is_served_by_its_file_where_none_can_be_written_and_all_is_written_later() {
    let directory = tempfile::tempdir().unwrap();
    let subsystem = StateDir::open(directory.path()).unwrap().node.subsystem();
    obstruct(directory.path());
    let mut dir = StateDir::open(directory.path()).unwrap();
    assert_eq!(dir.node.subsystem(), subsystem);
    assert!(dir.warning().unwrap().contains("the file still describes the node completely"));
    dir.change(|node| node.pools.push(pool("tank")));
    assert_eq!(dir.unwritten_of("tank"), ["that pool 'tank' is one of this node"]);
    let said = dir.warning().unwrap();
    for part in ["node.toml", "that pool 'tank' is one of this node", "tries again"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    clear(directory.path());
    write_again(&mut dir);
    assert_eq!((dir.warning(), dir.unwritten_of("tank").len()), (None, 0));
    drop(dir);
    let node = StateDir::open(directory.path()).unwrap().node;
    assert_eq!((node.subsystem(), node.starts, node.pools), (subsystem, 3, vec![pool("tank")]));
}

#[test]
fn a_node_without_a_file_does_not_start_where_none_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    obstruct(directory.path());
    let error = StateDir::open(directory.path()).map(drop).unwrap_err().to_string();
    for part in ["has no node.toml", "none can be written", "--state"] {
        assert!(error.contains(part), "'{part}' is not in: {error}");
    }
    clear(directory.path());
    assert_eq!(StateDir::open(directory.path()).unwrap().node.starts, 1);
}

#[test]
fn numbers_that_cannot_be_noted_durably_are_not_noted() {
    let directory = tempfile::tempdir().unwrap();
    let mut dir = StateDir::open(directory.path()).unwrap();
    dir.note_nsids_durably(2).unwrap();
    obstruct(directory.path());
    assert!(dir.note_nsids_durably(3).is_err());
    assert_eq!(dir.node.nsid_high, 2);
    // A pool that is imported brings its numbers all the same: what is above them is not durable
    // yet.
    dir.note_nsids(5);
    assert_eq!(dir.node.nsid_high, 5);
    assert!(dir.note_nsids_durably(5).is_err());
    assert!(dir.warning().unwrap().contains("namespace numbers up to 5"));
    clear(directory.path());
    dir.note_nsids_durably(5).unwrap();
    assert_eq!(dir.warning(), None);
}

#[test]
fn a_number_that_is_given_out_again_while_its_return_is_unwritten_stays_noted() {
    let directory = tempfile::tempdir().unwrap();
    let mut dir = StateDir::open(directory.path()).unwrap();
    dir.note_nsids_durably(3).unwrap();
    obstruct(directory.path());
    dir.take_back_nsids(2);
    dir.note_nsids_durably(3).unwrap();
    clear(directory.path());
    write_again(&mut dir);
    drop(dir);
    assert_eq!(StateDir::open(directory.path()).unwrap().node.nsid_high, 3);
}

#[test]
fn what_was_written_of_a_file_that_found_no_room_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let mut dir = StateDir::open(directory.path()).unwrap();
    // The new file is written, and cannot take the place of a directory.
    fs::remove_file(file_in(directory.path())).unwrap();
    fs::create_dir(file_in(directory.path())).unwrap();
    dir.change(|node| node.nsid_high = 1);
    assert!(dir.warning().is_some());
    assert!(!directory.path().join("node.toml.new").exists());
}

#[test]
fn a_directory_that_is_gone_is_made_again_and_locked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let mut dir = StateDir::open(&path).unwrap();
    fs::remove_dir_all(&path).unwrap();
    dir.change(|node| node.nsid_high = 7);
    assert_eq!(dir.warning(), None);
    let error = StateDir::open(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains("in use"), "{error}");
    let uuid = dir.node.uuid;
    drop(dir);
    let node = StateDir::open(&path).unwrap().node;
    assert_eq!((node.uuid, node.nsid_high), (uuid, 7));
}

#[test]
fn a_directory_of_another_node_in_its_place_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other, aside) = (
        directory.path().join("state"),
        directory.path().join("other"),
        directory.path().join("aside"),
    );
    let mut dir = StateDir::open(&path).unwrap();
    let other_uuid = StateDir::open(&other).unwrap().node.uuid;
    fs::rename(&path, &aside).unwrap();
    fs::rename(&other, &path).unwrap();
    dir.change(|node| node.nsid_high = 7);
    assert!(dir.warning().unwrap().contains("another node's"));
    assert_eq!(file::read(&path).unwrap().unwrap().uuid, other_uuid);
    fs::rename(&path, &other).unwrap();
    fs::rename(&aside, &path).unwrap();
    write_again(&mut dir);
    assert_eq!(dir.warning(), None);
    assert_eq!(file::read(&path).unwrap().unwrap().nsid_high, 7);
}

#[test]
fn a_write_that_comes_late_changes_nothing_of_what_a_newer_one_has_written() {
    let directory = tempfile::tempdir().unwrap();
    let mut dir = StateDir::open(directory.path()).unwrap();
    let late = dir.begin_write();
    dir.change(|node| node.nsid_high = 7);
    assert!(late.write().is_none());
    assert_eq!(file::read(directory.path()).unwrap().unwrap().nsid_high, 7);
}

#[test]
fn an_outcome_that_is_heard_of_late_hides_none_of_a_newer_write() {
    let directory = tempfile::tempdir().unwrap();
    let mut dir = StateDir::open(directory.path()).unwrap();
    let early = dir.begin_write().write().unwrap();
    obstruct(directory.path());
    dir.change(|node| node.nsid_high = 7);
    dir.note(early);
    assert!(dir.warning().unwrap().contains("namespace numbers up to 7"));
}

#[test]
fn a_file_is_written_again_only_if_it_is_missing_or_could_not_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let mut dir = StateDir::open(directory.path()).unwrap();
    assert!(dir.begin_write().write_if_missing().is_none());
    fs::remove_file(file_in(directory.path())).unwrap();
    assert!(dir.begin_write().write_if_missing().is_some());
}
