use super::*;

const IO: DeviceError = DeviceError::Os { op: DeviceOp::Write, offset: 0, errno: libc::EIO };
const FULL: DeviceError = DeviceError::NoSpace { offset: 0 };

fn cached_write(health: &Health) {
    health.begin_cached_write();
    health.end_cached_write();
}

#[test]
fn a_failed_flush_ends_the_trust_whatever_the_reason() {
    assert!(ends_trust(DeviceOp::Flush, false, &IO));
    assert!(ends_trust(DeviceOp::Flush, false, &FULL));
}

#[test]
fn a_failed_stable_write_ends_it_only_over_unflushed_data() {
    assert!(ends_trust(DeviceOp::Write, true, &IO));
    assert!(!ends_trust(DeviceOp::Write, false, &IO));
}

#[test]
fn a_full_file_system_and_a_failed_read_never_end_it() {
    assert!(!ends_trust(DeviceOp::Write, true, &FULL));
    assert!(!ends_trust(DeviceOp::Read, true, &IO));
    assert!(!ends_trust(DeviceOp::Discard, true, &IO));
}

#[test]
fn a_device_that_is_gone_stays_gone() {
    assert!(ends_trust(DeviceOp::Read, false, &DeviceError::Gone));
    let health = Health::default();
    assert_eq!(health.check(), Ok(()));
    assert!(health.latch());
    assert!(!health.latch());
    assert_eq!(health.check(), Err(DeviceError::Gone));
}

#[test]
fn a_flush_covers_the_writes_that_ended_before_it() {
    let health = Health::default();
    assert!(!health.has_unflushed());
    cached_write(&health);
    assert!(health.has_unflushed());
    let mark = health.begin_flush();
    cached_write(&health);
    health.flushed(mark);
    assert!(health.has_unflushed(), "the second write began after the flush");
    health.flushed(health.begin_flush());
    assert!(!health.has_unflushed());
}

#[test]
fn a_flush_covers_no_write_that_is_under_way() {
    let health = Health::default();
    health.begin_cached_write();
    health.flushed(health.begin_flush());
    health.end_cached_write();
    assert!(health.has_unflushed());
}
