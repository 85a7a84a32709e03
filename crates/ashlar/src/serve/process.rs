//! What the daemon takes of the machine, as the kernel counts it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ashlar_control::types::{ProcessFigures, ThreadFigures};
use rustix::param::{clock_ticks_per_second, page_size};

#[cfg(test)]
mod tests;

const SELF: &str = "/proc/self";

/// The figures of this process but for its reactors, which are asked themselves. What cannot be
/// read is not known.
pub fn figures() -> ProcessFigures {
    of(Path::new(SELF), clock_ticks_per_second(), page_size() as u64)
}

/// The threads of this process alone: of many hosts there are many open files to be counted.
pub fn threads() -> Vec<ThreadFigures> {
    threads_of(Path::new(SELF), clock_ticks_per_second())
}

fn of(process: &Path, ticks_per_second: u64, page_bytes: u64) -> ProcessFigures {
    let pages = fs::read_to_string(process.join("statm"))
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    let open_files = fs::read_dir(process.join("fd")).ok().map(|files| files.count() as u64);
    let resident_bytes = pages.map(|pages| pages * page_bytes);
    let threads = threads_of(process, ticks_per_second);
    ProcessFigures { resident_bytes, open_files, threads, reactors: Vec::new() }
}

fn threads_of(process: &Path, ticks_per_second: u64) -> Vec<ThreadFigures> {
    let mut spent = BTreeMap::<String, u64>::new();
    for task in fs::read_dir(process.join("task")).into_iter().flatten().flatten() {
        // A thread may end while it is looked at.
        if let Some((name, ticks)) = thread(&task.path()) {
            *spent.entry(name).or_default() += ticks;
        }
    }
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second as f64;
    spent
        .into_iter()
        .map(|(name, ticks)| ThreadFigures { name, cpu_seconds: seconds(ticks) })
        .collect()
}

/// The name of a thread, and its processor time in ticks (`proc_pid_stat(5)`: fields 14 and 15).
fn thread(task: &Path) -> Option<(String, u64)> {
    let text = fs::read_to_string(task.join("stat")).ok()?;
    // The name may have blanks and brackets itself.
    let (head, rest) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let mut ticks = rest.split_whitespace().skip(11);
    let user: u64 = ticks.next()?.parse().ok()?;
    let system: u64 = ticks.next()?.parse().ok()?;
    Some((name, user + system))
}
