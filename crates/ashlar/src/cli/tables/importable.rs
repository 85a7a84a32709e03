//! Pools that could be imported.

use ashlar_block::{counted, printable};
use ashlar_control::types::ImportablePool;

use super::grid::{Kind, Text, prose, table};

/// Where pools were looked for that nobody has said where they are.
pub const ON_DEVICES: &str = "the block devices that nothing else has open were read. `ashlar pool \
                              import --drive DIR --dry-run` looks in a directory";
/// Where they were looked for otherwise.
pub const ON_NAMED: &str = "the drives that were named were read. `ashlar pool list` has those \
                            that are open";

/// Why a pool that was asked for is not among them.
pub fn no_such_importable(pool: &str, where_to: &str) -> String {
    format!("no pool '{}' was found that is not open: {where_to}", printable(pool))
}

/// All of them, a line each; and how they are imported.
pub fn importable(pools: &[ImportablePool], where_to: &str) -> String {
    if pools.is_empty() {
        return prose(&format!("no pool was found that is not open: {where_to}"));
    }
    let columns = [
        ("name", Kind::Name),
        ("uuid", Kind::Figure),
        ("level", Kind::Figure),
        ("found", Kind::Figure),
    ];
    let row = |pool: &ImportablePool| {
        let found = format!("{} of {}", pool.drives.len(), pool.drives_made_with);
        vec![Text::from(&pool.name), (&pool.uuid).into(), (&pool.level).into(), found.into()]
    };
    let table = table(&columns, pools.iter().map(row).collect());
    let notes = pools.iter().flat_map(|pool| &pool.notes).map(|note| prose(&printable(note)));
    std::iter::once(table).chain(notes).chain(pools.iter().map(how)).collect::<Vec<_>>().join("\n")
}

fn how(pool: &ImportablePool) -> String {
    let drives: String = pool.drives.iter().map(|drive| format!(" --drive {drive}")).collect();
    let found = counted(pool.drives.len(), "drive");
    format!("to open '{}' of {found}:\n  ashlar pool import {}{drives}", pool.name, pool.uuid)
}

#[cfg(test)]
mod tests;
