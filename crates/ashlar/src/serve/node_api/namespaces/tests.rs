use std::sync::Arc;

use super::super::super::spares::Spares;
use super::super::super::state::PoolState;
use super::*;

const TANK: Uuid = Uuid::from_bytes([1; 16]);
const GONE: Uuid = Uuid::from_bytes([2; 16]);
const VOLATILE: Uuid = Uuid::from_bytes([3; 16]);

fn pool(uuid: Uuid, volatile: bool) -> PoolState {
    let (name, uuid) = ("tank".to_owned(), uuid.to_string());
    PoolState { name, uuid, volatile, drives: Vec::new(), spares: Spares::default() }
}

fn table_of(state: &StateDir) -> Arc<Table> {
    Table::new(state.node.subsystem(), 0, 1)
}

/// A directory whose node has a pool, with that file.
fn with_file(text: &str) -> (tempfile::TempDir, StateDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut state = StateDir::open(directory.path()).expect("a new one");
    state.change(|node| node.pools.extend([pool(TANK, false), pool(VOLATILE, true)]));
    let text = text.replace("NODE", &state.node.uuid.to_string());
    std::fs::write(namespaces::file_in(directory.path()), text).expect("room");
    (directory, state)
}

fn of_pools(pools: &[Uuid]) -> String {
    let namespace = |nsid: usize| {
        format!(
            r#"[{{"nsid": {nsid}, "volume": 1, "uuid": "{TANK}", "size_bytes": 8192, "lba_bytes": 4096,
            "atomic_write_bytes": 8192, "atomic_boundary_bytes": 8192, "write_protected": false, "hosts": null}}]"#
        )
    };
    let pools =
        pools.iter().enumerate().map(|(at, uuid)| format!("\"{uuid}\": {}", namespace(at + 1)));
    format!(
        r#"{{"version": 1, "node": "NODE", "pools": {{{}}}}}"#,
        pools.collect::<Vec<_>>().join(",")
    )
}

#[test]
fn namespaces_of_pools_that_a_start_opens_are_shown_and_those_of_others_are_not() {
    let (directory, state) = with_file(&of_pools(&[TANK, GONE, VOLATILE]));
    let table = table_of(&state);
    let remembered = Remembered::shown(directory.path(), &state, &table);
    assert_eq!(table.nsid_high(), 1, "the others' are higher");
    // What is not open keeps what is remembered, and what is not the node's is forgotten.
    let (_, now) = to_remember(&table, &state.node, &remembered.written);
    assert_eq!(now.keys().collect::<Vec<_>>(), [&TANK]);
    assert_eq!(now[&TANK], remembered.written[&TANK]);
}

#[test]
fn a_file_that_says_nothing_keeps_no_node_from_starting_and_is_written_anew() {
    let (directory, state) = with_file("this is no JSON");
    let table = table_of(&state);
    let before = table.nsid_high();
    let mut remembered = Remembered::shown(directory.path(), &state, &table);
    assert_eq!((table.nsid_high(), remembered.written.len()), (before, 0));
    remembered.keep(state.directory(), [(TANK, Vec::new())].into());
    let read = namespaces::read(directory.path(), state.node.uuid).expect("it is whole");
    assert_eq!(read.keys().collect::<Vec<_>>(), [&TANK]);
}

#[test]
fn a_file_that_cannot_be_written_is_tried_again() {
    let (directory, state) = with_file(&of_pools(&[TANK]));
    let mut remembered = Remembered::shown(directory.path(), &state, &table_of(&state));
    let beside = directory.path().join("namespaces.json.new");
    std::fs::create_dir(&beside).expect("room");
    remembered.keep(state.directory(), Namespaces::new());
    assert!(remembered.has_failed);
    std::fs::remove_dir(&beside).expect("it is empty");
    remembered.keep(state.directory(), Namespaces::new());
    let read = namespaces::read(directory.path(), state.node.uuid).expect("it is whole");
    assert_eq!((remembered.has_failed, read.len()), (false, 0));
}
