//! What has happened between two looks. Pure.

use std::time::Duration;

use ashlar_block::ByteSize;
use moving::of_moving;

use super::{Seen, What};
use crate::events::EventKind;
use crate::events::kinds::{
    hint_of_drive_state, hint_of_pool_state, severity_of_drive_state, severity_of_pool_state,
};
use crate::node_api::Warning;
use crate::progress_text::Span;
use crate::types::{Happening, Pool, PoolDrive, Scrub, ScrubbedDrive, Severity, Trim, Verify};

pub mod damage;
mod erases;
mod health;
mod hosts;
pub mod losses;
mod moving;
pub mod stuck;

/// States of pools that say nothing on their own, or that other events tell of.
const SILENT_STATES: [&str; 6] =
    ["online", "rebuilding", "need-rebuild", "rebalancing", "volatile", OPENING];
const OPENING: &str = "opening";
const UNAVAILABLE: &str = "unavailable";
/// What a drive of a pool that is not open is.
const UNKNOWN: &str = "unknown";
const ONLINE: &str = "online";

/// What has happened from `before` to `now`: of a pool losses first, then what is done about them,
/// then what is over.
pub fn happenings(before: &Seen, now: &mut Seen) -> Vec<Happening> {
    let old = |pool: &Pool| before.pools.iter().find(|old| old.uuid == pool.uuid);
    let is_there = |old: &Pool| now.pools.iter().any(|pool| pool.uuid == old.uuid);
    let mut all: Vec<Happening> =
        before.pools.iter().filter(|old| !is_there(old)).map(closed).collect();
    // One that is opened again is what it was until that is done.
    for pool in now.pools.iter_mut().filter(|pool| is(pool, OPENING)) {
        if let Some(old) = old(pool) {
            *pool = old.clone();
        }
    }
    for pool in &now.pools {
        let what = if is(pool, What::Rebuild.state()) { What::Rebuild } else { What::Evacuation };
        let (moving, moved) =
            of_moving(before.moving.get(&pool.uuid).copied(), what, pool.rebuild(), pool);
        now.moving.extend(moving.map(|moving| (pool.uuid.clone(), moving)));
        let rebalancing = before.rebalancing.get(&pool.uuid).copied();
        let (rebalancing, spread) = of_moving(rebalancing, What::Rebalance, pool.rebalance(), pool);
        now.rebalancing.extend(rebalancing.map(|moving| (pool.uuid.clone(), moving)));
        let told = before.full_soon.get(&pool.uuid).copied();
        let (told, forecast) = of_forecast(told, now.at, pool);
        now.full_soon.extend(told.map(|last| (pool.uuid.clone(), last)));
        let on_its_way = moved.into_iter().chain(spread).chain(forecast);
        all.extend(of_pool(old(pool), pool, on_its_way));
        let told = before.damage.get(&pool.uuid).copied().unwrap_or_default();
        let (told, damage) = damage::happenings(told, now.at, pool);
        now.damage.insert(pool.uuid.clone(), told);
        let stuck = before.stuck.get(&pool.uuid).copied();
        let (stuck, stands) = stuck::of_stuck(stuck, now.at, pool);
        now.stuck.extend(stuck.map(|stuck| (pool.uuid.clone(), stuck)));
        all.extend(damage.into_iter().chain(stands));
    }
    all.extend(erases::happenings(&before.erases, &now.erases));
    all.extend(hosts::happenings(before, now));
    all.extend(of_warnings(&before.warnings, &now.warnings));
    all
}

/// What cannot be remembered since, what more of it, and what can be again.
fn of_warnings(before: &[Warning], now: &[Warning]) -> Vec<Happening> {
    let is_new = |warning: &&Warning| !before.contains(warning);
    let is_over = |old: &&Warning| now.iter().all(|warning| warning.file != old.file);
    let tell = |warning: &Warning| {
        Happening::new(Severity::Warning, EventKind::StateNotWritten, warning.message.as_str())
    };
    let over = |old: &Warning| {
        let message = format!("{} is written again: nothing of it is missing", old.file);
        Happening::new(Severity::Info, EventKind::StateWritten, message)
    };
    let over = before.iter().filter(is_over).map(over);
    now.iter().filter(is_new).map(tell).chain(over).collect()
}

fn is(pool: &Pool, state: &str) -> bool {
    pool.states.iter().any(|is| is == state)
}

fn is_closed(pool: &Pool) -> bool {
    is(pool, UNAVAILABLE) || is(pool, OPENING)
}

fn about(pool: &Pool, severity: Severity, kind: EventKind, message: String) -> Happening {
    Happening { pool: Some(pool.name.clone()), ..Happening::new(severity, kind, message) }
}

fn closed(pool: &Pool) -> Happening {
    let message = format!("pool '{}' is closed, and no longer a pool of this node", pool.name);
    about(pool, Severity::Info, EventKind::PoolClosed, message)
}

fn of_pool(
    before: Option<&Pool>,
    now: &Pool,
    moved: impl IntoIterator<Item = Happening>,
) -> Vec<Happening> {
    let mut all = Vec::new();
    // Of one that was not open, no more is known than of one that was not there.
    let was_open = before.filter(|before| !is_closed(before));
    if was_open.is_none() && !is_closed(now) {
        all.push(about(
            now,
            Severity::Info,
            EventKind::PoolOpened,
            format!("pool '{}' is open", now.name),
        ));
    }
    all.extend(of_drives(was_open, now));
    all.extend(was_open.map(|before| of_spares(before, now)).unwrap_or_default());
    let (nothing, same) = (Pool::default(), before.unwrap_or(now));
    let words = |pool: &Pool, other: &Pool| -> Vec<String> {
        let tells = |state: &&String| !is(other, state) && !SILENT_STATES.contains(&state.as_str());
        pool.states.iter().filter(tells).cloned().collect()
    };
    all.extend(words(now, before.unwrap_or(&nothing)).iter().map(|state| entered(now, state)));
    all.extend(moved);
    all.extend(was_open.and_then(|before| of_scrub(before.scrub(), now)));
    all.extend(was_open.and_then(|before| of_trim(before.trim(), now)));
    all.extend(was_open.and_then(|before| of_verify(before.verify(), now)));
    all.extend(words(same, now).iter().map(|state| left(now, state)));
    all
}

fn entered(pool: &Pool, state: &str) -> Happening {
    let severity = severity_of_pool_state(state);
    let has_reason = matches!(state, UNAVAILABLE | "read-only" | "taken" | "uncertain");
    let why = pool.problem.clone().filter(|_| has_reason).or_else(|| of_room(pool, state));
    let message = format!("pool '{}' is {state}", pool.name);
    let happening = about(pool, severity, EventKind::PoolStateEntered, message)
        .because(why.as_deref())
        .with_hint(hint_of_pool_state(state));
    let hint_drive = pool.lost_drive().map(str::to_owned);
    Happening { states: vec![state.to_owned()], hint_drive, ..happening }
}

/// What a state means for what may be written.
fn of_room(pool: &Pool, state: &str) -> Option<String> {
    match state {
        "full" => Some("writes are refused".to_owned()),
        "nearly-full" | "throttled" => Some(format!(
            "{} are safe to write",
            ByteSize(pool.space.as_ref()?.safe_to_write_bytes)
        )),
        "short-for-loss" => pool.space.as_ref()?.after_loss.as_ref()?.problem.clone(),
        _ => None,
    }
}

fn left(pool: &Pool, state: &str) -> Happening {
    let message = format!("pool '{}' is no longer {state}", pool.name);
    Happening {
        states: vec![state.to_owned()],
        ..about(pool, Severity::Info, EventKind::PoolStateLeft, message)
    }
}

fn of_drives(before: Option<&Pool>, now: &Pool) -> Vec<Happening> {
    let mut all = Vec::new();
    for drive in before.iter().flat_map(|before| &before.drives) {
        if same_drive(now, drive).is_none() {
            let message = format!("{} is no longer a member of pool '{}'", drive.name, now.name);
            all.push(about_drive(now, drive, Severity::Info, EventKind::DriveRemoved, message));
        }
    }
    for drive in &now.drives {
        let old = before.and_then(|before| same_drive(before, drive));
        if before.is_some() && old.is_none() {
            let message = format!("{} is a member of pool '{}' now", drive.name, now.name);
            all.push(about_drive(now, drive, Severity::Info, EventKind::DriveAdded, message));
        }
        all.extend(drive_state(now, old, drive));
        all.extend(drive_refused(now, old, drive));
        all.extend(health::happenings(now, old, drive));
    }
    all
}

fn of_spares(before: &Pool, now: &Pool) -> Vec<Happening> {
    let mut all = Vec::new();
    let find =
        |pool: &'_ Pool, spec: &str| pool.spares.iter().find(|spare| spare.spec == spec).cloned();
    for spare in &before.spares {
        let taken = now.drives.iter().find(|drive| drive.spec.as_ref() == Some(&spare.spec));
        if let (None, Some(drive)) = (find(now, &spare.spec), taken) {
            let message =
                format!("{} of pool '{}' was the spare {}", drive.name, now.name, spare.spec);
            all.push(about_drive(now, drive, Severity::Info, EventKind::SpareTaken, message));
            if now.spares.is_empty() {
                let message = format!("pool '{}' has no spare left", now.name);
                all.push(about(now, Severity::Warning, EventKind::SparesUsedUp, message));
            }
        }
    }
    for spare in &now.spares {
        let was = find(before, &spare.spec).and_then(|before| before.problem);
        if let (None, Some(why)) = (was, &spare.problem) {
            let message = format!("spare {} of pool '{}' cannot be taken", spare.spec, now.name);
            let refused = about(now, Severity::Error, EventKind::SpareRefused, message);
            let hint_drive = Some(spare.spec.clone());
            all.push(Happening { hint_drive, ..refused.because(Some(why)) });
        }
    }
    all
}

/// A scrub that has come to its end since, with what it has found.
fn of_scrub(before: Option<&Scrub>, now: &Pool) -> Option<Happening> {
    let ended = |scrub: &Scrub| scrub.finished_at.clone().filter(|_| scrub.is("finished"));
    let scrub = now.scrub()?;
    let is_new =
        ended(scrub).is_some() && before.is_none_or(|before| ended(before) != ended(scrub));
    let severity = match scrub.wrong + scrub.unreadable + scrub.unrepaired {
        0 => Severity::Info,
        _ if scrub.unrepaired == 0 && !has_given_up(scrub) => Severity::Warning,
        _ => Severity::Error,
    };
    let how = found_by(scrub);
    is_new.then(|| {
        about(
            now,
            severity,
            EventKind::ScrubFinished,
            format!("the scrub of pool '{}' {how}", now.name),
        )
    })
}

/// A pool is warned of that will be full within so long.
const FULL_SOON_SECONDS: u64 = 4 * 3600;

/// After so long in which that was not so it is warned of anew: a forecast that comes and goes is
/// one warning.
const FULL_SOON_OVER: Duration = Duration::from_secs(15 * 60);

/// It will be full soon, and that was not told. `told`: when it was last so, if it was told.
/// Returns the same for the next look.
fn of_forecast(
    told: Option<Duration>,
    at: Duration,
    now: &Pool,
) -> (Option<Duration>, Option<Happening>) {
    let Some(left) = now
        .of_space(|space| space.full_in_seconds)
        .flatten()
        .filter(|left| *left < FULL_SOON_SECONDS)
    else {
        return (told.filter(|last| at.saturating_sub(*last) < FULL_SOON_OVER), None);
    };
    let tell = || {
        let message =
            format!("pool '{}' is full in {} at the last hour's rate", now.name, Span(left));
        about(now, Severity::Warning, EventKind::PoolFullSoon, message)
    };
    (Some(at), told.is_none().then(tell))
}

/// A proof of the ledger that has come to its end since.
fn of_verify(before: Option<&Verify>, now: &Pool) -> Option<Happening> {
    let verify = now.verify().filter(|it| it.finished_at.is_some() && !it.is("stopped"))?;
    let is_new = before.is_none_or(|before| before.finished_at != verify.finished_at);
    let (severity, how) = match (&verify.problem, verify.differences.len()) {
        (Some(why), _) => (Severity::Warning, format!("could not be proved: {why}")),
        (None, 0) => (Severity::Info, "is what is there, figure by figure".to_owned()),
        (None, many) => (
            Severity::Error,
            format!("differs from what is there in {many} places: {}", verify.differences[0]),
        ),
    };
    let message = format!("the ledger of pool '{}' {how}", now.name);
    is_new.then(|| about(now, severity, EventKind::VerifyFinished, message))
}

/// A trim that has come to its end since.
fn of_trim(before: Option<&Trim>, now: &Pool) -> Option<Happening> {
    let trim = now.trim().filter(|it| it.finished_at.is_some() && !it.is("stopped"))?;
    let is_new = before.is_none_or(|before| before.finished_at != trim.finished_at);
    let severity = if trim.refusals > 0 { Severity::Warning } else { Severity::Info };
    let refused = match trim.refusals {
        0 => String::new(),
        1 => "; one drive has refused once: the log says why".to_owned(),
        times => format!("; drives have refused {times} times: the log says why"),
    };
    let skipped_drives = match &trim.skipped_drives[..] {
        [] => String::new(),
        drives => format!("; left out: {}", drives.join(", ")),
    };
    let free = ByteSize(trim.free_bytes);
    let message = format!(
        "the drives of pool '{}' know of {free} of free space{refused}{skipped_drives}",
        now.name
    );
    is_new.then(|| about(now, severity, EventKind::TrimFinished, message))
}

/// A drive on which it found something is given up.
fn has_given_up(scrub: &Scrub) -> bool {
    scrub.drives.iter().any(|drive| drive.given_up.is_some())
}

fn found_by(scrub: &Scrub) -> String {
    let Scrub { wrong, unreadable, repaired, unrepaired, .. } = scrub;
    let checked = format!("has looked at {}", ByteSize(scrub.checked_bytes));
    if wrong + unreadable + unrepaired == 0 {
        return format!("{checked}; everything was right");
    }
    let name = |drive: &ScrubbedDrive| {
        let place = drive.spec.as_ref().map_or_else(String::new, |spec| format!(" ({spec})"));
        let given_up = drive.given_up.as_ref().map_or("", |_| ", which is given up");
        format!("{}{place}{given_up}", drive.name)
    };
    let drives: Vec<String> = scrub.drives.iter().map(name).collect();
    let on = if drives.is_empty() { String::new() } else { format!(", on {}", drives.join(", ")) };
    format!(
        "{checked}; sectors: {wrong} wrong, {unreadable} unreadable, {repaired} repaired, {unrepaired} not repaired{on}"
    )
}

/// The drive as the pool has it. By its name first: one that came back has its old name, too, until
/// what it missed is restored; and then by its identity, for in a pool that is not open a drive is
/// named otherwise.
fn same_drive<'a>(pool: &'a Pool, drive: &PoolDrive) -> Option<&'a PoolDrive> {
    let named = pool.drives.iter().find(|other| other.name == drive.name);
    named.or_else(|| pool.drives.iter().find(|other| other.uuid == drive.uuid))
}

fn about_drive(
    pool: &Pool,
    drive: &PoolDrive,
    severity: Severity,
    kind: EventKind,
    message: String,
) -> Happening {
    Happening { drive: Some(drive.name.clone()), ..about(pool, severity, kind, message) }
}

/// What a drive is, in one word: the first says how it is, but a member that was away too long is
/// nothing else, and that one is slow is of more account than that it works.
fn word(drive: &PoolDrive) -> &str {
    let has = |state: &str| drive.states.iter().any(|is| is == state);
    match drive.states.first().map_or(UNKNOWN, String::as_str) {
        _ if has("stale") => "stale",
        "online" if has("slow") => "slow",
        first => first,
    }
}

/// A drive that was away is back, and the pool refuses it.
fn drive_refused(pool: &Pool, before: Option<&PoolDrive>, now: &PoolDrive) -> Option<Happening> {
    let why = now.return_refused.as_ref()?;
    let is_known = before.is_some_and(|before| before.return_refused.as_ref() == Some(why));
    let message = format!("{} of pool '{}'", now.name, pool.name);
    (!is_known).then(|| {
        about_drive(pool, now, Severity::Warning, EventKind::DriveRefused, message)
            .because(Some(why))
    })
}

fn drive_state(pool: &Pool, before: Option<&PoolDrive>, now: &PoolDrive) -> Option<Happening> {
    // What was not seen before is taken to be well.
    let was = before.map(word).filter(|word| *word != UNKNOWN).unwrap_or(ONLINE);
    let state = word(now);
    if state == was || state == UNKNOWN {
        return None;
    }
    // It was lost and made good for between two looks: nothing else tells of the loss.
    let was_lost = state == "released" && before.is_some_and(|before| word(before) == ONLINE);
    let severity = match state {
        "released" if was_lost => Severity::Error,
        state => severity_of_drive_state(state),
    };
    let message = match state {
        "released" if was_lost => {
            format!(
                "{} of pool '{}' is lost, and what lived on it is on others",
                now.name, pool.name
            )
        }
        "released" => {
            format!(
                "{} of pool '{}' is released: what lived on it is on others",
                now.name, pool.name
            )
        }
        _ => format!("{} of pool '{}' is {state}", now.name, pool.name),
    };
    let why = now.problem.as_deref().filter(|_| state != "released" || was_lost);
    let happening = about_drive(pool, now, severity, EventKind::DriveState, message)
        .because(why)
        .with_hint(hint_of_drive_state(if was_lost { "failed" } else { state }));
    Some(Happening { states: vec![state.to_owned()], ..happening })
}

#[cfg(test)]
mod tests;
