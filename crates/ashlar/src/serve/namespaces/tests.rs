use std::fs;

use tempfile::TempDir;

use super::*;

const NODE: Uuid = Uuid::from_bytes([9; 16]);

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn namespace(nsid: u32, access: AccessList) -> PoolNamespace {
    let info = NamespaceInfo {
        nsid: Nsid(nsid),
        uuid: VolumeUuid([nsid as u8; 16]),
        size_bytes: 1 << 20,
        lba_bytes: 512,
        used_bytes: 77,
        atomic_write_bytes_max: 1 << 18,
        atomic_boundary_bytes: 1 << 20,
        atomic_announced_bytes: 1 << (18 - nsid),
        sanitize: SanitizeState::Done,
        write_protected: nsid == 2,
        is_ready: true,
        generation: 5,
        access: access.into(),
    };
    PoolNamespace { volume: VolumeId(nsid + 1), info }
}

fn hosts(names: &[&str]) -> AccessList {
    AccessList::Allow(names.iter().map(|name| HostNqn::new(name).expect("a name")).collect())
}

fn remembered() -> Namespaces {
    let all = [
        namespace(1, AccessList::AllowAny),
        namespace(2, hosts(&["nqn.2014-08.org.example:a"])),
        namespace(3, hosts(&[])),
    ];
    let empty = (Uuid::from_bytes([2; 16]), Vec::new());
    let tank = (Uuid::from_bytes([1; 16]), all.iter().map(NamespaceState::of).collect());
    [tank, empty].into()
}

#[test]
fn what_was_remembered_is_read_back() {
    let directory = directory();
    assert_eq!(read(directory.path(), NODE).expect("there is no file"), Namespaces::new());
    write(directory.path(), NODE, &remembered()).expect("room");
    let back = read(directory.path(), NODE).expect("it was just written");
    assert_eq!(back, remembered());
    let second = back[&Uuid::from_bytes([1; 16])][1].namespace().expect("it can be");
    let mut expected = namespace(2, hosts(&["nqn.2014-08.org.example:a"]));
    (expected.info.is_ready, expected.info.generation, expected.info.used_bytes) = (false, 0, 0);
    assert_eq!(second, expected);
    let entries = fs::read_dir(directory.path()).expect("a directory").count();
    assert_eq!(entries, 1, "nothing is left beside it");
}

#[test]
fn a_file_that_another_node_or_a_newer_ashlar_has_written_says_nothing() {
    let directory = directory();
    write(directory.path(), NODE, &remembered()).expect("room");
    let other = read(directory.path(), Uuid::from_bytes([8; 16]));
    assert!(matches!(other, Err(ReadError::OtherNode { .. })), "{other:?}");
    let file = file_in(directory.path());
    let newer =
        fs::read_to_string(&file).expect("a file").replacen("\"version\": 1", "\"version\": 2", 1);
    fs::write(&file, newer).expect("room");
    let newer = read(directory.path(), NODE);
    assert!(matches!(newer, Err(ReadError::Version { version: 2, .. })), "{newer:?}");
}

#[test]
fn a_file_that_is_damaged_or_cannot_be_read_is_named() {
    let directory = directory();
    let file = file_in(directory.path());
    for content in [&b""[..], b"{", b"\xff", b"[1]", b"{\"version\": 1}"] {
        fs::write(&file, content).expect("room");
        let error = read(directory.path(), NODE).expect_err("it says nothing");
        assert!(error.to_string().contains("namespaces.json is damaged"), "{error}");
    }
    fs::remove_file(&file).expect("a file");
    fs::create_dir(&file).expect("room");
    let error = read(directory.path(), NODE).expect_err("it is no file");
    assert!(error.to_string().contains("cannot read"), "{error}");
    write(directory.path(), NODE, &remembered()).expect_err("it is no file");
}

#[test]
fn a_file_that_is_too_large_is_neither_read_nor_written() {
    let directory = directory();
    let file = File::create(file_in(directory.path())).expect("room");
    file.set_len(FILE_BYTES_MAX + 1).expect("a sparse file");
    let error = read(directory.path(), NODE).expect_err("it is too large");
    assert!(error.to_string().contains("more than 67108864 bytes"), "{error}");
    let many = vec![NamespaceState::of(&namespace(1, AccessList::AllowAny)); NAMESPACES_MAX + 1];
    let error =
        write(directory.path(), NODE, &[(NODE, many)].into()).expect_err("they are too many");
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
}

#[test]
fn what_cannot_be_a_namespace_is_none() {
    let good = NamespaceState::of(&namespace(1, AccessList::AllowAny));
    assert!(good.namespace().is_some());
    let bad = [
        NamespaceState { lba_bytes: 0, ..good.clone() },
        NamespaceState { lba_bytes: 1024, ..good.clone() },
        NamespaceState { size_bytes: 0, ..good.clone() },
        NamespaceState { size_bytes: 513, ..good.clone() },
        NamespaceState { atomic_write_bytes: 0, ..good.clone() },
        NamespaceState { atomic_boundary_bytes: 0, ..good.clone() },
        NamespaceState { atomic_announced_bytes: Some(256), ..good.clone() },
        NamespaceState { atomic_announced_bytes: Some(1 << 19), ..good.clone() },
        NamespaceState { hosts: Some(vec!["no name".to_owned()]), ..good.clone() },
    ];
    for state in bad {
        assert!(state.namespace().is_none(), "{state:?}");
    }
}
