//! Pools that could be imported.

use ashlar_block::{counted, printable};
use ashlar_control::types::ImportablePool;

use super::grid::{Kind, Text, prose, table};

/// All of them, a line each; and how they are imported.
pub fn importable(pools: &[ImportablePool]) -> String {
    if pools.is_empty() {
        return prose(
            "no pool was found that is not open: the block devices that nothing else has open were \
             read. `ashlar pool import --drive DIR` looks in a directory",
        );
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
