//! What is said of a change that is done, on one line: what has changed, and what comes next.

use ashlar_block::{ByteSize, printable};
use ashlar_control::types::{ChangeVolume, Pool, PoolDrive, PoolSettings, Volume};

use super::tables::{self, is, lacks};

/// A pool has these settings now. `p99_is_off`: one of them has taken the place of recon-p99.
pub fn set(pool: &Pool, settings: &[String], p99_is_off: bool) -> String {
    let said = format!("pool '{}' has {} from now on", pool.name, settings.join(" "));
    match pool.settings.filter(|_| p99_is_off) {
        Some(PoolSettings { recon_prio_percent, .. }) => {
            format!("{said}; recon-p99 is off now: recon-prio={recon_prio_percent} counts instead")
        }
        None => said,
    }
}

/// A pool is formatted with more or less.
pub fn capacity_set(pool: &Pool) -> String {
    let space = pool.space.clone().unwrap_or_default();
    format!(
        "pool '{}' is formatted with {} ({:.2}x of {} provisioned); volumes are promised {}, and {} \
         are safe by what data compress to",
        pool.name,
        ByteSize(space.formatted_bytes),
        space.formatted_ratio,
        ByteSize(space.provisioned_bytes),
        ByteSize(space.promised_bytes),
        ByteSize(space.safe_to_format_bytes)
    )
}

/// A pool has taken the room of drives that have become larger.
pub fn grown(before: &Pool, after: &Pool) -> String {
    let name = &after.name;
    let raw = |pool: &Pool| pool.of_space(|space| space.raw_bytes).unwrap_or(0);
    let usable = ByteSize(after.of_space(|space| space.usable_bytes).unwrap_or(0));
    match raw(after).saturating_sub(raw(before)) {
        0 => format!("no drive of pool '{name}' has room that it does not use"),
        more => {
            format!("pool '{name}' has {} more: {usable} usable after redundancy", ByteSize(more))
        }
    }
}

/// A pool has another name.
pub fn pool_renamed(pool: &Pool, before: &str) -> String {
    format!("pool '{before}' is called '{}' now; hosts see no difference", pool.name)
}

/// The drive that was named like this is a member.
pub fn added(pool: &Pool, place: &str) -> String {
    let name = &pool.name;
    let next = if is(pool, "degraded") {
        goes_on(pool)
    } else {
        format!(
            "new data goes to it, and `ashlar pool rebalance {name}` moves a share of the old there"
        )
    };
    format!("{} is a member of pool '{name}' now; {next}", newcomer(pool, place))
}

/// A drive was given up.
pub fn failed(pool: &Pool, drive: &str) -> String {
    let next = match lacks(pool) {
        Some(lacks) => format!("the pool {lacks}"),
        None if is(pool, "degraded") => goes_on(pool),
        None => "nothing of it has to be restored".to_owned(),
    };
    format!("{} of pool '{}' is given up; {next}", called(pool, drive), pool.name)
}

/// A drive came back; `asked` as the operator has named it.
pub fn returned(pool: &Pool, asked: &str, place: Option<&str>) -> String {
    let name = &pool.name;
    match place.and_then(|place| Some((member_at(pool, place)?, place))) {
        Some((now, place)) => {
            let place = printable(ashlar_volume::path_of(place));
            let now = &now.name;
            format!(
                "{asked} is back as {name}/{now}; {name}/{place} names it under any number; {}",
                missed(pool)
            )
        }
        None => format!("{asked} is back; {}", missed(pool)),
    }
}

fn missed(pool: &Pool) -> String {
    if is(pool, "degraded") { goes_on(pool) } else { "it missed nothing".to_owned() }
}

/// A drive is to be removed, or was.
pub fn leaving(pool: &Pool, drive: &str, is_cancelled: bool) -> String {
    let (name, drive_name) = (&pool.name, called(pool, drive));
    if is_cancelled {
        return format!("{drive_name} stays in pool '{name}'");
    }
    format!("{drive_name} {}", way_out(pool, drive))
}

/// A drive came for another one.
pub fn replaced(pool: &Pool, drive: &str, with: &str) -> String {
    let (new, old) = (newcomer(pool, with), called(pool, drive));
    format!("{new} replaces {old} of pool '{}'; {old} {}", pool.name, way_out(pool, drive))
}

/// How far a drive is on its way out, said of it.
fn way_out(pool: &Pool, drive: &str) -> String {
    let name = &pool.name;
    let Some(member) = member(pool, drive) else {
        return format!("has left pool '{name}': the drive is free");
    };
    if member.states.iter().any(|state| state == "evacuating") {
        return format!(
            "leaves pool '{name}' once what lives on it is on others: `ashlar pool show {name}` \
             shows how far that is"
        );
    }
    format!("leaves pool '{name}' once what lived on it is restored on others; {}", goes_on(pool))
}

/// A drive waits for a loss.
pub fn spare_added(pool: &Pool, place: &str) -> String {
    let when = if is(pool, "degraded") || is(pool, "reduced") {
        "the pool lacks a drive, so it takes the spare within seconds"
    } else {
        "the pool takes it by itself when it loses a drive"
    };
    format!("{} is a spare of pool '{}' now; {when}", path(place), pool.name)
}

/// A drive waits no more.
pub fn spare_removed(pool: &Pool, place: &str) -> String {
    let next = match pool.spares.len() {
        0 => "the pool has none left".to_owned(),
        left => format!("{left} of its spares are left"),
    };
    format!("{} is no spare of pool '{}' any more; {next}", path(place), pool.name)
}

/// A volume has another size.
pub fn resized(volume: &Volume) -> String {
    format!(
        "volume '{}' has {} now; connected hosts are told, and a file system on it has to be resized there",
        full_name(volume),
        ByteSize(volume.size_bytes)
    )
}

/// A volume has another name.
pub fn renamed(volume: &Volume, before: &str) -> String {
    format!(
        "volume '{before}' is '{}' now; hosts know it by its UUID, and go on",
        full_name(volume)
    )
}

/// A volume holds nothing any more.
pub fn wiped(volume: &Volume) -> String {
    format!(
        "volume '{}' is wiped: nothing that it held can be read through Ashlar any more, and its \
         space comes back; drives that take discards are told (autotrim)",
        full_name(volume)
    )
}

/// What was asked for has changed.
pub fn changed(volume: &Volume, asked: &ChangeVolume) -> String {
    let protection = asked.write_protected.map(|_| protected(volume));
    let atomicity = asked.atomic_write_bytes.map(|_| atomic(volume));
    let compression = asked.compression.as_ref().map(|_| compression(volume));
    let qos = asked.qos.as_ref().map(|_| tables::limited(volume));
    let all = protection.into_iter().chain(compression).chain(atomicity).chain(qos);
    all.collect::<Vec<_>>().join("\n")
}

/// How blocks are stored has changed.
fn compression(volume: &Volume) -> String {
    let (name, how) = (full_name(volume), &volume.compression);
    format!("volume '{name}' stores by '{how}' what is written from now on")
}

/// What hosts are told of atomic writes has changed.
fn atomic(volume: &Volume) -> String {
    let name = full_name(volume);
    match volume.atomic_write_bytes {
        0 => format!(
            "hosts are told now that volume '{name}' writes single sectors atomically; connected \
             hosts hear of it"
        ),
        bytes => format!(
            "hosts are told now that volume '{name}' writes up to {} atomically; connected hosts \
             hear of it",
            ByteSize(bytes)
        ),
    }
}

/// Whether hosts may write to a volume has changed.
fn protected(volume: &Volume) -> String {
    let how = if volume.write_protected {
        "is write protected now; hosts read it, and their writes fail"
    } else {
        "is not write protected any more; hosts can write to it"
    };
    format!("volume '{}' {how}", full_name(volume))
}

/// Who may see a volume has changed.
pub fn access(volume: &Volume) -> String {
    let name = full_name(volume);
    match (volume.access.allow_any, volume.access.hosts.as_slice()) {
        (true, _) => format!("any host may see volume '{name}' now; connected hosts are told"),
        (false, []) => {
            format!(
                "no host may see volume '{name}' now: `ashlar volume allow {name} NQN`, or `any`, \
                 changes that"
            )
        }
        (false, [host]) => {
            format!("{host} alone may see volume '{name}' now; it is told if it is connected")
        }
        (false, hosts) => {
            let count = hosts.len();
            format!(
                "{count} hosts may see volume '{name}' now: `ashlar volume show {name}` lists them"
            )
        }
    }
}

fn full_name(volume: &Volume) -> String {
    format!("{}/{}", volume.pool, volume.name)
}

fn path(place: &str) -> String {
    printable(ashlar_volume::path_of(place))
}

fn goes_on(pool: &Pool) -> String {
    format!(
        "Ashlar restores what is lost: `ashlar pool rebuild {}` shows how far that is",
        pool.name
    )
}

/// The newest record comes last.
fn member<'a>(pool: &'a Pool, drive: &str) -> Option<&'a PoolDrive> {
    pool.drives.iter().rfind(|it| it.is_named(drive))
}

fn member_at<'a>(pool: &'a Pool, place: &str) -> Option<&'a PoolDrive> {
    pool.drives.iter().rfind(|it| it.is_at(place))
}

/// The drive by its name within the pool, or as it was named.
fn called(pool: &Pool, drive: &str) -> String {
    member(pool, drive).map_or_else(|| path(drive), |member| member.name.clone())
}

fn newcomer(pool: &Pool, place: &str) -> String {
    let name = member_at(pool, place).map(|member| format!("{} ({})", member.name, path(place)));
    name.unwrap_or_else(|| path(place))
}

#[cfg(test)]
mod tests;
