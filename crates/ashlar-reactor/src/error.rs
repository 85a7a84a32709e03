//! Why a reactor could not start.

use std::io;

/// Why a reactor could not start, and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The kernel has no io_uring at all.
    #[error(
        "this kernel has no io_uring (ENOSYS): Ashlar needs Linux 6.1 or newer, built with CONFIG_IO_URING"
    )]
    Absent,
    /// The system's setting forbids io_uring to this process.
    #[error(
        "io_uring is disabled by the sysctl kernel.io_uring_disabled = {setting}: set it to 0 \
         (sysctl -w kernel.io_uring_disabled=0){}",
        if *setting == 1 { ", or add this user's group to kernel.io_uring_group" } else { "" }
    )]
    Disabled {
        /// The sysctl's value: 1 allows one group and privileged processes, 2 nobody.
        setting: u32,
    },
    /// io_uring is forbidden, but not by the sysctl: a filter on system calls does it.
    #[error(
        "io_uring_setup is forbidden (EPERM) although kernel.io_uring_disabled allows it: a seccomp profile \
         or security module blocks it. In a container allow io_uring_setup, io_uring_enter and \
         io_uring_register (Docker and Podman: --security-opt seccomp=PROFILE.json; Kubernetes: a \
         seccompProfile; systemd: SystemCallFilter=@io-event)"
    )]
    Forbidden,
    /// The rings do not fit into the memory that this process may lock.
    #[error(
        "the rings do not fit into the locked memory allowed to this process (RLIMIT_MEMLOCK is {limit}): \
         raise it (ulimit -l, LimitMEMLOCK= in the systemd unit, --ulimit memlock= for a container), or \
         lower ring_entries and recv_buffer_count"
    )]
    LockedMemory {
        /// The present soft limit.
        limit: String,
    },
    /// The kernel has io_uring, but an old one.
    #[error("this kernel's io_uring lacks {feature}: Ashlar needs Linux 6.1 or newer")]
    KernelTooOld {
        /// What is missing.
        feature: &'static str,
    },
    /// A value of the configuration is out of its bounds.
    #[error("reactor configuration: {0}")]
    Config(String),
    /// One thread runs one reactor.
    #[error("a reactor already runs on this thread: start another one on a thread of its own")]
    AlreadyRunning,
    /// More reactors than a process can number.
    #[error("too many reactors in one process: at most {max}")]
    TooMany {
        /// The bound.
        max: usize,
    },
    /// Anything else that the operating system reported.
    #[error("{what} failed")]
    Os {
        /// The step that failed.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl StartError {
    /// Reads the error of `io_uring_setup` with the system's settings beside it.
    pub(crate) fn of_setup(error: io::Error) -> Self {
        let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
        Self::explain_setup(error, setting.and_then(|text| text.trim().parse().ok()).unwrap_or(0))
    }

    fn explain_setup(error: io::Error, disabled: u32) -> Self {
        match (error.raw_os_error(), disabled) {
            (Some(libc::ENOSYS), _) => StartError::Absent,
            (Some(libc::EPERM | libc::EACCES), 0) => StartError::Forbidden,
            (Some(libc::EPERM | libc::EACCES), setting) => StartError::Disabled { setting },
            (Some(libc::ENOMEM), _) => StartError::LockedMemory { limit: locked_memory_limit() },
            _ => StartError::Os { what: "io_uring_setup", source: error },
        }
    }
}

fn locked_memory_limit() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock);
    limit.current.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes >> 10))
}

#[cfg(test)]
mod tests;
