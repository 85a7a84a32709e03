//! Tables for people.

use ashlar_block::{ByteSize, counted, printable};
use ashlar_control::types::{
    Access, Pool, PoolDrive, Progress, Scrub, ScrubbedDrive, Status, Volume,
};
use ashlar_control::{ProgressText, Span};
use ashlar_raid::Level;
use comfy_table::Color;

use crate::colours;
use grid::{Kind, Text, prose, sheet, table};

mod access;
mod alerts;
mod capacity;
mod drives;
mod estimate;
mod events;
mod grid;
mod health;
mod hosts;
mod importable;
mod jobs;
mod latency;
mod metrics;
mod plans;
mod pool;
mod qos;
mod receivers;

pub use access::{keys, session, tokens};
pub use alerts::alerts;
pub use capacity::{capacity, verified};
pub use drives::{drive_info, drive_info_with_health, drives, member, member_with_health};
pub use estimate::estimate;
pub use events::{audit, event, events};
pub use hosts::hosts;
pub use importable::{ON_DEVICES, ON_NAMED, importable, no_such_importable};
pub use jobs::{job, jobs};
pub use latency::latency;
pub use metrics::metrics;
pub use plans::{drive_plan, pool_plan};
pub use pool::{pool, pool_with_health};
pub use qos::{changed_policy, created_policy, limited, policies, policy};
pub use receivers::receivers;

fn size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// It is not open, or not yet.
fn is_closed(pool: &Pool) -> bool {
    is(pool, "unavailable") || is(pool, "opening")
}

/// What may be unknown, as a text.
fn known<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(dash, text)
}

fn dash() -> String {
    "-".to_owned()
}

/// The same of a text.
fn or_dash(text: Option<&str>) -> String {
    known(text, printable)
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// States in words, coloured where somebody looks.
fn states(states: &[String]) -> Text {
    let text = Text::from(states.join(", "));
    if !colours::wanted(&std::io::stdout()) {
        return text;
    }
    let has = |words: &[&str]| states.iter().any(|state| words.contains(&state.as_str()));
    if has(&["unavailable", "failed", "read-only", "taken", "out-of-room", "full", "failing"]) {
        text.coloured(Color::Red)
    } else if has(&["opening", "degraded", "absent", "returned", "stale", "slow", "warning"]) {
        text.coloured(Color::Yellow)
    } else {
        text.coloured(Color::Green)
    }
}

fn access(access: &Access) -> String {
    match (access.allow_any, access.hosts.as_slice()) {
        (true, _) => "any".to_owned(),
        (false, []) => "none".to_owned(),
        (false, hosts) => hosts.join("\n"),
    }
}

/// The same where many volumes are listed: one of a thousand hosts is looked for elsewhere.
fn access_in_short(access: &Access) -> String {
    match (access.allow_any, access.hosts.len()) {
        (true, _) => "any".to_owned(),
        (false, 0) => "none".to_owned(),
        (false, count) => counted(count, "host"),
    }
}

/// All pools, a line each.
pub fn pools(pools: &[Pool]) -> String {
    if pools.is_empty() {
        return "no pools: `ashlar pool create` makes one".to_owned();
    }
    let columns = [
        ("name", Kind::Name),
        ("level", Kind::Figure),
        ("state", Kind::Words),
        ("drives", Kind::Figure),
        ("used", Kind::Figure),
        ("limit", Kind::Figure),
        ("safe to\nwrite", Kind::Figure),
    ];
    let row = |pool: &Pool| {
        vec![
            Text::from(&pool.name),
            or_dash(pool.level.as_deref()).into(),
            states(&pool.states),
            members(pool).into(),
            known(pool.of_space(|space| space.physical_used_bytes), size).into(),
            known(pool.of_space(|space| space.limit_bytes), size).into(),
            known(pool.of_space(|space| space.safe_to_write_bytes), size).into(),
        ]
    };
    let problem = |pool: &Pool| {
        let problem = printable(pool.problem.as_ref()?);
        Some(prose(&format!("{}: {problem}", pool.name)))
    };
    let table = table(&columns, pools.iter().map(row).collect());
    std::iter::once(table).chain(pools.iter().filter_map(problem)).collect::<Vec<_>>().join("\n")
}

/// The drives that a pool has. One that is released, or that is back under another number, is none.
fn members(pool: &Pool) -> usize {
    let is_member = |drive: &&PoolDrive| {
        !drive.states.iter().any(|state| state == "released" || state == "returned")
    };
    pool.drives.iter().filter(is_member).count()
}

/// What to know of a pool that has just been made or opened.
pub fn opened_pool(done: &str, pool: &Pool) -> String {
    let drives = counted(members(pool), "drive");
    let mut lines = vec![format!(
        "pool '{}' is {done}: level {} over {drives}, {} may be stored ({} raw)",
        pool.name,
        or_dash(pool.level.as_deref()),
        known(pool.of_space(|space| space.limit_bytes), size),
        known(pool.of_space(|space| space.raw_bytes), size)
    )];
    if is(pool, "degraded") {
        lines.push(
            "note: the pool is degraded: `ashlar pool show` says which drives are missing"
                .to_owned(),
        );
    }
    lines.extend(pool.notes.iter().map(|note| format!("note: {}", printable(note))));
    lines.join("\n")
}

/// What has come of the release of a pool's reserve.
pub fn released_reserve(pool: &Pool) -> String {
    let said = format!(
        "the reserve of pool '{}' is released: {} are safe to write now. Delete or trim data, or \
         add drives. The pool keeps the reserve again once twice its size is safe to write",
        pool.name,
        known(pool.of_space(|space| space.safe_to_write_bytes), size)
    );
    prose(&said)
}

/// What an operator has chosen, a line each.
pub fn settings(chosen: &[(&'static str, String)]) -> String {
    sheet(chosen.iter().map(|(name, value)| (*name, value.clone())).collect())
}

/// How far a pool's rebuild is.
pub fn rebuild(pool: &Pool) -> String {
    let (name, states) = (&pool.name, pool.states.join(", "));
    match pool.rebuild() {
        Some(rebuild) => format!("pool '{name}' is {states}: {}", done(moving(pool).1, &rebuild)),
        None if is(pool, "degraded") => {
            format!(
                "pool '{name}' is {states}: Ashlar is recording the loss on the remaining drives; \
                 the rebuild follows"
            )
        }
        None => format!("pool '{name}' is {states}: there is nothing to rebuild"),
    }
}

/// What there is to say of a pool whose rebuild somebody has waited for.
pub fn rebuilt(pool: &Pool) -> String {
    format!(
        "pool '{}' is {}: what lived on lost drives is restored",
        pool.name,
        pool.states.join(", ")
    )
}

/// The same of a rebalance.
pub fn rebalanced(pool: &Pool) -> String {
    format!("pool '{}' is {}: its rebalance has ended", pool.name, pool.states.join(", "))
}

/// Whether the pool is so.
pub fn is(pool: &Pool, state: &str) -> bool {
    pool.states.iter().any(|is| is == state)
}

/// What a pool cannot do for want of drives, and the way out.
pub fn lacks(pool: &Pool) -> Option<&'static str> {
    if has_lost_too_many(pool) {
        return Some(
            "takes no writes and cannot read some data until a lost drive is back: `ashlar drive \
             return`",
        );
    }
    let why = "takes no writes until a drive is back or another is added: `ashlar drive return`, \
               `ashlar pool add-drive`";
    is(pool, "read-only").then_some(why)
}

/// Whether more drives are lost, and not restored, than the level survives.
fn has_lost_too_many(pool: &Pool) -> bool {
    let is_lost =
        |drive: &&PoolDrive| drive.states.iter().any(|is| is == "failed" || is == "absent");
    let lost = pool.drives.iter().filter(is_lost).count();
    pool.level
        .as_ref()
        .and_then(|level| level.parse::<Level>().ok())
        .is_some_and(|level| lost > level.parity())
}

/// What is being done with what a rebuild moves, and what has been done with it then: off a drive
/// that is to be removed it is moved by a rebuild, too.
fn moving(pool: &Pool) -> (&'static str, &'static str) {
    if is(pool, "degraded") { ("rebuild", "rebuilt") } else { ("evacuation", "moved") }
}

/// How far a pool's rebalance is.
pub fn rebalance(pool: &Pool) -> String {
    let (name, states) = (&pool.name, pool.states.join(", "));
    match pool.rebalance() {
        Some(rebalance) => format!("pool '{name}' is {states}: {}", done("rebalanced", &rebalance)),
        None => format!("pool '{name}' is {states}: no rebalance is under way"),
    }
}

fn done(what: &str, progress: &Progress) -> String {
    ProgressText::from(progress).behind(format_args!("{:.1} % {what}", progress.done_percent))
}

/// What a pool's scrub has come to.
pub fn scrub(pool: &Pool) -> String {
    let Some(scrub) = pool.scrub() else {
        return format!("pool '{}' was never scrubbed", pool.name);
    };
    let head = format!("pool '{}': {}", pool.name, scrubbed(scrub));
    if scrub.drives.is_empty() {
        return head;
    }
    let columns = [
        ("drive", Kind::Figure),
        ("where", Kind::Place),
        ("wrong\nsectors", Kind::Figure),
        ("unreadable", Kind::Figure),
        ("repaired", Kind::Figure),
        ("not\nrepaired", Kind::Figure),
    ];
    let row = |drive: &ScrubbedDrive| {
        let counts = [drive.wrong, drive.unreadable, drive.repaired, drive.unrepaired];
        let place = drive.spec.as_deref().map_or_else(dash, drives::plain_place);
        let named = [Text::from(&drive.name), place.into()];
        named.into_iter().chain(counts.map(Text::from)).collect()
    };
    let given_up = |drive: &ScrubbedDrive| {
        Some(prose(&format!("{} was given up: {}", drive.name, drive.given_up.as_ref()?)))
    };
    let table = table(&columns, scrub.drives.iter().map(row).collect());
    let given_up = scrub.drives.iter().filter_map(given_up);
    std::iter::once(format!("{head}\n\n{table}")).chain(given_up).collect::<Vec<_>>().join("\n")
}

fn scrubbed(scrub: &Scrub) -> String {
    let checked = size(scrub.checked_bytes);
    let is_running = scrub.is("running");
    let how = match is_running {
        true => {
            let done = format!("a scrub is {:.1} % done, {checked} checked", scrub.done_percent);
            ProgressText::from(scrub).behind(done)
        }
        false if scrub.is("stopped") => {
            format!("a scrub was stopped at {:.1} %, {checked} checked", scrub.done_percent)
        }
        false => format!("the last scrub has checked {checked}"),
    };
    let Scrub { wrong, unreadable, repaired, unrepaired, .. } = scrub;
    if wrong + unreadable + unrepaired == 0 {
        let verdict = match scrub.checked_bytes {
            0 if is_running => "",
            _ if is_running => "; nothing was wrong so far",
            _ => "; everything was right",
        };
        return how + verdict;
    }
    format!(
        "{how}; sectors: {wrong} wrong, {unreadable} unreadable, {repaired} repaired, {unrepaired} not repaired"
    )
}

/// The drives that were given up for what it found: what is repaired on them counts for nothing.
fn drives_lost_by(scrub: &Scrub) -> String {
    let given_up = scrub.drives.iter().filter(|drive| drive.given_up.is_some());
    given_up.map(|drive| format!("; {} was given up", drive.name)).collect()
}

/// All volumes, a line each; and of which pools they are not known.
pub fn volumes(volumes: &[Volume], pools: &[Pool]) -> String {
    let closed = pools.iter().filter(|pool| is_closed(pool));
    let hidden = closed.map(|pool| {
        prose(&format!("the volumes of pool '{}' are not shown: it is not open", pool.name))
    });
    let hidden: Vec<String> = hidden.collect();
    let shown = match (volumes.is_empty(), hidden.is_empty()) {
        (true, true) => Some("no volumes: `ashlar volume create` makes one".to_owned()),
        (true, false) => None,
        (false, _) => Some(table_of_volumes(volumes)),
    };
    shown.into_iter().chain(hidden).collect::<Vec<_>>().join("\n")
}

fn table_of_volumes(volumes: &[Volume]) -> String {
    let columns = [
        ("volume", Kind::Name),
        ("nsid", Kind::Figure),
        ("size", Kind::Figure),
        ("written", Kind::Figure),
        ("stored", Kind::Figure),
        ("ratio", Kind::Figure),
        ("access", Kind::Figure),
    ];
    let row = |volume: &Volume| {
        vec![
            Text::from(format!("{}/{}", volume.pool, volume.name)),
            volume.nsid.into(),
            size(volume.size_bytes).into(),
            size(volume.logical_used_bytes).into(),
            size(volume.physical_used_bytes).into(),
            known(volume.compression_ratio, ratio).into(),
            access_in_short(&volume.access).into(),
        ]
    };
    let table = table(&columns, volumes.iter().map(row).collect());
    std::iter::once(table).chain(qos::throttled(volumes)).collect::<Vec<_>>().join("\n")
}

/// What to know of a volume that has just been made.
pub fn created_volume(volume: &Volume) -> String {
    let (pool, name) = (&volume.pool, &volume.name);
    let made = format!(
        "volume '{pool}/{name}' is created: {}, namespace {}",
        size(volume.size_bytes),
        volume.nsid
    );
    if volume.access.allow_any || !volume.access.hosts.is_empty() {
        return made;
    }
    format!("{made}\nno host may see it yet: `ashlar volume allow {pool}/{name} NQN`, or `any`")
}

/// A volume with everything.
pub fn volume(volume: &Volume) -> String {
    let mut lines = vec![
        ("volume", format!("{}/{}", volume.pool, volume.name)),
        ("uuid", volume.uuid.clone()),
        ("nsid", volume.nsid.to_string()),
        ("size", size(volume.size_bytes)),
        ("sector", volume.lba_bytes.to_string()),
        ("written", size(volume.logical_used_bytes)),
        ("stored", size(volume.physical_used_bytes)),
        ("ratio", known(volume.compression_ratio, ratio)),
        ("compression", volume.compression.clone()),
        ("write protected", yes_or_no(volume.write_protected)),
        ("atomic writes", atomic(volume.atomic_write_bytes)),
        ("access", access(&volume.access)),
    ];
    lines.extend(qos::of_volume(&volume.qos));
    sheet(lines)
}

/// The largest write that hosts are told is atomic.
fn atomic(bytes: u64) -> String {
    if bytes == 0 { "off".to_owned() } else { format!("up to {}", size(bytes)) }
}

/// Everything at a glance.
pub fn status(status: &Status) -> String {
    let portal = |portal: &ashlar_control::types::Portal| {
        let address = match portal.address.contains(':') {
            true => format!("[{}]", portal.address),
            false => portal.address.clone(),
        };
        format!("{address}:{} ({})", portal.port, portal.kind)
    };
    let head = vec![
        (
            "ashlar",
            format!(
                "{}, process {}, up {}",
                status.version,
                status.pid,
                Span(status.uptime_seconds)
            ),
        ),
        ("subsystem", status.subsystem_nqn.clone()),
        ("portals", status.portals.iter().map(portal).collect::<Vec<_>>().join(", ")),
        ("hosts", status.hosts_connected.to_string()),
        ("reactors", status.reactors.to_string()),
    ];
    let ill = (!status.alerts.is_empty()).then(|| alerts(&status.alerts));
    let lists = [pools(&status.pools), volumes(&status.volumes, &status.pools)];
    std::iter::once(sheet(head)).chain(ill).chain(lists).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
