//! Whether what is where a drive was is the drive, or an old copy of it beside the newer one. The
//! newest root tells, which is asked for only where several drives carry one label.

use std::io;
use std::path::Path;

use ashlar_drive::Peek;
use ashlar_store::RootGeneration;
use ashlar_store::format::root::{Root, SLOT_BYTES, SLOT_COUNT};
use ashlar_store::format::superblock::Superblock;
use ashlar_volume::path_of as place_of;

use super::FoundPlace;
use super::copies::label;
use super::missed::path_of;

/// Why these drives are not the pool's as it was last: the first of which a newer copy is
/// elsewhere. May hang where a drive does.
pub fn older_copy(drives: &[FoundPlace]) -> Option<String> {
    let mut in_order: Vec<&FoundPlace> = drives.iter().collect();
    in_order.sort_by_key(|found| found.drive);
    in_order.into_iter().find_map(|drive| {
        let own = newest_root(&drive.spec);
        let newer = drive.others.iter().find(|other| newest_root(other) > own)?;
        Some(format!(
            "{} is where drive-{} was, and is an older copy of it than {newer}: take away the one \
             that Ashlar is not to use",
            place_of(&drive.spec),
            drive.drive.0
        ))
    })
}

/// The generation of the newest root on the drive; `None` if there is none, or it cannot be read.
fn newest_root(spec: &str) -> Option<RootGeneration> {
    generation_at(&path_of(spec)?).ok().flatten()
}

fn generation_at(path: &Path) -> io::Result<Option<RootGeneration>> {
    let peek = Peek::open(path)?;
    let Ok(superblock) = label(&peek)? else { return Ok(None) };
    let root = |slot| {
        let slot = peek.read(Superblock::root_offset(slot), SLOT_BYTES).ok()?;
        Root::decode(&slot).ok().filter(|root| root.pool == superblock.pool)
    };
    Ok((0..SLOT_COUNT).filter_map(root).map(|root| root.generation).max())
}
