//! What is not well now, worst first. Pure: it reads what pools say of themselves, and owns
//! nothing.
//!
//! Events tell when it began and when it was over; whoever asks later, or each minute by a script,
//! asks here.

use ashlar_block::printable;

use crate::events::EventKind;
use crate::events::kinds::{
    hint_of_drive_state, hint_of_pool_state, severity_of_drive_state, severity_of_pool_state,
};
use crate::hints;
use crate::types::{Alert, Pool, PoolDrive, Severity};
use crate::watch::standing::Standing;

mod damage;
#[cfg(test)]
mod tests;

/// The pool has fewer drives than it had.
const REDUCED: &str = "reduced";

/// What is not well with these pools, of which that stands from before, and with a daemon that
/// warns of that.
pub(crate) fn alerts(
    pools: &[Pool],
    standing: impl Fn(&Pool) -> Standing,
    warnings: &[String],
) -> Vec<Alert> {
    let mut all: Vec<Alert> = warnings.iter().map(|warning| of_daemon(warning)).collect();
    all.extend(pools.iter().flat_map(|pool| of_pool(pool, &standing(pool))));
    // What is said of one severity keeps its order: a pool before its drives.
    all.sort_by_key(|alert| std::cmp::Reverse(alert.severity));
    all
}

fn of_daemon(warning: &str) -> Alert {
    Alert {
        severity: Severity::Warning,
        code: "daemon_warning".to_owned(),
        pool: None,
        drive: None,
        message: warning.to_owned(),
        hint: None,
    }
}

fn of_pool(pool: &Pool, standing: &Standing) -> Vec<Alert> {
    let of_state = |state: &String| {
        let severity = severity_of_pool_state(state);
        (severity > Severity::Info).then(|| pool_is(pool, state, severity))
    };
    let mut all: Vec<Alert> = pool.states.iter().filter_map(of_state).collect();
    all.extend(damage::alerts(pool, standing));
    all.extend(rebuild_stuck(pool, standing));
    all.extend(reserve_released(pool));
    all.extend(no_second_loss(pool));
    all.extend(pool.spares.iter().filter_map(|spare| {
        let why = spare.problem.as_deref()?;
        let message =
            format!("spare {} of pool '{}' cannot be taken: {why}", spare.spec, pool.name);
        Some(about(pool, Severity::Error, "spare_refused", message))
    }));
    all.extend(pool.drives.iter().flat_map(|drive| of_drive(pool, drive)));
    all
}

fn is(pool: &Pool, state: &str) -> bool {
    pool.states.iter().any(|it| it == state)
}

fn about(pool: &Pool, severity: Severity, code: &str, message: String) -> Alert {
    Alert {
        severity,
        code: code.to_owned(),
        pool: Some(pool.name.clone()),
        drive: None,
        message: printable(&message),
        hint: None,
    }
}

/// What to do, of that pool and of a drive of it.
fn settled(hint: &str, pool: &Pool, drive: Option<&str>) -> String {
    hints::settled(hint, Some(&pool.name), drive)
}

fn pool_is(pool: &Pool, state: &str, severity: Severity) -> Alert {
    let has_reason = matches!(state, "unavailable" | "read-only" | "taken" | "uncertain");
    let why = match state {
        "short-for-loss" => {
            pool.space.as_ref().and_then(|it| it.after_loss.as_ref()?.problem.clone())
        }
        _ => pool.problem.clone().filter(|_| has_reason),
    };
    let message = format!("pool '{}' is {state}", pool.name);
    let message = why.map_or(message.clone(), |why| format!("{message}: {why}"));
    let hint = hint_of_pool_state(state).map(|hint| settled(hint, pool, pool.lost_drive()));
    Alert { hint, ..about(pool, severity, state, message) }
}

fn rebuild_stuck(pool: &Pool, standing: &Standing) -> Option<Alert> {
    let why = pool.rebuild_problem().map_or_else(String::new, |why| format!(": {why}"));
    let message = format!("the rebuild of pool '{}' does not go on{why}", pool.name);
    let hint = EventKind::RebuildStuck.hint().map(|hint| settled(hint, pool, None));
    let alert =
        || Alert { hint, ..about(pool, Severity::Error, EventKind::RebuildStuck.word(), message) };
    standing.rebuild_stuck.then(alert)
}

fn reserve_released(pool: &Pool) -> Option<Alert> {
    let is_released = pool.of_space(|space| space.reserve_released)?;
    let message =
        format!("the reserve of pool '{}' is released: there is no further one", pool.name);
    let hint = Some("delete or trim data, or add drives: then it is kept again".to_owned());
    let alert = || Alert { hint, ..about(pool, Severity::Warning, "reserve_released", message) };
    is_released.then(alert)
}

/// All is restored on the drives that are left, and they are too few to lose another. A pool that
/// was made with as few is as its level says, and what a state says already is not said again.
fn no_second_loss(pool: &Pool) -> Option<Alert> {
    let said = ["degraded", "read-only", "taken", "short-for-loss"];
    let is_said = said.iter().any(|state| is(pool, state));
    let no_loss_at_all = pool.level.as_deref() == Some("0");
    if is_said || no_loss_at_all || !is(pool, REDUCED) {
        return None;
    }
    let problem = pool.space.as_ref()?.after_loss.as_ref()?.problem.as_ref()?;
    let message = format!("pool '{}' does not survive one more loss: {problem}", pool.name);
    let hint = Some(format!("add a drive: `ashlar pool add-drive {} /dev/...`", pool.name));
    Some(Alert { hint, ..about(pool, Severity::Warning, "no_second_loss", message) })
}

/// A drive that is lost stays one to see to, though the pool has restored what lived on it.
fn released(pool: &Pool, drive: &PoolDrive) -> Alert {
    let message =
        format!("{} of pool '{}' is lost; what lived on it is on others", drive.name, pool.name);
    let why = drive.problem.as_ref();
    let message = why.map_or(message.clone(), |why| format!("{message}: {why}"));
    let forget = format!("`ashlar pool remove-drive {} {}`", pool.name, drive.name);
    let hint = if is(pool, REDUCED) {
        format!(
            "add another: `ashlar pool add-drive {} /dev/...`; or do without: {forget}",
            pool.name
        )
    } else {
        format!("another has its place: {forget} forgets it")
    };
    Alert { hint: Some(hint), ..about(pool, Severity::Warning, "released", message) }
}

fn of_drive(pool: &Pool, drive: &PoolDrive) -> Vec<Alert> {
    let named = |alert: Alert| Alert { drive: Some(drive.name.clone()), ..alert };
    let of_state = |state: &String| {
        if state == "released" {
            return Some(named(released(pool, drive)));
        }
        let severity = severity_of_drive_state(state);
        (severity > Severity::Info).then(|| {
            let message = format!("{} of pool '{}' is {state}", drive.name, pool.name);
            let why = drive.problem.as_ref();
            let message = why.map_or(message.clone(), |why| format!("{message}: {why}"));
            let hint =
                hint_of_drive_state(state).map(|hint| settled(hint, pool, Some(&drive.name)));
            named(Alert { hint, ..about(pool, severity, state, message) })
        })
    };
    let states = drive.states.iter().filter_map(of_state);
    let warnings = drive.health.warnings.iter().map(|warning| {
        let message = format!("{} of pool '{}': {}", drive.name, pool.name, warning.message);
        named(about(pool, warning.severity, &warning.kind, message))
    });
    states.chain(warnings).collect()
}
