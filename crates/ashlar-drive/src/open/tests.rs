use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

const SIZE: ByteSize = ByteSize(32 << 20);

fn error(result: Result<Opened, OpenError>) -> String {
    result.err().expect("refused").to_string()
}

fn make(path: &Path, size: ByteSize, sparse: bool) -> Result<Opened, OpenError> {
    open_file(path, Some(size), sparse, OpenMode::CreateIfMissing)
}

#[test]
fn a_file_is_made_with_all_its_space() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    let opened = make(&path, SIZE, false).unwrap();
    assert_eq!((opened.info.size_bytes, opened.info.kind), (SIZE.0, DriveKind::File));
    assert!(opened.info.volatile_cache, "a file counts as volatile");
    assert!(!opened.info.sparse);
    assert!(rustix::fs::fstat(&opened.descriptor).unwrap().st_blocks as u64 * 512 >= SIZE.0);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600,
        "others may not read it"
    );
}

#[test]
fn a_sparse_file_takes_no_space_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let opened = make(&dir.path().join("0.img"), ByteSize(1 << 40), true).unwrap();
    assert!(opened.info.sparse);
    assert!((rustix::fs::fstat(&opened.descriptor).unwrap().st_blocks as u64) < 1024);
}

#[test]
fn a_file_too_large_for_its_file_system_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    let error = error(make(&path, ByteSize(1 << 50), false));
    assert!(error.contains("no room for 1PiB") && error.contains("sparse=on"), "{error}");
    assert!(!path.exists());
}

#[test]
fn an_existing_file_is_opened_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    drop(make(&path, SIZE, false).unwrap());
    for (size, mode) in [(None, OpenMode::Existing), (Some(SIZE), OpenMode::CreateIfMissing)] {
        assert_eq!(open_file(&path, size, false, mode).unwrap().info.size_bytes, SIZE.0);
    }
    let error = error(make(&path, ByteSize(64 << 20), false));
    assert!(error.contains("exists with 32MiB, and size=64MiB"), "{error}");
}

#[test]
fn what_is_said_of_a_file_that_is_not_to_be_made_has_no_advice_for_making_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    let open = || error(open_file(&path, Some(SIZE), false, OpenMode::Existing));
    assert_eq!(open(), format!("{}: there is no such file", path.display()));
    fs::write(&path, vec![0; 16 << 20]).unwrap();
    let (said, advice) = (open(), ["size=", "leave"]);
    assert!(said.contains("the file has 16MiB and should have 32MiB"), "{said}");
    assert!(advice.iter().all(|advice| !said.contains(advice)), "{said}");
}

#[test]
fn what_cannot_be_a_drive_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("odd"), vec![0; (16 << 20) + 1]).unwrap();
    fs::write(at("small"), vec![0; 4096]).unwrap();
    let open = |path: &Path| open_file(path, None, false, OpenMode::CreateIfMissing);
    let cases = [
        (error(open(&at("missing"))), "no such file: size= makes it"),
        (error(make(&at("no/such/0.img"), SIZE, false)), "does not exist: make it first"),
        (error(open(&at("odd"))), "16777217 bytes are not a multiple of 4096"),
        (error(open(&at("small"))), "4KiB is too small"),
        (error(open(dir.path())), "neither a block device nor a regular file"),
        (error(open_block(&at("odd"))), "write file:"),
        (error(open_block(Path::new("/dev/no-such-drive"))), "there is no such device"),
        (error(open_block(Path::new("/dev/null"))), "neither a block device nor a regular file"),
    ];
    for (error, wanted) in cases {
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_missing_permission_is_named() {
    let denied = cannot(Path::new("/d/0.img"), "opening it", Errno::ACCESS).to_string();
    assert!(
        denied.contains("/d/0.img: permission denied") && denied.contains("group disk"),
        "{denied}"
    );
}

#[test]
fn a_file_in_use_names_its_holder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    let first = make(&path, SIZE, false).unwrap();
    let error = error(open_file(&path, None, false, OpenMode::Existing));
    assert!(
        error.contains("in use: process") && error.contains(&std::process::id().to_string()),
        "{error}"
    );
    drop(first);
    open_file(&path, None, false, OpenMode::Existing).unwrap();
}

#[test]
fn a_file_too_small_for_a_drive_is_refused_before_anybody_asks_whose_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small");
    fs::write(&path, vec![0; 4096]).unwrap();
    let held = fs::File::open(&path).unwrap();
    held.lock().unwrap();
    for refused in [open_file(&path, None, false, OpenMode::Existing), open_to_read(&path)] {
        let error = error(refused);
        assert!(error.contains("4KiB is too small"), "{error}");
    }
}
