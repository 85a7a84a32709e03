//! `ashlar pool check`: what is on the drives of a pool that nobody has open.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::bail;
use ashlar_block::place::{split_options, unescaped};
use ashlar_block::{ByteSize, DriveId, counted_are, with_causes};
use ashlar_check::{
    DriveReport, Finding, Given, Kind, MemberVerdict, Options, Refused as NotChecked, Report, Seen,
    Watch, check, unused,
};
use ashlar_drive::{Drive, DriveWorld, OpenError};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::client::Refused;
use crate::args::Output;
use crate::stdio::print_line;

/// Least memory for what is compared.
const MEMORY_MIN: u64 = 64 << 20;
/// Drives that the last line names.
const NAMED_MAX: usize = 4;
const TICK: Duration = Duration::from_millis(200);

/// Checks the pool that the drives are of. An error: something is wrong, or nothing was checked.
pub fn run(drives: &[String], memory: Option<ByteSize>, output: Output) -> anyhow::Result<()> {
    let paths = drives.iter().map(|drive| path_of(drive)).collect::<anyhow::Result<Vec<_>>>();
    let paths = paths.map_err(with_code)?;
    let memory = memory.map_or_else(memory_wanted, |memory| memory.0);
    let report = ashlar_reactor::run(ashlar_reactor::Config::default(), checked(paths, memory))?
        .map_err(with_code)?;
    print_line(output.text(&as_json(&report), |_| as_text(&report))?)?;
    if report.is_good() {
        return Ok(());
    }
    let (code, detail, hint) = ("check_found".to_owned(), verdict(&report), Some(way_on(&report)));
    Err(Refused { code, detail, hint }.into())
}

/// An error that keeps the pool from being checked, with its code.
fn with_code(error: anyhow::Error) -> anyhow::Error {
    let code = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(refused), _) => code_of(refused),
        (_, Some(OpenError::InUse { .. })) => "drive_in_use",
        _ => "drive_unusable",
    };
    let detail = with_causes(error.as_ref());
    Refused { code: code.to_owned(), detail, hint: None }.into()
}

fn code_of(refused: &NotChecked) -> &'static str {
    match refused {
        NotChecked::Nothing => "no_drives",
        NotChecked::NoDrive { .. } => "no_label",
        NotChecked::Cloned { .. } => "drive_copied",
        NotChecked::NoRoot => "no_root",
        NotChecked::TooManyMissing { .. } => "too_many_missing",
        NotChecked::Open { .. } => "pool_in_use",
    }
}

/// Where a drive is, as people name it elsewhere, too.
fn path_of(drive: &str) -> anyhow::Result<PathBuf> {
    match drive.split_once(':') {
        Some(("file", place)) => Ok(unescaped(split_options(place).0).into()),
        Some(("mem" | "null", _)) => {
            bail!(
                "{drive}: a drive in memory is gone once its daemon ends, so there is nothing to check"
            )
        }
        _ => Ok(drive.into()),
    }
}

async fn checked(paths: Vec<PathBuf>, memory: u64) -> anyhow::Result<Report> {
    let open = |path: &PathBuf| {
        let device = Drive::open_to_read(path)?;
        Ok(Given { name: path.display().to_string(), device })
    };
    let given = || paths.iter().map(open).collect::<Result<Vec<_>, OpenError>>();
    let drives = given()?;
    let bar = Bar::new();
    bar.begins("waiting for heartbeats of another machine", None);
    let heartbeats = unused(&DriveWorld, &drives).await?;
    let options = Options { places_bytes_max: memory as usize, ..Options::default() };
    let report = check(drives, &options, &bar).await?;
    // Who has opened it meanwhile, from elsewhere, has changed what was looked at.
    heartbeats.check_unchanged(&given()?).await?;
    Ok(report)
}

/// A quarter of the memory that is free.
fn memory_wanted() -> u64 {
    let known = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = known.lines().find_map(|line| {
        line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    kib.map_or(MEMORY_MIN, |kib| (kib << 10) / 4).max(MEMORY_MIN)
}

/// How far it is, for whoever sits at a terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(TICK);
        Bar(bar)
    }
}

impl Watch for Bar {
    fn begins(&self, step: &str, bytes: Option<u64>) {
        let template = match bytes {
            Some(_) => "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
            None => "{spinner} {elapsed}  {msg}",
        };
        self.0.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        self.0.set_message(step.to_owned());
        if let Some(bytes) = bytes {
            self.0.set_length(bytes);
        }
    }

    fn did(&self, bytes: u64) {
        self.0.inc(bytes);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

// --- for people ----------------------------------------------------------------------------------

fn as_text(report: &Report) -> String {
    let Report { pool_name, pool, level, root, seen, .. } = report;
    let written = written_at(report);
    let end = if report.is_clean {
        "closed in order".to_owned()
    } else {
        "not closed: the next start replays what came after it".to_owned()
    };
    let mut lines = vec![
        format!("pool '{pool_name}' ({pool}), level {level}"),
        format!("root {} of {written}, {end}", root.0),
    ];
    lines.extend(report.drives.iter().map(drive_line));
    lines.extend(report.absent.iter().map(absent_line));
    lines.extend(seen_lines(seen));
    lines.extend(report.findings.iter().map(|finding| format!("! {finding}")));
    lines.extend(
        report.unlisted.iter().map(|(kind, more)| format!("! and {more} more of {}", kind.name())),
    );
    if report.is_good() {
        lines.push("nothing is wrong".to_owned());
    }
    lines.join("\n")
}

fn written_at(report: &Report) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(report.written_at))
        .to_string()
}

fn seen_lines(seen: &Seen) -> Vec<String> {
    let mut lines = vec![format!(
        "{} volumes, {} segments, {} batches, {} pages of the maps; {} read",
        seen.volumes,
        seen.segments,
        seen.batches,
        seen.pages,
        ByteSize(seen.bytes)
    )];
    if seen.columns_missing > 0 {
        lines.push(format!(
            "{} columns are on missing drives: {} of their sectors were restored from the others",
            seen.columns_missing, seen.sectors_restored
        ));
    }
    lines
}

fn drive_line(drive: &DriveReport) -> String {
    let root = drive.root.map_or("no root".to_owned(), |root| format!("root {}", root.0));
    let note = match drive.verdict {
        MemberVerdict::Behind => " (the power failed before it got the newest one)",
        _ => "",
    };
    let (name, verdict) = (&drive.name, drive.verdict.name());
    format!(
        "  {name}: {}, {verdict}, {} of 3 superblocks, {root}{note}",
        drive.drive, drive.superblocks
    )
}

fn absent_line(drive: &DriveId) -> String {
    format!("  {drive}: the root calls it lost, and segments still have columns on it")
}

/// What is wrong, in a sentence.
fn verdict(report: &Report) -> String {
    let lost = report.findings.iter().filter(|finding| finding.is_lost).count();
    let mut names: Vec<String> = report.findings.iter().filter_map(named).collect();
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let place = if names.is_empty() { String::new() } else { format!(", on {}", names.join(", ")) };
    let after = match lost {
        0 => "nothing is lost".to_owned(),
        lost => format!("{} lost", counted_are(lost, "thing")),
    };
    format!(
        "pool '{}': {} wrong{place}; {after}",
        report.pool_name,
        counted_are(report.count() as usize, "thing")
    )
}

/// What there is to be done.
fn way_on(report: &Report) -> String {
    if report.findings.iter().any(|finding| finding.is_lost) {
        return "give drives that are missing, if there are any; otherwise restore what is lost from a \
                backup"
            .to_owned();
    }
    ways_out(report).join("; ")
}

/// What there is to be done where nothing is lost, for each thing once.
fn ways_out(report: &Report) -> Vec<String> {
    let mut ways: Vec<String> =
        report.findings.iter().filter_map(|finding| way_out(report, finding)).collect();
    ways.sort();
    ways.dedup();
    ways
}

/// `None`: another finding says it.
fn way_out(report: &Report, finding: &Finding) -> Option<String> {
    let pool = &report.pool_name;
    let (path, drive) = (&finding.name, finding.drive.map_or_else(String::new, drive_name));
    let was_given = || report.drives.iter().any(|given| Some(given.drive) == finding.drive);
    let has_diverged = |given: &DriveReport| {
        given.name == finding.name && given.verdict == MemberVerdict::Diverged
    };
    Some(match finding.kind {
        Kind::DriveMissing if was_given() => return None,
        Kind::DriveMissing => format!("give {drive} to the check, too"),
        Kind::DriveStale if report.drives.iter().any(has_diverged) => format!(
            "leave {path} out of the command and of the import (--degraded); `ashlar drive label-clear` \
             gives up what it holds, then `ashlar pool replace {pool} {drive} NEW` takes it \
             as a new drive"
        ),
        Kind::DriveStale => {
            format!("import the pool with --degraded, then `ashlar drive return {pool}/{drive}`")
        }
        Kind::DriveForeign => format!("leave {path} out"),
        Kind::DriveCut => format!(
            "give {path} its size back, or import the pool with --degraded and `ashlar pool replace \
             {pool} {drive} NEW`"
        ),
        _ => format!(
            "import the pool, then `ashlar pool scrub {pool} --wait` repairs it from parity"
        ),
    })
}

fn named(finding: &Finding) -> Option<String> {
    let drive = finding.drive?;
    Some(if finding.name.is_empty() { drive.to_string() } else { finding.name.clone() })
}

// --- for programs --------------------------------------------------------------------------------

fn as_json(report: &Report) -> Value {
    let seen = report.seen;
    let unlisted = report.unlisted.iter().map(|(kind, count)| (kind.name(), json!(count)));
    json!({
        "pool": report.pool_name,
        "uuid": report.pool.to_string(),
        "level": report.level,
        "root": report.root.0,
        "clean": report.is_clean,
        "written_at": written_at(report),
        "good": report.is_good(),
        "drives": report.drives.iter().map(drive_json).collect::<Vec<_>>(),
        "absent": report.absent.iter().map(|drive| drive_name(*drive)).collect::<Vec<_>>(),
        "volumes": seen.volumes,
        "segments": seen.segments,
        "groups": seen.groups,
        "pages": seen.pages,
        "places": seen.fragments,
        "batches": seen.batches,
        "batches_to_replay": seen.batches_to_replay,
        "read_bytes": seen.bytes,
        "columns_missing": seen.columns_missing,
        "sectors_restored": seen.sectors_restored,
        "walks": seen.walks,
        "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "unlisted_findings": unlisted.collect::<serde_json::Map<_, _>>(),
    })
}

fn drive_name(drive: DriveId) -> String {
    format!("drive-{}", drive.0)
}

fn drive_json(drive: &DriveReport) -> Value {
    json!({
        "path": drive.name,
        "drive": drive_name(drive.drive),
        "verdict": drive.verdict.name(),
        "superblocks": drive.superblocks,
        "root": drive.root.map(|root| root.0),
        "root_slots_damaged": drive.slots_damaged,
    })
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.name(),
        "drive": finding.drive.map(drive_name),
        "path": Some(&finding.name).filter(|name| !name.is_empty()),
        "offset_bytes": finding.offset,
        "length_bytes": finding.bytes,
        "lost": finding.is_lost,
        "text": finding.text,
    })
}

#[cfg(test)]
mod tests;
