//! Data that is damaged, until it is known to be well.

use super::{about, settled};
use crate::types::{Alert, Pool, ScrubbedDrive, Severity};
use crate::watch::by_drives;
use crate::watch::standing::Standing;

pub(super) fn alerts(pool: &Pool, standing: &Standing) -> impl Iterator<Item = Alert> {
    let all = [unreadable(pool, standing), unrepaired(pool, standing), ledger(pool, standing)];
    all.into_iter().flatten()
}

fn error(pool: &Pool, code: &str, message: String, hint: &str) -> Alert {
    // Where it has found something on several, somebody has to choose.
    let found = match pool.scrub().map(|scrub| &scrub.drives[..]) {
        Some([ScrubbedDrive { name, .. }]) => Some(name.as_str()),
        _ => None,
    };
    let hint = Some(settled(hint, pool, found));
    Alert { hint, ..about(pool, Severity::Error, code, message) }
}

fn unreadable(pool: &Pool, standing: &Standing) -> Option<Alert> {
    let blocks = Some(standing.unreadable()).filter(|blocks| *blocks > 0)?;
    let why = by_drives(pool).map_or_else(String::new, |drives| format!(": {drives}"));
    let message = format!(
        "data of pool '{}' could not be read right, {blocks} blocks since it was opened{why}",
        pool.name
    );
    let hint = "bring lost drives back, then `ashlar pool scrub POOL` repairs what it can; what it \
                cannot has to come from a copy. It is over once a scrub finds all right";
    Some(error(pool, "data_unreadable", message, hint))
}

fn unrepaired(pool: &Pool, standing: &Standing) -> Option<Alert> {
    let sectors = Some(standing.unrepaired).filter(|sectors| *sectors > 0)?;
    let message = format!("a scrub of pool '{}' could not repair {sectors} sectors", pool.name);
    let hint = "`ashlar pool show POOL` names the drives: replace one that does not take what is \
                repaired (`ashlar pool replace POOL DRIVE /dev/...`); what no drive has any more \
                comes from a copy. It is over once `ashlar pool scrub POOL` repairs all";
    Some(error(pool, "scrub_unrepaired", message, hint))
}

fn ledger(pool: &Pool, standing: &Standing) -> Option<Alert> {
    let first = standing.differences.first()?;
    let message = format!(
        "the ledger of pool '{}' differs from what is there in {} places: {first}",
        pool.name,
        standing.differences.len()
    );
    let hint = "`ashlar pool show POOL --output json` has all of them in `jobs.verify`: report that \
                with `ashlar support`; it is over once `ashlar pool verify POOL` finds none";
    Some(error(pool, "ledger_differs", message, hint))
}
