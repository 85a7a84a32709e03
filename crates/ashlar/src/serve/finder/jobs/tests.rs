use super::*;

/// A directory with files of these sizes, named by their numbers.
fn directory(sizes: &[u64]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (number, size) in sizes.iter().enumerate() {
        fs::File::create(directory.path().join(number.to_string()))
            .unwrap()
            .set_len(*size)
            .unwrap();
    }
    directory
}

fn listed(directory: &tempfile::TempDir, named: &[&str], files_max: usize) -> (Vec<PathBuf>, bool) {
    let named: BTreeSet<PathBuf> = named.iter().map(|name| directory.path().join(name)).collect();
    let listing = list(directory.path(), None, &named, files_max).unwrap();
    (listing.files.unwrap().into_keys().collect(), listing.is_cut)
}

#[test]
fn what_cannot_be_a_drive_is_not_counted() {
    let mut sizes = [0, 1, DRIVE_BYTES_MIN - SECTOR_BYTES as u64, DRIVE_BYTES_MIN + 1].repeat(5);
    sizes.extend([DRIVE_BYTES_MIN; 2]);
    let directory = directory(&sizes);
    fs::create_dir(directory.path().join("below")).unwrap();
    let drives = ["20", "21"].map(|name| directory.path().join(name)).to_vec();
    assert_eq!(listed(&directory, &[], 2), (drives, false));
}

#[test]
fn files_that_were_drives_are_looked_at_however_many_others_there_are() {
    let directory = directory(&[DRIVE_BYTES_MIN; 12]);
    for named in 0..12 {
        let named = named.to_string();
        let (files, is_cut) = listed(&directory, &[&named, "gone"], 3);
        assert!(files.contains(&directory.path().join(&named)), "{named} of {files:?}");
        assert_eq!((files.len(), is_cut), (4, true));
    }
    assert!(!listed(&directory, &["0"], 11).1);
}

/// Its drives seemed to be where they had been, for as long as the daemon ran.
#[test]
fn a_directory_that_was_moved_away_holds_nothing() {
    let (directory, elsewhere) = (directory(&[DRIVE_BYTES_MIN; 2]), tempfile::tempdir().unwrap());
    let path = directory.path().to_owned();
    let before = list_or_nothing(&path, None, &BTreeSet::new());
    assert_eq!(before.files.as_ref().map(BTreeMap::len), Some(2));
    fs::rename(&path, elsewhere.path().join("moved")).unwrap();
    let named = before.files.unwrap().into_keys().collect();
    let after = list_or_nothing(&path, before.changed, &named);
    assert_eq!((after.files, after.changed), (Some(BTreeMap::new()), None));
}
