//! How much memory there is for this process: what the defaults follow from.

use std::fs;
use std::path::{Path, PathBuf};

/// The control groups that this process is in.
const MEMBERSHIP: &str = "/proc/self/cgroup";
/// Where control groups are, and the limit of each: of version 2, and of the memory controller of
/// version 1.
const UNIFIED: (&str, &str) = ("/sys/fs/cgroup", "memory.max");
const LEGACY: (&str, &str) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes");

/// The machine's memory, or what the process's control groups leave of it: a service manager's
/// limit, or a container's.
pub(super) fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    let machine = info.totalram as u64 * u64::from(info.mem_unit);
    let membership = fs::read_to_string(MEMBERSHIP).unwrap_or_default();
    group_limit_bytes(&membership, |path| fs::read_to_string(path).ok())
        .map_or(machine, |limit| limit.min(machine))
}

/// The least limit of the groups that `membership` names and of those above them, as cgroups(7)
/// lays them out. Where a container sees its own groups as the topmost ones, the names are not to
/// be found, and its limit is that of the topmost.
fn group_limit_bytes(membership: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let files = membership.lines().flat_map(limit_files);
    // A group without a limit says "max".
    files.filter_map(|file| read(&file)?.trim().parse().ok()).min()
}

/// Where the limits are that a line of the membership, `ID:CONTROLLERS:PATH`, stands for.
fn limit_files(line: &str) -> Vec<PathBuf> {
    let parts = line.split_once(':').and_then(|(_, rest)| rest.split_once(':'));
    let (top, file, path) = match parts {
        Some(("", path)) => (UNIFIED.0, UNIFIED.1, path),
        Some((controllers, path)) if controllers.split(',').any(|name| name == "memory") => {
            (LEGACY.0, LEGACY.1, path)
        }
        _ => return Vec::new(),
    };
    let relative = Path::new(path.trim_start_matches('/'));
    relative.ancestors().map(|group| Path::new(top).join(group).join(file)).collect()
}

#[cfg(test)]
mod tests;
