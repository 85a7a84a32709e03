use std::os::unix::fs::PermissionsExt;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is there");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("one").file_name();
    entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect()
}

/// Ctrl-C left an empty file, which the next try took for somebody else's.
#[test]
fn nothing_is_there_until_it_is_whole() {
    let directory = tempfile::tempdir().expect("room");
    let path = directory.path().join("bundle.tar.gz");
    let begun = NewFile::begin(&path).expect("there is none");
    assert_eq!(names(directory.path()), [""; 0]);
    drop(begun);
    assert_eq!(names(directory.path()), [""; 0], "nor if it is given up");
    NewFile::begin(&path).expect("there is none").end(b"whole").expect("room");
    assert_eq!(names(directory.path()), ["bundle.tar.gz"]);
    assert_eq!(fs::read(&path).expect("it is there"), b"whole");
    let mode = fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, MODE);
}

#[test]
fn what_is_there_before_or_comes_meanwhile_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("room");
    let path = directory.path().join("bundle.tar.gz");
    for begun in [NewFile::begin(&path).expect("there is none"), named(&path)] {
        fs::write(&path, "another").expect("room");
        begun.end(b"whole").expect_err("another has come");
        assert_eq!(fs::read(&path).expect("it is there"), b"another");
        let why = NewFile::begin(&path).err().expect("it is taken");
        assert!(format!("{why:#}").contains("name another file"), "{why:#}");
        fs::remove_file(&path).expect("it goes");
    }
}

fn named(path: &Path) -> NewFile {
    NewFile { path: path.to_owned(), unnamed: None }
}

#[test]
fn a_file_system_that_makes_no_unnamed_files_gets_it_at_the_end() {
    let directory = tempfile::tempdir().expect("room");
    let path = directory.path().join("bundle.tar.gz");
    named(&path).end(b"whole").expect("room");
    assert_eq!(fs::read(&path).expect("it is there"), b"whole");
}

#[test]
fn a_directory_that_is_not_there_is_told_of_before_anything_is_gathered() {
    let why = NewFile::begin(Path::new("/nowhere/at/all")).err().expect("there is none");
    assert!(format!("{why:#}").contains("cannot make /nowhere/at/all"), "{why:#}");
}
