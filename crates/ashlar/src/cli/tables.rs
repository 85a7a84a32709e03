//! Tables for people.

use std::time::Duration;

use ashlar_block::{ByteSize, counted, printable};
use ashlar_control::types::{
    Access, Event, Pool, PoolDrive, Progress, Scrub, ScrubbedDrive, Severity, Spare, Status, Volume,
};
use ashlar_control::{Outlook, Span};
use ashlar_raid::Level;
use comfy_table::{Cell, Color, Table, presets};

use crate::colours;

mod drives;
mod hosts;

pub use drives::{drive_info, drives, member};
pub use hosts::hosts;

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().map(|title| title.to_uppercase()));
    table
}

/// Two columns: what, and its value.
fn sheet(rows: Vec<(&str, String)>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    rows.into_iter().for_each(|(what, value)| {
        table.add_row([what.to_owned(), value]);
    });
    trimmed(&table)
}

/// The table without the blanks that fill its last column.
fn trimmed(table: &Table) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

fn ratio(ratio: f64) -> String {
    if ratio == 0.0 { "-".to_owned() } else { format!("{ratio:.2}") }
}

/// A figure of a pool, which nobody knows while that is not open.
fn figure(pool: &Pool, value: String) -> String {
    if is(pool, "unavailable") { "-".to_owned() } else { value }
}

/// The same of a drive of such a pool.
fn drive_figure(drive: &PoolDrive, value: String) -> String {
    let is_unknown = drive.states.iter().any(|state| state == "unknown");
    if is_unknown { "-".to_owned() } else { value }
}

/// States in words, coloured where somebody looks.
fn states(states: &[String]) -> Cell {
    let cell = Cell::new(states.join(", "));
    if !colours::wanted(&std::io::stdout()) {
        return cell;
    }
    let has = |words: &[&str]| states.iter().any(|state| words.contains(&state.as_str()));
    if has(&["unavailable", "failed", "read-only", "taken", "out-of-room", "full"]) {
        cell.fg(Color::Red)
    } else if has(&["opening", "degraded", "absent", "returned", "stale", "slow"]) {
        cell.fg(Color::Yellow)
    } else {
        cell.fg(Color::Green)
    }
}

fn access(access: &Access) -> String {
    match (access.allow_any, access.hosts.as_slice()) {
        (true, _) => "any".to_owned(),
        (false, []) => "none".to_owned(),
        (false, hosts) => hosts.join("\n"),
    }
}

/// All pools, a line each.
pub fn pools(pools: &[Pool]) -> String {
    if pools.is_empty() {
        return "no pools: ashlar pool create makes one".to_owned();
    }
    let mut table = table(&["name", "level", "state", "drives", "used", "limit", "safe to write", "ratio"]);
    for pool in pools {
        table.add_row([
            Cell::new(&pool.name),
            Cell::new(figure(pool, pool.level.clone())),
            states(&pool.states),
            Cell::new(pool.drives.len()),
            Cell::new(figure(pool, size(pool.physical_used_bytes))),
            Cell::new(figure(pool, size(pool.limit_bytes))),
            Cell::new(figure(pool, size(pool.safe_to_write_bytes))),
            Cell::new(figure(pool, ratio(pool.compression_ratio))),
        ]);
    }
    let problems =
        pools.iter().filter_map(|pool| Some(format!("{}: {}", pool.name, printable(pool.problem.as_ref()?))));
    std::iter::once(trimmed(&table)).chain(problems).collect::<Vec<_>>().join("\n")
}

/// What to know of a pool that has just been made or opened.
pub fn opened_pool(done: &str, pool: &Pool) -> String {
    let drives = counted(pool.drives.len(), "drive");
    let mut lines = vec![format!(
        "pool '{}' is {done}: level {} over {drives}, {} may be stored ({} raw)",
        pool.name,
        pool.level,
        size(pool.limit_bytes),
        size(pool.raw_bytes)
    )];
    if is(pool, "degraded") {
        lines.push("note: the pool is degraded: ashlar pool show tells which drives are missing".to_owned());
    }
    lines.extend(pool.notes.iter().map(|note| format!("note: {}", printable(note))));
    lines.join("\n")
}

/// How far a pool's rebuild is.
pub fn rebuild(pool: &Pool) -> String {
    let (name, states) = (&pool.name, pool.states.join(", "));
    match pool.rebuild {
        Some(rebuild) => format!("pool '{name}' is {states}: {}", done(moving(pool).1, &rebuild)),
        None if is(pool, "degraded") => {
            format!("pool '{name}' is {states}: its loss is being made known to the drives that are left")
        }
        None => format!("pool '{name}' is {states}: there is nothing to rebuild"),
    }
}

/// What there is to say of a pool whose rebuild somebody has waited for.
pub fn rebuilt(pool: &Pool) -> String {
    format!("pool '{}' is {}: what lived on lost drives is restored", pool.name, pool.states.join(", "))
}

/// The same of a rebalance.
pub fn rebalanced(pool: &Pool) -> String {
    format!("pool '{}' is {}: its rebalance has ended", pool.name, pool.states.join(", "))
}

fn is(pool: &Pool, state: &str) -> bool {
    pool.states.iter().any(|is| is == state)
}

/// What a pool cannot do for want of drives, and the way out.
pub fn lacks(pool: &Pool) -> Option<&'static str> {
    if has_lost_too_many(pool) {
        return Some(
            "takes no writes, and data of it cannot be read, until a drive is back: ashlar drive return",
        );
    }
    let why = "takes no writes until a drive is back or another is there: ashlar drive return, ashlar pool add-drive";
    is(pool, "read-only").then_some(why)
}

/// Whether more drives are lost, and not restored, than the level survives.
fn has_lost_too_many(pool: &Pool) -> bool {
    let is_lost = |drive: &&PoolDrive| drive.states.iter().any(|is| is == "failed" || is == "absent");
    let lost = pool.drives.iter().filter(is_lost).count();
    pool.level.parse::<Level>().is_ok_and(|level| lost > level.parity())
}

/// What is being done with what a rebuild moves, and what has been done with it then: off a drive that is to be removed it is moved by
/// a rebuild, too.
fn moving(pool: &Pool) -> (&'static str, &'static str) {
    if is(pool, "degraded") { ("rebuild", "rebuilt") } else { ("evacuation", "moved") }
}

/// How far a pool's rebalance is.
pub fn rebalance(pool: &Pool) -> String {
    let (name, states) = (&pool.name, pool.states.join(", "));
    match pool.rebalance {
        Some(rebalance) => format!("pool '{name}' is {states}: {}", done("rebalanced", &rebalance)),
        None => format!("pool '{name}' is {states}: no rebalance is under way"),
    }
}

fn done(what: &str, progress: &Progress) -> String {
    Outlook::from(progress).behind(format_args!("{:.1} % {what}", progress.percent))
}

/// What a pool's scrub has come to.
pub fn scrub(pool: &Pool) -> String {
    let Some(scrub) = &pool.scrub else { return format!("pool '{}' was never scrubbed", pool.name) };
    let head = format!("pool '{}': {}", pool.name, scrubbed(scrub));
    if scrub.drives.is_empty() {
        return head;
    }
    let mut table = table(&["drive", "where", "wrong sectors", "unreadable", "repaired", "not repaired"]);
    for drive in &scrub.drives {
        let counts = [drive.wrong, drive.unreadable, drive.repaired, drive.unrepaired];
        let named = [drive.name.clone(), drive.spec.as_deref().map_or_else(|| "-".to_owned(), printable)];
        table.add_row(named.into_iter().chain(counts.map(|count| count.to_string())));
    }
    let given_up =
        |drive: &ScrubbedDrive| Some(format!("{} was given up: {}", drive.name, drive.given_up.as_ref()?));
    let given_up = scrub.drives.iter().filter_map(given_up);
    std::iter::once(format!("{head}\n\n{}", trimmed(&table))).chain(given_up).collect::<Vec<_>>().join("\n")
}

fn scrubbed(scrub: &Scrub) -> String {
    let checked = size(scrub.bytes_checked);
    let is_running = scrub.state == "running";
    let how = match scrub.state.as_str() {
        "running" => {
            let done = format!("a scrub is {:.1} % done, {checked} looked at", scrub.percent);
            Outlook::from(scrub).behind(done)
        }
        "stopped" => format!("a scrub was stopped at {:.1} %, {checked} looked at", scrub.percent),
        _ => format!("the last scrub has looked at {checked}"),
    };
    let Scrub { wrong, unreadable, repaired, unrepaired, .. } = scrub;
    if wrong + unreadable + unrepaired == 0 {
        let verdict = match scrub.bytes_checked {
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

/// A pool with everything.
pub fn pool(pool: &Pool) -> String {
    let mut rows = vec![
        ("name", pool.name.clone()),
        ("uuid", pool.uuid.clone()),
        ("level", figure(pool, pool.level.clone())),
        ("state", pool.states.join(", ")),
    ];
    rows.extend(pool.rebuild.map(|rebuild| (moving(pool).0, done(moving(pool).1, &rebuild))));
    rows.extend(pool.rebalance.map(|rebalance| ("rebalance", done("rebalanced", &rebalance))));
    rows.extend(pool.scrub.as_ref().map(|scrub| ("scrub", scrubbed(scrub))));
    rows.extend(pool.problem.as_deref().map(|problem| ("problem", printable(problem))));
    rows.extend(pool.notes.iter().map(|note| ("note", printable(note))));
    rows.extend(pool.spares.iter().map(|found| ("spare", spare(found))));
    rows.extend(figures(pool).map(|(what, value)| (what, figure(pool, value))));
    format!("{}\n\n{}", sheet(rows), drives::drives_of_pool(&pool.drives))
}

/// What is counted and set, in the order in which it is shown.
fn figures(pool: &Pool) -> [(&'static str, String); 22] {
    let counters = &pool.counters;
    [
        ("raw", size(pool.raw_bytes)),
        ("usable after redundancy", size(pool.usable_bytes)),
        ("limit (less over-provisioning)", size(pool.limit_bytes)),
        ("used (compressed, with maps)", size(pool.physical_used_bytes)),
        ("garbage to reclaim", size(pool.garbage_bytes)),
        ("free segments", size(pool.free_bytes)),
        ("safe to write", size(pool.safe_to_write_bytes)),
        ("out of space", if pool.out_of_space { "yes" } else { "no" }.to_owned()),
        ("provisioned", size(pool.provisioned_bytes)),
        ("logical written", size(pool.logical_written_bytes)),
        ("compression ratio", ratio(pool.compression_ratio)),
        ("map memory", size(pool.map_memory_bytes)),
        ("rebuild's share of the time", share_of_rebuild(pool)),
        ("scrub's share of the time", format!("{} %", pool.scrub_prio)),
        ("scrub's interval", interval(pool.scrub_interval_s)),
        ("a drive is given up after", patience_with_drives(pool)),
        ("blocks read from parity", counters.blocks_reconstructed.to_string()),
        ("blocks read around slow drives", counters.blocks_spared.to_string()),
        ("wrong blocks corrected", counters.wrong_blocks_corrected.to_string()),
        ("sectors repaired", counters.sectors_repaired.to_string()),
        ("unrecovered blocks", counters.blocks_unrecovered.to_string()),
        ("unclean starts", counters.unclean_starts.to_string()),
    ]
}

fn patience_with_drives(pool: &Pool) -> String {
    let faults =
        (pool.fault_threshold > 0).then(|| format!("{} faults within 10 minutes", pool.fault_threshold));
    let timeout = Duration::from_millis(pool.io_timeout_ms);
    let silence = (!timeout.is_zero()).then(|| format!("{timeout:?} without an answer"));
    let reasons: Vec<String> = faults.into_iter().chain(silence).collect();
    if reasons.is_empty() { "nothing but its end".to_owned() } else { reasons.join(", or ") }
}

fn share_of_rebuild(pool: &Pool) -> String {
    match Duration::from_micros(pool.recon_p99_us) {
        Duration::ZERO => format!("{} %", pool.recon_prio),
        target => format!("as much as leaves hosts a p99 of {target:?}"),
    }
}

fn spare(spare: &Spare) -> String {
    let Spare { spec, problem } = spare;
    let taken = problem.as_ref().map(|why| format!("{spec}, which could not be taken: {why}"));
    printable(&taken.unwrap_or_else(|| spec.clone()))
}

/// All volumes, a line each; and of which pools they are not known.
pub fn volumes(volumes: &[Volume], pools: &[Pool]) -> String {
    let closed = pools.iter().filter(|pool| is(pool, "unavailable"));
    let hidden =
        closed.map(|pool| format!("the volumes of pool '{}' are not shown: it is not open", pool.name));
    let hidden: Vec<String> = hidden.collect();
    let shown = match (volumes.is_empty(), hidden.is_empty()) {
        (true, true) => Some("no volumes: ashlar volume create makes one".to_owned()),
        (true, false) => None,
        (false, _) => Some(table_of_volumes(volumes)),
    };
    shown.into_iter().chain(hidden).collect::<Vec<_>>().join("\n")
}

fn table_of_volumes(volumes: &[Volume]) -> String {
    let mut table = table(&["volume", "nsid", "size", "written", "stored", "ratio", "sector", "access"]);
    for volume in volumes {
        table.add_row([
            Cell::new(format!("{}/{}", volume.pool, volume.name)),
            Cell::new(volume.nsid),
            Cell::new(size(volume.size_bytes)),
            Cell::new(size(volume.logical_used_bytes)),
            Cell::new(size(volume.physical_used_bytes)),
            Cell::new(ratio(volume.ratio)),
            Cell::new(volume.lba_bytes),
            Cell::new(access(&volume.access)),
        ]);
    }
    trimmed(&table)
}

/// What to know of a volume that has just been made.
pub fn created_volume(volume: &Volume) -> String {
    let (pool, name) = (&volume.pool, &volume.name);
    let made =
        format!("volume '{pool}/{name}' is created: {}, namespace {}", size(volume.size_bytes), volume.nsid);
    if volume.access.allow_any || !volume.access.hosts.is_empty() {
        return made;
    }
    format!("{made}\nno host may see it yet: ashlar volume allow {pool}/{name} NQN, or any")
}

/// A volume with everything.
pub fn volume(volume: &Volume) -> String {
    sheet(vec![
        ("volume", format!("{}/{}", volume.pool, volume.name)),
        ("uuid", volume.uuid.clone()),
        ("nsid", volume.nsid.to_string()),
        ("size", size(volume.size_bytes)),
        ("sector", volume.lba_bytes.to_string()),
        ("written", size(volume.logical_used_bytes)),
        ("stored", size(volume.physical_used_bytes)),
        ("ratio", ratio(volume.ratio)),
        ("compression", if volume.compression { "lz4" } else { "off" }.to_owned()),
        ("write protected", if volume.write_protected { "yes" } else { "no" }.to_owned()),
        ("access", access(&volume.access)),
    ])
}

/// Events, a line each.
pub fn events(events: &[Event]) -> String {
    events.iter().map(event).collect::<Vec<_>>().join("\n")
}

/// An event on a line.
pub fn event(event: &Event) -> String {
    let severity = match event.what.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    format!("{}  {severity:7}  {:18}  {}", event.time, event.what.kind, event.what.message)
}

fn interval(seconds: u64) -> String {
    if seconds == 0 { "off".to_owned() } else { Span(seconds).to_string() }
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
    let head = sheet(vec![
        ("ashlar", format!("{}, process {}, up {}", status.version, status.pid, Span(status.uptime_seconds))),
        ("subsystem", status.subsystem_nqn.clone()),
        ("listens on", status.portals.iter().map(portal).collect::<Vec<_>>().join(", ")),
        ("hosts connected", status.hosts_connected.to_string()),
        ("reactors", status.reactors.to_string()),
    ]);
    format!("{head}\n\n{}\n\n{}", pools(&status.pools), volumes(&status.volumes, &status.pools))
}

#[cfg(test)]
mod tests;
