//! Processor time of a thread or a process, as the kernel accounts it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whose processor time is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CpuClock {
    /// One thread of this process, by its kernel number.
    Thread(u32),
    /// One thread of any process.
    ThreadOf {
        /// The process.
        process: u32,
        /// The thread's kernel number.
        thread: u32,
    },
    /// All threads of a process.
    Process(u32),
}

/// No such process.
const ESRCH: i32 = 3;

/// Nanoseconds on a processor: the first field of a thread's `schedstat`.
fn thread_time(task: &Path) -> io::Result<Duration> {
    let text = fs::read_to_string(task.join("schedstat"))?;
    let first = text.split_ascii_whitespace().next().and_then(|field| field.parse().ok());
    first.map(Duration::from_nanos).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The same, or nothing if the thread has ended since it was listed.
fn time_if_alive(task: &Path) -> io::Result<Duration> {
    match thread_time(task) {
        // The file is gone, or it was open already and its thread is.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) =>
        {
            Ok(Duration::ZERO)
        }
        other => other,
    }
}

impl CpuClock {
    /// The calling thread's.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub fn of_this_thread() -> io::Result<Self> {
        let link = fs::read_link("/proc/thread-self")?;
        let number =
            link.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        number.map(CpuClock::Thread).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// The time spent so far. Threads that have ended do not count.
    ///
    /// # Errors
    /// The thread or process is gone, or `/proc` is not mounted.
    pub fn spent(&self) -> io::Result<Duration> {
        match self {
            CpuClock::Thread(number) => {
                thread_time(&PathBuf::from(format!("/proc/self/task/{number}")))
            }
            CpuClock::ThreadOf { process, thread } => {
                thread_time(&PathBuf::from(format!("/proc/{process}/task/{thread}")))
            }
            CpuClock::Process(number) => {
                let tasks = fs::read_dir(format!("/proc/{number}/task"))?;
                tasks.map(|task| time_if_alive(&task?.path())).sum()
            }
        }
    }
}

#[cfg(test)]
mod tests;
