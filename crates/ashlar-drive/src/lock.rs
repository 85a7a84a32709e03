//! One daemon per drive: an advisory lock on the file or device node, and who holds it if we do
//! not.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Dev, FlockOperation, Stat, flock, major, minor};
use rustix::io::Errno;

/// Pause between two attempts to take a lock that a process has left behind.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(10);

/// How often the list of locks is read for one look.
const LOCKS_READS: usize = 3;

/// Takes the lock as [`try_lock`] does, and waits if nobody who lives has it by a file that is
/// open. The kernel ends the operations of a ring, which keep its files open, only after the ring's
/// process has ended: a daemon that follows at once on one that was killed would otherwise miss
/// some of its drives. And a process that is being started has a copy of everything its parent had
/// open, until it becomes another program. Who only reads the file, as a look at its label does,
/// has no lock, and keeps nobody from waiting.
pub(crate) fn lock_when_left(
    file: impl AsFd,
    stat: &Stat,
    wait_max: Duration,
) -> Result<bool, Errno> {
    when_left(file, stat, wait_max, FlockOperation::NonBlockingLockExclusive)
}

/// The same with a lock that any number of readers may have, and nobody who writes beside them.
pub(crate) fn share_when_left(
    file: impl AsFd,
    stat: &Stat,
    wait_max: Duration,
) -> Result<bool, Errno> {
    when_left(file, stat, wait_max, FlockOperation::NonBlockingLockShared)
}

fn when_left(
    file: impl AsFd,
    stat: &Stat,
    wait_max: Duration,
    operation: FlockOperation,
) -> Result<bool, Errno> {
    let start = Instant::now();
    while !try_lock(&file, operation)? {
        if start.elapsed() >= wait_max || locker(stat).is_some_and(|pid| has_locked(pid, &file)) {
            return Ok(false);
        }
        thread::sleep(ATTEMPT_INTERVAL);
    }
    Ok(true)
}

/// Whether the process lives and has the file open, by another descriptor than this one. Of a
/// process whose descriptors are not for us to see it is assumed.
pub fn has_open(pid: u32, file: impl AsFd) -> bool {
    any_descriptor(pid, file.as_fd(), |_| true)
}

/// The same, of a descriptor that the lock belongs to.
fn has_locked(pid: u32, file: impl AsFd) -> bool {
    any_descriptor(pid, file.as_fd(), |descriptor| {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}"));
        info.is_ok_and(|info| {
            info.lines().any(|line| line.starts_with("lock:") && line.contains("FLOCK"))
        })
    })
}

/// Whether the process lives and `is_meant` holds for one of its descriptors of the file, this one
/// excepted.
fn any_descriptor(pid: u32, file: BorrowedFd<'_>, is_meant: impl Fn(&str) -> bool) -> bool {
    let (Ok(descriptors), Ok(wanted)) =
        (fs::read_dir(format!("/proc/{pid}/fd")), rustix::fs::fstat(file))
    else {
        return is_alive(pid);
    };
    let ours = (pid == std::process::id()).then(|| file.as_raw_fd().to_string());
    let is_wanted =
        |found: fs::Metadata| (found.dev(), found.ino()) == (wanted.st_dev, wanted.st_ino);
    descriptors.flatten().any(|entry| {
        let descriptor = entry.file_name().to_string_lossy().into_owned();
        let is_other = ours.as_ref() != Some(&descriptor);
        is_other && fs::metadata(entry.path()).is_ok_and(is_wanted) && is_meant(&descriptor)
    })
}

/// Whether the process runs: one that has ended may still be there for its parent to see.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Takes the lock, which lasts until the last descriptor of this open file is closed. False:
/// another process has it.
pub(crate) fn try_lock(file: impl AsFd, operation: FlockOperation) -> Result<bool, Errno> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Who holds the lock on a file, as well as the kernel tells.
pub(crate) fn holder_of_lock(stat: &Stat) -> String {
    holder(stat).unwrap_or_else(|| "another process".to_owned())
}

/// Who holds the lock on a file or device node, if somebody does.
pub(crate) fn holder(stat: &Stat) -> Option<String> {
    locker(stat).map(describe)
}

/// Another process that has locked a part of the file.
pub(crate) fn holder_of_part(stat: &Stat) -> Option<String> {
    let pid = pid_in(&all_locks(), &["POSIX", "OFDLCK"], stat.st_dev, stat.st_ino)?;
    // The kernel does not tell whose a lock is that belongs to an open file.
    let who = u32::try_from(pid).map_or_else(|_| "another process".to_owned(), describe);
    Some(format!("{who} has locked a part of it"))
}

fn locker(stat: &Stat) -> Option<u32> {
    pid_in(&all_locks(), &["FLOCK"], stat.st_dev, stat.st_ino)
        .and_then(|pid| u32::try_from(pid).ok())
}

/// The text of `/proc/locks`, several times over. The kernel gives it a page at a time, and leaves
/// a line out where a lock before it goes between two pages.
fn all_locks() -> String {
    (0..LOCKS_READS).filter_map(|_| fs::read_to_string("/proc/locks").ok()).collect()
}

/// The process that holds a lock of one of these kinds on the inode, from the text of
/// `/proc/locks`: `1: FLOCK ADVISORY WRITE 1234 fe:00:5678 0 EOF`.
fn pid_in(locks: &str, kinds: &[&str], device: Dev, inode: u64) -> Option<i64> {
    let wanted = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, kind, _, _, pid, place, ..] = fields[..] else { return None };
        if place == wanted && kinds.contains(&kind) { pid.parse().ok() } else { None }
    })
}

fn describe(pid: u32) -> String {
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim()),
        Err(_) => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests;
