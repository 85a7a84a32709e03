use super::*;

#[test]
fn a_directory_without_a_file_that_can_be_made_is_locked_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    // It cannot be opened for writing, nor be made: no right keeps root from that.
    fs::create_dir(directory.path().join("lock")).unwrap();
    let first = Lock::try_take(directory.path()).unwrap();
    fs::remove_dir(directory.path().join("lock")).unwrap();
    // Another one can make the file, and is kept out by the directory.
    let refused = Lock::try_take(directory.path()).map(drop);
    assert!(matches!(refused, Err(LockError::InUse { process: None, .. })), "{refused:?}");
    drop(first);
    Lock::try_take(directory.path()).unwrap();
}

#[test]
fn a_process_that_the_file_names_and_that_does_not_have_it_is_not_named() {
    let directory = tempfile::tempdir().unwrap();
    let _lock = Lock::try_take(directory.path()).unwrap();
    let said = |process: &str| {
        fs::write(directory.path().join("lock"), process).unwrap();
        Lock::try_take(directory.path()).map(drop).unwrap_err().to_string()
    };
    let ours = std::process::id().to_string();
    assert!(said(&ours).contains(&format!("process {ours}")));
    for another in ["1", "", "nonsense", "4294967295"] {
        assert!(!said(another).contains("process"), "{another}");
    }
}

#[test]
fn the_file_names_the_process_over_whatever_it_said() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lock");
    fs::write(&file, "12345678901234567890").unwrap();
    let lock = Lock::try_take(directory.path()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), std::process::id().to_string());
    assert!(lock.is_at(directory.path()));
    assert!(!lock.is_at(&directory.path().join("lock")));
    assert!(!lock.is_at(&directory.path().join("nowhere")));
}
