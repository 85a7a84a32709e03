//! From what the node reports to what goes over the wire.

use std::time::{Duration, Instant, UNIX_EPOCH};

use ashlar_control::types::{
    Access, DriveInfo, Obstacle, Pool, PoolDrive, PoolJobs, Progress, Spare, Volume,
};
use ashlar_store::{DriveCondition, DriveStatus, PoolStatus, ScrubState};
use ashlar_volume::{
    AccessList, DriveContent, DriveFacts, DriveReading, DriveReport, PoolReport, VolumeReport,
};
use humantime::format_rfc3339_seconds;

use super::finder::{FoundPlace, PoolPlaces};
use super::health::{Healths, Said};
use super::memory::{Memory, NotOpen};
use super::state::PoolState;

pub mod activity;
mod counters;
mod erase;
mod health;
mod hosts;
mod moves;
pub mod qos;
mod room;
mod scrub;
mod settings;
mod verify;

pub use erase::drive_erase;
pub use health::silent;
pub use hosts::{host, host_figures, portal, shared_host_nqn};

/// Bytes of a slot of a stored fragment, and of a block.
const SLOT_BYTES: u64 = 64;
const BLOCK_BYTES: u64 = ashlar_block::BLOCK_BYTES as u64;
/// The last second of the year 9999, the last that RFC 3339 has.
const UNIX_SECONDS_MAX: u64 = 253_402_300_799;

fn ratio(logical: u64, physical: u64) -> Option<f64> {
    (physical > 0).then(|| (logical as f64 / physical as f64 * 1000.0).round() / 1000.0)
}

/// RFC 3339.
fn time(unix_seconds: u64) -> String {
    // What a damaged clock has noted may be beyond the years that can be written.
    let unix_seconds = unix_seconds.min(UNIX_SECONDS_MAX);
    format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(unix_seconds)).to_string()
}

/// What is known of a pool besides what it reports.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// How drives that are not there were named, and its spares.
    pub memory: &'a Memory,
    /// Where its drives are.
    pub places: Option<&'a PoolPlaces>,
    /// What they say of their health.
    pub healths: &'a Healths,
}

/// A pool that is open. `full_in_seconds`: how long it is until it is full, if anybody can say.
pub fn pool(report: &PoolReport, known: &Known<'_>, full_in_seconds: Option<u64>) -> Pool {
    let status = &report.status;
    let remembered = known.memory.pool(&status.uuid.to_string());
    let drive = |drive| pool_drive(drive, &status.name, known, remembered);
    let (written_bytes, stored_bytes) = written_and_stored(&report.volumes);
    let read_only = report.read_only();
    let is_read_only = read_only.is_some();
    let room = room::RoomKnown { written_bytes, stored_bytes, is_read_only, full_in_seconds };
    Pool {
        name: status.name.clone(),
        uuid: status.uuid.to_string(),
        level: Some(status.level.to_string()),
        states: pool_states(report, is_read_only),
        notes: notes(report, known),
        problem: read_only.or_else(|| uncertain(status)),
        space: Some(room::space(status, room)),
        settings: Some(settings::chosen(&status.settings)),
        counters: Some(counters::of(status)),
        jobs: Some(jobs(report, remembered)),
        drives: report.drives.iter().map(drive).collect(),
        spares: remembered.map(|pool| spares(pool, known.memory)).unwrap_or_default(),
        parting: report.parting.clone(),
    }
}

fn jobs(report: &PoolReport, remembered: Option<&PoolState>) -> PoolJobs {
    let (status, drives) = (&report.status, &report.drives);
    PoolJobs {
        rebuild: status.rebuild.as_ref().map(progress),
        rebalance: status.rebalance.as_ref().map(progress),
        moves: status.moves.iter().map(moves::data_move).collect(),
        scrub: status.scrub.as_ref().map(|found| scrub::scrub(found, drives, remembered)),
        trim: status.trim.as_ref().map(|found| scrub::trim(found, drives)),
        verify: status.verify.as_ref().map(verify::verify),
    }
}

fn notes(report: &PoolReport, known: &Known<'_>) -> Vec<String> {
    let unremembered = known.memory.unremembered_of(&report.status.uuid.to_string());
    report.notes.iter().cloned().chain(copies(known.places)).chain(unremembered).collect()
}

/// Bytes that hosts have written to volumes, and what is stored of them.
fn written_and_stored(volumes: &[VolumeReport]) -> (u64, u64) {
    let logical = volumes.iter().map(|volume| volume.usage.blocks * BLOCK_BYTES).sum();
    let stored = volumes.iter().map(|volume| volume.usage.slots * SLOT_BYTES).sum();
    (logical, stored)
}

fn spares(pool: &PoolState, memory: &Memory) -> Vec<Spare> {
    let spare = |spec: &String| Spare {
        spec: spec.clone(),
        problem: memory.refusal(spec).map(str::to_owned),
    };
    pool.spares.waiting.iter().map(spare).collect()
}

fn seconds(remaining: Duration) -> u64 {
    remaining.as_secs_f64().ceil() as u64
}

fn progress(progress: &ashlar_store::Progress) -> Progress {
    Progress {
        done_percent: (progress.part_done() * 1000.0).floor() / 10.0,
        left_bytes: progress.bytes_left,
        eta_seconds: progress.remaining.map(seconds),
        obstacle: progress.obstacle.map(|obstacle| match obstacle {
            ashlar_store::Obstacle::NoRoom => Obstacle::NoRoom,
            ashlar_store::Obstacle::Unreadable => Obstacle::Unreadable,
        }),
    }
}

/// Why the pool has given a drive up, if it has.
fn given_up(status: &DriveStatus) -> Option<String> {
    match &status.condition {
        DriveCondition::Failed(error) => Some(error.to_string()),
        DriveCondition::Released => Some(
            status.failure.as_ref().map_or_else(|| "it was lost".to_owned(), ToString::to_string),
        ),
        _ => None,
    }
}

/// What the words for an open pool are said by.
struct PoolLook<'a> {
    report: &'a PoolReport,
    is_read_only: bool,
    is_degraded: bool,
}

impl PoolLook<'_> {
    fn goes_on(&self) -> bool {
        is_going_on(self.report.status.rebuild.as_ref(), self.is_read_only)
    }
}

/// Whether a word holds.
type OfPool = fn(&PoolLook<'_>) -> bool;
type OfDrive = fn(&DriveReport) -> bool;

/// How an open pool may be, in the order in which it is said, and when it is so.
const POOL_STATES: [(&str, OfPool); 18] = [
    ("online", |it| !it.is_read_only && !it.is_degraded),
    ("degraded", |it| it.is_degraded),
    ("rebuilding", |it| it.is_degraded && it.goes_on()),
    ("need-rebuild", |it| it.is_degraded && !it.goes_on()),
    ("rebalancing", |it| it.report.status.rebalance.is_some()),
    ("scrubbing", |it| {
        it.report.status.scrub.as_ref().is_some_and(|scrub| scrub.state == ScrubState::Running)
    }),
    ("trimming", |it| {
        it.report.status.trim.as_ref().is_some_and(|trim| trim.finished_at.is_none())
    }),
    ("evacuating", |it| {
        it.report.status.drives.iter().any(|drive| drive.condition == DriveCondition::Leaving)
    }),
    ("reduced", |it| it.report.status.is_reduced),
    ("read-only", |it| it.is_read_only && it.report.status.taken_by.is_none()),
    ("taken", |it| it.report.status.taken_by.is_some()),
    ("uncertain", |it| it.report.status.is_uncertain),
    ("nearly-full", |it| it.report.status.space.nearly_full && !it.is_read_only),
    ("throttled", |it| it.report.status.space.throttled && !it.is_read_only),
    ("short-for-loss", |it| {
        it.report.status.worst_loss.is_some_and(|worst| worst.is_short_of_room)
    }),
    ("full", |it| room::is_full(&it.report.status, it.is_read_only)),
    ("out-of-room", |it| it.report.status.out_of_room),
    ("volatile", |it| it.report.is_volatile()),
];

/// How each drive is of a pool that is not open.
const UNKNOWN: &str = "unknown";

/// The words for how pools are, and those for how drives are.
pub fn state_words() -> (Vec<&'static str>, Vec<&'static str>) {
    let pools = POOL_STATES.iter().map(|(word, _)| *word).chain(["opening", "unavailable"]);
    let drives = DRIVE_STATES.iter().map(|(word, _)| *word).chain([UNKNOWN]);
    (pools.collect(), drives.collect())
}

fn pool_states(report: &PoolReport, is_read_only: bool) -> Vec<String> {
    let look = PoolLook { report, is_read_only, is_degraded: report.status.is_degraded() };
    let said = POOL_STATES.iter().filter(|(_, holds)| holds(&look));
    said.map(|(word, _)| (*word).to_owned()).collect()
}

/// Why reads and writes wait, if nothing else is wrong.
fn uncertain(status: &PoolStatus) -> Option<String> {
    let why = "too few drives confirm this machine's lease: reads and writes wait for these drives, or \
               for io-timeout";
    status.is_uncertain.then(|| why.to_owned())
}

/// Whether something is being rebuilt now, and not only to be.
fn is_going_on(rebuild: Option<&ashlar_store::Progress>, is_read_only: bool) -> bool {
    !is_read_only && rebuild.is_some_and(|progress| progress.obstacle.is_none())
}

/// How a drive of an open pool may be, and when it is so: first how the pool sees it, in one word,
/// and then what else there is to say.
const DRIVE_STATES: [(&str, OfDrive); 9] = [
    ("online", |it| it.status.condition == DriveCondition::Online),
    ("failed", |it| matches!(it.status.condition, DriveCondition::Failed(_))),
    ("absent", |it| it.status.condition == DriveCondition::Absent),
    ("released", |it| it.status.condition == DriveCondition::Released),
    ("returned", |it| matches!(it.status.condition, DriveCondition::Returned(_))),
    ("evacuating", |it| it.status.condition == DriveCondition::Leaving),
    ("slow", |it| it.status.is_slow),
    ("stale", |it| it.is_stale),
    ("sparse", |it| it.facts.as_ref().is_some_and(|facts| facts.is_sparse)),
];

/// What there is to say of how the pool sees a drive. Whatever gets a condition here has a word in
/// [`DRIVE_STATES`].
fn drive_problem(status: &DriveStatus) -> Option<String> {
    match &status.condition {
        DriveCondition::Failed(error) => Some(error.to_string()),
        DriveCondition::Released => status.failure.as_ref().map(ToString::to_string),
        DriveCondition::Returned(now) => {
            Some(format!("it came back as drive-{}; what it missed is being restored", now.0))
        }
        DriveCondition::Online | DriveCondition::Absent | DriveCondition::Leaving => None,
    }
}

fn pool_drive(
    report: &DriveReport,
    pool: &str,
    known: &Known<'_>,
    remembered: Option<&PoolState>,
) -> PoolDrive {
    let uuid = report.status.uuid.to_string();
    let (facts, spec) = (report.facts.as_ref(), spec_of(report, remembered));
    let is_lost = report.is_lost();
    let found = known
        .places
        .and_then(|places| places.drives.iter().find(|found| found.uuid == report.status.uuid));
    let refused = found
        .filter(|_| is_lost && !report.status.is_given_up)
        .and_then(|found| return_refused(&uuid, found, known));
    let said = health::said(report, known.healths);
    let (model, serial) = health::names(&said, facts);
    let there_now =
        || in_its_place(spec.as_deref()?, known.places?).filter(|_| is_lost && found.is_none());
    PoolDrive {
        name: report.name(),
        pool: pool.to_owned(),
        uuid,
        by_id: facts.and_then(|facts| facts.stable_name.clone()),
        kernel_name: facts.filter(|_| !is_lost).and_then(|facts| facts.kernel.clone()),
        kind: facts.map(|facts| facts.kind.clone()),
        states: states_of(report),
        problem: joined([drive_problem(&report.status), refused.clone(), there_now()]),
        return_refused: refused,
        spec,
        size_bytes: facts.map(|facts| facts.size_bytes),
        unused_bytes: Some(report.status.unused_bytes),
        read_errors: Some(report.status.read_errors),
        wrong_answers: Some(report.status.corrupt_reads),
        model,
        serial,
        slot: facts.and_then(slot),
        health: health::health(said),
    }
}

fn states_of(drive: &DriveReport) -> Vec<String> {
    let held = DRIVE_STATES.iter().filter(|(_, holds)| holds(drive));
    held.map(|(word, _)| (*word).to_owned()).collect()
}

fn slot(facts: &DriveFacts) -> Option<String> {
    facts.slot.as_ref().map(|slot| slot.name.clone())
}

/// Why a drive that is back is not taken back, if the pool has refused it.
fn return_refused(uuid: &str, found: &FoundPlace, known: &Known<'_>) -> Option<String> {
    let why = known.memory.returns.refusal(uuid, found, Instant::now())?;
    Some(format!("it is back at {}, but the pool refuses it: {why}", found.spec))
}

/// What is where a drive was that is not there.
fn in_its_place(spec: &str, places: &PoolPlaces) -> Option<String> {
    places.missed.iter().find(|missed| missed.spec == spec).map(|missed| missed.why.clone())
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Labels that several drives carry.
fn copies(places: Option<&PoolPlaces>) -> Vec<String> {
    places.map(PoolPlaces::copies_in_words).unwrap_or_default()
}

/// Where a drive is, or was last.
fn spec_of(report: &DriveReport, remembered: Option<&PoolState>) -> Option<String> {
    let uuid = report.status.uuid.to_string();
    let known = || remembered?.drives.iter().find(|drive| drive.uuid == uuid);
    let place = report.facts.as_ref().map(|facts| facts.place().to_owned());
    place.or_else(|| known().map(|drive| drive.spec.clone()))
}

/// The drives without which a pool is open, each by its name and where it was.
pub fn missing_drives(report: &PoolReport, remembered: Option<&PoolState>) -> Vec<String> {
    let named = |drive: &DriveReport| match spec_of(drive, remembered) {
        Some(spec) if drive.is_stale => {
            format!("{} ({spec}, which lacks what was written without it)", drive.name())
        }
        Some(spec) => format!("{} ({spec})", drive.name()),
        None => drive.name(),
    };
    // What lived on a released one is on others: nothing lacks it. It may be released since the
    // opening.
    let was_missing = |drive: &DriveReport| report.opened.missing.contains(&drive.status.drive);
    let is_missed = |drive: &&DriveReport| {
        drive.is_lost()
            && (drive.status.condition != DriveCondition::Released || was_missing(drive))
    };
    report.drives.iter().filter(is_missed).map(named).collect()
}

/// A pool that is not open.
pub fn unavailable_pool(remembered: &PoolState, why: &NotOpen) -> Pool {
    let drive = |drive: &super::state::DriveState| PoolDrive {
        name: drive.spec.clone(),
        pool: remembered.name.clone(),
        uuid: drive.uuid.clone(),
        spec: Some(drive.spec.clone()),
        states: vec![UNKNOWN.to_owned()],
        ..PoolDrive::default()
    };
    let spare = |spec: &String| Spare { spec: spec.clone(), problem: None };
    Pool {
        name: remembered.name.clone(),
        uuid: remembered.uuid.clone(),
        states: vec![why.state().to_owned()],
        problem: Some(why.why()),
        drives: remembered.drives.iter().map(drive).collect(),
        spares: remembered.spares.waiting.iter().map(spare).collect(),
        ..Pool::default()
    }
}

/// A volume.
pub fn volume(report: &VolumeReport) -> Volume {
    let (logical, physical) = (report.usage.blocks * BLOCK_BYTES, report.usage.slots * SLOT_BYTES);
    Volume {
        name: report.name.clone(),
        pool: report.pool.clone(),
        uuid: report.uuid.to_string(),
        nsid: report.nsid.0,
        size_bytes: report.size_bytes,
        lba_bytes: report.lba_bytes,
        logical_used_bytes: logical,
        physical_used_bytes: physical,
        zero_bytes: report.size_bytes.saturating_sub(logical),
        compression_ratio: ratio(logical, physical),
        access: access(&report.access),
        compression: report.compression.to_string(),
        write_protected: report.write_protected,
        atomic_write_bytes: report.atomic_write_bytes.into(),
        qos: qos::volume_qos(report),
        created_at: time(report.made_at),
    }
}

fn access(list: &AccessList) -> Access {
    match list {
        AccessList::AllowAny => Access { allow_any: true, hosts: Vec::new() },
        AccessList::Allow(hosts) => {
            Access { allow_any: false, hosts: hosts.iter().map(|host| host.to_string()).collect() }
        }
    }
}

/// What a drive is and holds.
pub fn drive_info(reading: &DriveReading) -> DriveInfo {
    let (facts, content) = (&reading.facts, &reading.content);
    let state = match content {
        DriveContent::Blank => "blank",
        DriveContent::Member(_) => "member",
        DriveContent::Overwritten { .. } | DriveContent::Damaged(_) => "damaged",
        DriveContent::Foreign(_) => "foreign",
    };
    let member = content.label();
    DriveInfo {
        spec: facts.spec.clone(),
        kind: facts.kind.clone(),
        size_bytes: facts.size_bytes,
        content: content.describe(),
        states: vec![state.to_owned()],
        pool: member.map(|superblock| superblock.pool_name.clone()),
        pool_uuid: member.map(|superblock| superblock.pool.to_string()),
        model: facts.model.clone(),
        serial: facts.serial.clone(),
        slot: slot(facts),
        health: health::not_asked(),
    }
}

/// The same with what it says of its health.
pub fn drive_with_health(reading: &DriveReading, said: Said) -> DriveInfo {
    let (model, serial) = health::names(&said, Some(&reading.facts));
    DriveInfo { model, serial, health: health::health(said), ..drive_info(reading) }
}

#[cfg(test)]
mod tests;
