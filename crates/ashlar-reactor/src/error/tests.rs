use super::*;

fn explain(errno: i32, disabled: u32) -> String {
    StartError::explain_setup(io::Error::from_raw_os_error(errno), disabled).to_string()
}

#[test]
fn a_kernel_without_io_uring_is_named_with_the_version_needed() {
    assert!(explain(libc::ENOSYS, 0).contains("Linux 6.1"));
}

#[test]
fn the_sysctl_is_named_when_it_is_the_reason() {
    assert!(explain(libc::EPERM, 2).contains("sysctl -w kernel.io_uring_disabled=0"));
    assert!(!explain(libc::EPERM, 2).contains("io_uring_group"));
    assert!(explain(libc::EPERM, 1).contains("io_uring_group"));
}

#[test]
fn a_system_call_filter_is_named_when_the_sysctl_allows() {
    assert!(explain(libc::EPERM, 0).contains("seccomp"));
    assert!(explain(libc::EACCES, 0).contains("seccomp"));
}

#[test]
fn too_little_locked_memory_names_the_limit() {
    assert!(explain(libc::ENOMEM, 0).contains("RLIMIT_MEMLOCK"));
}

#[test]
fn any_other_error_keeps_its_cause() {
    let error = StartError::explain_setup(io::Error::from_raw_os_error(libc::EMFILE), 0);
    assert!(
        matches!(error, StartError::Os { source, .. } if source.raw_os_error() == Some(libc::EMFILE))
    );
}
