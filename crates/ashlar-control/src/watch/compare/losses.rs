//! What pools have lost, put down when it happened: it may be there again by the next look. Pure.

use super::{drive_state, entered, is, is_closed};
use crate::node_api::Loss;
use crate::types::{Happening, Pool, PoolDrive};
use crate::watch::Seen;
use crate::watch::heard::PoolLoss;
use crate::watch::visits::Told;

const READ_ONLY: &str = "read-only";
const SLOW: &str = "slow";

/// What is to be told of these losses, of which `seen` knows afterwards: the next look tells what
/// has become of them. Of pools and drives that were not seen it tells how they are.
pub fn tell(seen: &mut Seen, losses: Vec<PoolLoss>) -> Vec<Told> {
    let tell = |PoolLoss { at, pool, what, .. }: PoolLoss| {
        let pool = seen.pools.iter_mut().find(|seen| seen.uuid == pool)?;
        if is_closed(pool) {
            return None;
        }
        let happening = match what {
            Loss::Drive { drive, why } => drive_lost(pool, &drive, why),
            Loss::Answers { drive } => silent(pool, &drive),
            Loss::Writes(why) => halted(pool, why),
        };
        happening.map(|happening| (Some(at), happening))
    };
    losses.into_iter().filter_map(tell).collect()
}

fn drive_lost(pool: &mut Pool, name: &str, why: String) -> Option<Happening> {
    drive_is(pool, name, |drive| {
        let others = drive.states.iter().skip(1).filter(|state| *state != SLOW).cloned();
        drive.states = std::iter::once("failed".to_owned()).chain(others).collect();
        drive.problem = Some(why);
    })
}

/// It is slow until it answers.
fn silent(pool: &mut Pool, name: &str) -> Option<Happening> {
    drive_is(pool, name, |drive| {
        drive.states.retain(|state| state != SLOW);
        drive.states.push(SLOW.to_owned());
    })
}

fn drive_is(pool: &mut Pool, name: &str, change: impl FnOnce(&mut PoolDrive)) -> Option<Happening> {
    let index = pool.drives.iter().position(|drive| drive.name == name)?;
    let before = pool.drives[index].clone();
    let mut now = before.clone();
    change(&mut now);
    let happening = drive_state(pool, Some(&before), &now);
    pool.drives[index] = now;
    happening
}

/// It takes no writes any more.
fn halted(pool: &mut Pool, why: String) -> Option<Happening> {
    if is(pool, READ_ONLY) || is(pool, "taken") {
        return None;
    }
    pool.states.push(READ_ONLY.to_owned());
    pool.problem = Some(why);
    Some(entered(pool, READ_ONLY))
}

#[cfg(test)]
mod tests;
