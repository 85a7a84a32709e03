use super::*;

fn progress() -> Progress {
    Progress::new(DeviceOp::Read, 1 << 20, 65_536)
}

#[test]
fn a_short_transfer_goes_on_from_the_last_whole_sector() {
    let mut progress = progress();
    assert_eq!(progress.take(Ok(10_000)), Ok(()));
    assert_eq!((progress.done, progress.place()), (8192, (1 << 20) + 8192));
    assert_eq!(progress.take(Ok(65_536 - 8192)), Ok(()));
    assert!(progress.is_complete());
}

#[test]
fn a_transfer_that_moves_no_whole_sector_is_short() {
    for stuck in [0, 511, 4095] {
        let mut progress = progress();
        progress.take(Ok(4096)).unwrap();
        let short = DeviceError::Short {
            op: DeviceOp::Read,
            offset: 1 << 20,
            asked: 65_536,
            done: 4096 + stuck,
        };
        assert_eq!(progress.take(Ok(stuck)), Err(short));
    }
}

#[test]
fn an_interrupted_transfer_is_begun_again() {
    let mut progress = progress();
    assert_eq!(progress.take(Err(io::Error::from_raw_os_error(libc::EINTR))), Ok(()));
    assert_eq!(progress.done, 0);
}

#[test]
fn errors_say_whether_the_drive_or_the_file_system_is_at_fault() {
    let error = |errno| of_os(DeviceOp::Write, 4096, &io::Error::from_raw_os_error(errno));
    assert_eq!(error(libc::ENOSPC), DeviceError::NoSpace { offset: 4096 });
    assert_eq!(error(libc::EDQUOT), DeviceError::NoSpace { offset: 4096 });
    assert_eq!(error(libc::ENODEV), DeviceError::Gone);
    assert_eq!(
        error(libc::EIO),
        DeviceError::Os { op: DeviceOp::Write, offset: 4096, errno: libc::EIO }
    );
}
