//! What the file does not say: what a start would not know if the daemon ended now. Pure.

use std::collections::BTreeSet;

use super::{NodeState, PoolState};

/// Something that the file does not say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwritten {
    /// The UUID of the pool that it is about.
    pub pool: Option<String>,
    /// What, as an item of a list.
    pub what: String,
}

/// What `node` knows and the file, which says `written`, does not. That the daemon has started once
/// more is of no account.
pub fn unwritten(written: &NodeState, node: &NodeState) -> Vec<Unwritten> {
    let known = |pool: &PoolState| written.pools.iter().find(|known| known.uuid == pool.uuid);
    let mut all: Vec<Unwritten> = Vec::new();
    for pool in &node.pools {
        match known(pool) {
            Some(known) => all.extend(of_pool(known, pool)),
            None => all.push(about(pool, format!("that pool '{}' is one of this node", pool.name))),
        }
    }
    let is_gone = |pool: &&PoolState| node.pools.iter().all(|kept| kept.uuid != pool.uuid);
    let gone = written.pools.iter().filter(is_gone);
    all.extend(gone.map(|pool| {
        about(pool, format!("that pool '{}' is no longer one of this node", pool.name))
    }));
    if node.nsid_high > written.nsid_high {
        let what = format!("that namespace numbers up to {} are taken", node.nsid_high);
        all.push(Unwritten { pool: None, what });
    }
    all
}

fn about(pool: &PoolState, what: String) -> Unwritten {
    Unwritten { pool: Some(pool.uuid.clone()), what }
}

fn of_pool(written: &PoolState, pool: &PoolState) -> Vec<Unwritten> {
    let name = &pool.name;
    let renamed = written.name != *name;
    // Their order is that in which they were found.
    let drives = drives_of(written) != drives_of(pool);
    let spares = written.spares != pool.spares;
    let all = [
        renamed.then(|| format!("that pool '{}' is called '{name}' now", written.name)),
        drives.then(|| format!("which drives pool '{name}' has now")),
        spares.then(|| format!("which spares pool '{name}' has now")),
    ];
    all.into_iter().flatten().map(|what| about(pool, what)).collect()
}

fn drives_of(pool: &PoolState) -> BTreeSet<(&str, &str)> {
    pool.drives.iter().map(|drive| (drive.uuid.as_str(), drive.spec.as_str())).collect()
}

#[cfg(test)]
mod tests;
