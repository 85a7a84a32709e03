//! From what clients ask for to what the node takes: the checks that need no node.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ashlar_block::check_name;
use ashlar_control::types::{
    ChangePool, CreatePool, CreateVolume, NameHosts, SCRUB_INTERVAL_SECONDS_MAX, SetCapacity,
};
use ashlar_control::{ApiError, ErrorCode};
use ashlar_drive::DriveSpec;
use ashlar_node::identity;
use ashlar_raid::Level;
use ashlar_store::{Compression, NewPool, PRIO_MAX, WantedCapacity};
use ashlar_volume::{
    AccessChange, AccessList, AtomicWrites, HOSTS_MAX, HostNqn, NewVolume, SettingsChange,
};

use super::finder::path_of;

const ANY: &str = "any";
const ALL: &str = "all";
const NONE: &str = "none";
/// What the NQN of a host ends in where it stands for any.
const EXAMPLE_END: &str = "uuid:HOST";
/// Chunk sizes that the format has.
const CHUNK_BYTES: std::ops::RangeInclusive<u32> = 64 << 10..=64 << 20;

fn refused(code: ErrorCode, why: impl ToString) -> ApiError {
    ApiError::new(code, why.to_string())
}

/// What pool is to be made.
pub fn new_pool(request: &CreatePool) -> Result<NewPool, ApiError> {
    check_name(&request.name).map_err(|error| refused(ErrorCode::InvalidName, error))?;
    let level: Level =
        request.level.parse().map_err(|error| refused(ErrorCode::InvalidLevel, error))?;
    if let Some(bytes) = request.chunk_bytes
        && (!bytes.is_power_of_two() || !CHUNK_BYTES.contains(&bytes))
    {
        let why = format!(
            "a chunk of {bytes} bytes cannot be: choose a power of two from 64KiB to 64MiB"
        );
        return Err(refused(ErrorCode::InvalidChunk, why));
    }
    Ok(NewPool {
        name: request.name.clone(),
        level,
        chunk_bytes: request.chunk_bytes,
        segment_numbers: None,
    })
}

/// Hosts that may wait longer than a minute wait for nothing.
const RECON_P99_US_MAX: u64 = 60_000_000;

/// Sooner no drive counts as silent; and who waits for an hour waits for somebody to come.
const IO_TIMEOUT_SECONDS: RangeInclusive<u64> = 2..=3600;

/// What is to change of a pool's settings.
pub fn settings(request: ChangePool) -> Result<SettingsChange, ApiError> {
    check_settings(&request).map_err(|why| refused(ErrorCode::InvalidSetting, why))?;
    let ChangePool {
        recon_prio_percent,
        recon_p99_us,
        scrub_prio_percent,
        scrub_interval_seconds,
        fault_threshold,
        io_timeout_seconds,
        autotrim,
        overcommit,
        warn_percent,
        throttle_percent,
        stop_percent,
    } = request;
    let interval = |seconds: u64| (seconds > 0).then(|| Duration::from_secs(seconds));
    let target = |micros: u64| (micros > 0).then(|| Duration::from_micros(micros));
    Ok(SettingsChange {
        recon_prio: recon_prio_percent,
        recon_p99: recon_p99_us.map(target),
        scrub_prio: scrub_prio_percent,
        scrub_interval: scrub_interval_seconds.map(interval),
        fault_threshold: fault_threshold.map(NonZeroU32::new),
        io_timeout: io_timeout_seconds.map(interval),
        autotrim,
        overcommit,
        warn: warn_percent,
        throttle: throttle_percent,
        stop: stop_percent,
    })
}

/// What is to be formatted.
pub fn capacity(request: &SetCapacity) -> Result<WantedCapacity, ApiError> {
    match (request.formatted_bytes, &request.factor) {
        (Some(bytes), None) => Ok(WantedCapacity::Bytes(bytes)),
        (None, Some(factor)) => {
            let factor = factor.parse().map_err(|error| refused(ErrorCode::InvalidCapacity, error));
            factor.map(WantedCapacity::Times)
        }
        _ => Err(refused(ErrorCode::InvalidCapacity, "give either formatted_bytes or factor")),
    }
}

/// # Errors
/// What cannot be, with what can.
fn check_settings(request: &ChangePool) -> Result<(), String> {
    for (name, prio) in
        [("recon-prio", request.recon_prio_percent), ("scrub-prio", request.scrub_prio_percent)]
    {
        if let Some(prio) = prio.filter(|prio| !(1..=PRIO_MAX).contains(prio)) {
            return Err(format!(
                "{name}={prio} cannot be: choose 1 to {PRIO_MAX} percent of the time"
            ));
        }
    }
    if let Some(micros) = request.recon_p99_us.filter(|micros| *micros > RECON_P99_US_MAX) {
        return Err(format!(
            "recon-p99 of {micros} us cannot be: choose 1 to {RECON_P99_US_MAX} us, or 0 for none"
        ));
    }
    if let Some(seconds) =
        request.scrub_interval_seconds.filter(|seconds| *seconds > SCRUB_INTERVAL_SECONDS_MAX)
    {
        let days = SCRUB_INTERVAL_SECONDS_MAX / 86_400;
        return Err(format!(
            "scrub-interval of {seconds} s cannot be: choose 1 s to {days} days ({SCRUB_INTERVAL_SECONDS_MAX} s), or 0 for none"
        ));
    }
    let timeout = request
        .io_timeout_seconds
        .filter(|seconds| *seconds > 0 && !IO_TIMEOUT_SECONDS.contains(seconds));
    timeout.map_or(Ok(()), |seconds| {
        Err(format!("io-timeout of {seconds} s cannot be: choose 2 to 3600 s, or 0 for none"))
    })
}

/// What hosts are to be told of the atomicity of writes.
pub fn atomic(bytes: u64) -> Result<AtomicWrites, ApiError> {
    AtomicWrites::new(bytes).map_err(|error| refused(ErrorCode::InvalidAtomic, error))
}

/// What volume is to be made.
pub fn new_volume(request: &CreateVolume) -> Result<NewVolume, ApiError> {
    let name = request.name.parse().map_err(|error| refused(ErrorCode::InvalidName, error))?;
    if !matches!(request.lba_bytes, 512 | 4096) {
        let why = format!("sectors of {} bytes cannot be: choose 512 or 4096", request.lba_bytes);
        return Err(refused(ErrorCode::InvalidLbaSize, why));
    }
    let access = access(&request.allow)?;
    Ok(NewVolume {
        name,
        size_bytes: request.size_bytes,
        lba_bytes: request.lba_bytes,
        compression: compression(&request.compression)?,
        access,
    })
}

/// How a volume's blocks are to be stored.
pub fn compression(text: &str) -> Result<Compression, ApiError> {
    text.parse().map_err(|error| refused(ErrorCode::InvalidCompression, error))
}

fn access(allow: &[String]) -> Result<AccessList, ApiError> {
    match allow {
        [only] if only == ANY => Ok(AccessList::AllowAny),
        [only] if only == NONE => Ok(AccessList::Allow(BTreeSet::new())),
        hosts => {
            let hosts: BTreeSet<HostNqn> = allowed_hosts(hosts)?.into_iter().collect();
            if hosts.len() > HOSTS_MAX {
                let why = format!(
                    "{} hosts are more than an access list has room for ({HOSTS_MAX})",
                    hosts.len()
                );
                return Err(refused(ErrorCode::TooManyHosts, why));
            }
            Ok(AccessList::Allow(hosts))
        }
    }
}

fn hosts(names: &[String]) -> Result<Vec<HostNqn>, ApiError> {
    let word = names.iter().find(|name| [ANY, ALL, NONE].contains(&name.as_str()));
    if let Some(word) = word {
        let why = match names.len() {
            1 => format!("'{word}' says nothing here: name the NQN of a host (nqn.…)"),
            _ => format!("'{word}' was given with other hosts: give it alone"),
        };
        return Err(refused(ErrorCode::InvalidHost, why));
    }
    names
        .iter()
        .map(|name| HostNqn::new(name).map_err(|error| refused(ErrorCode::InvalidHost, error)))
        .collect()
}

/// Hosts that are to see a volume. One that has the name of an example would never come.
fn allowed_hosts(names: &[String]) -> Result<Vec<HostNqn>, ApiError> {
    let Some(name) = names.iter().find(|name| name.ends_with(EXAMPLE_END)) else {
        return hosts(names);
    };
    let why = format!("'{name}' is the example of a name, not the NQN of a host");
    Err(refused(ErrorCode::InvalidHost, why)
        .with_hint("on the host, `cat /etc/nvme/hostnqn` prints its NQN"))
}

/// Who may see a volume, in addition or alone.
pub fn allow(request: &NameHosts) -> Result<AccessChange, ApiError> {
    match request.hosts.as_slice() {
        [] => Err(refused(ErrorCode::InvalidHost, "no host was given: name its NQN, or any")),
        [one] if one == ANY && request.only => Err(refused(
            ErrorCode::InvalidHost,
            "any is every host: there are none besides to take away, so leave only out",
        )),
        [one] if one == ANY => Ok(AccessChange::AllowAny),
        names if request.only => allowed_hosts(names).map(AccessChange::AllowOnly),
        names => allowed_hosts(names).map(AccessChange::Allow),
    }
}

/// Who may no longer.
pub fn deny(request: &NameHosts) -> Result<AccessChange, ApiError> {
    match request.hosts.as_slice() {
        _ if request.only => {
            Err(refused(ErrorCode::InvalidHost, "only is a word to allow hosts, not to deny them"))
        }
        [] => Err(refused(ErrorCode::InvalidHost, "no host was given: name its NQN, any or all")),
        [one] if one == ALL => Ok(AccessChange::DenyAll),
        [one] if one == ANY => Ok(AccessChange::DenyAny),
        names => hosts(names).map(AccessChange::Deny),
    }
}

/// The drives that a client names, directories replaced by what is in them and not named already;
/// whether there were any. A relative path is none: the daemon runs elsewhere than whoever wrote
/// it.
pub fn expand_directories(drives: &[String]) -> Result<(Vec<String>, bool), ApiError> {
    let directory = |drive: &String| {
        let path = path_of(drive).filter(|path| path.is_absolute());
        path.filter(|path| path.is_dir())
    };
    let directories: Vec<Option<PathBuf>> = drives.iter().map(directory).collect();
    let looked = directories.iter().any(Option::is_some);
    let named = drives.iter().zip(&directories).filter(|(_, directory)| directory.is_none());
    // Two looks at one drive at a time are in each other's way.
    let mut seen: BTreeSet<String> = named.filter_map(|(drive, _)| identity(drive)).collect();
    let mut expanded = Vec::new();
    for (drive, directory) in drives.iter().zip(directories) {
        let Some(directory) = directory else {
            expanded.push(drive.clone());
            continue;
        };
        let mut is_new =
            |drive: &String| identity(drive).is_none_or(|identity| seen.insert(identity));
        expanded.extend(drives_in(&directory)?.into_iter().filter(|drive| is_new(drive)));
    }
    Ok((expanded, looked))
}

/// Nothing in the directories can be a pool's.
pub fn no_members(directories: &[String], unreadable: &[String]) -> ApiError {
    let why =
        if unreadable.is_empty() { String::new() } else { format!(" ({})", unreadable.join("; ")) };
    refused(
        ErrorCode::NoMembers,
        format!("no unused drive of a pool is in {}{why}", directories.join(", ")),
    )
}

fn drives_in(directory: &Path) -> Result<Vec<String>, ApiError> {
    use std::os::unix::fs::FileTypeExt;
    let failed = |error| {
        refused(
            ErrorCode::DirectoryUnreadable,
            format!("cannot look into {}: {error}", directory.display()),
        )
    };
    let entries = fs::read_dir(directory).map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let spec = |path: PathBuf| {
        let kind = fs::metadata(&path).ok()?.file_type();
        // A text cannot name what is not Unicode.
        path.to_str()?;
        let found = kind.is_file().then(|| DriveSpec::existing_file(path.clone()));
        let found = found.or_else(|| kind.is_block_device().then_some(DriveSpec::Block { path }));
        found.map(|found| found.to_string())
    };
    Ok(paths.into_iter().filter_map(spec).collect())
}

#[cfg(test)]
mod tests;
