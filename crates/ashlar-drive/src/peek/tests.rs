use super::*;

#[test]
fn a_file_is_looked_at_without_being_taken() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut content = vec![0; 3 * SECTOR_BYTES];
    content[SECTOR_BYTES] = 7;
    fs::write(file.path(), &content).unwrap();
    let before = DriveMark::of_file(&fs::metadata(file.path()).unwrap()).unwrap();
    let peek = Peek::open(file.path()).unwrap();
    assert_eq!(peek.size_bytes(), 3 * SECTOR_BYTES as u64);
    assert_eq!(peek.read(SECTOR_BYTES as u64, SECTOR_BYTES).unwrap()[0], 7);
    assert_eq!(peek.read(2 * SECTOR_BYTES as u64, 2 * SECTOR_BYTES).unwrap().len(), SECTOR_BYTES);
    assert_eq!(peek.probe().unwrap(), Some(ForeignContent::Unknown));
    let lock =
        rustix::fs::flock(file.as_file(), rustix::fs::FlockOperation::NonBlockingLockExclusive);
    assert_eq!(lock, Ok(()), "others may take it meanwhile");
    let after = DriveMark::of_file(&fs::metadata(file.path()).unwrap()).unwrap();
    assert_eq!(before, after);
}

#[test]
fn what_is_no_drive_is_refused_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .unwrap();
    let missing = dir.path().join("missing");
    let cases = [
        (pipe.as_path(), io::ErrorKind::InvalidInput),
        (dir.path(), io::ErrorKind::InvalidInput),
        (missing.as_path(), io::ErrorKind::NotFound),
    ];
    for (path, wanted) in cases {
        assert_eq!(
            Peek::open(path).err().map(|error| error.kind()),
            Some(wanted),
            "{}",
            path.display()
        );
    }
}

#[test]
fn a_mark_tells_whether_a_drive_was_written_to_and_whether_it_is_another() {
    let file = |inode, changed| DriveMark::File {
        device: 1,
        inode,
        size_bytes: 4096,
        changed: (changed, 0),
    };
    let device = |diskseq| DriveMark::Device {
        number: DeviceNumber { major: 8, minor: 0 },
        size_kib: 4,
        diskseq,
    };
    assert!(file(1, 1).is_same_drive(&file(1, 2)) && file(1, 1) != file(1, 2));
    assert!(!file(1, 1).is_same_drive(&file(2, 1)));
    assert!(device(Some(1)).is_same_drive(&device(Some(1))));
    assert!(!device(Some(1)).is_same_drive(&device(Some(2))));
    assert!(!device(None).is_same_drive(&file(1, 1)));
}
