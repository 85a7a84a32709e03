//! What is worth knowing of a pool although it is no error.

use ashlar_block::{ByteSize, counted_are};
use ashlar_store::Stripes;
use ashlar_store::format::superblock::Superblock;

use super::PoolDrive;
use crate::drive_provider::{DriveFacts, NoMember};
use ashlar_block::place::is_at;

/// What the opening of a pool has found.
pub(super) struct Notes {
    /// How the drives differ in size.
    pub(super) difference: Option<String>,
    /// Drives that were given, and are no members.
    pub(super) others: Vec<NoMember>,
    /// Drives with the pool's label that are no members.
    pub(super) unknown: Vec<NoMember>,
}

impl Notes {
    /// What of it holds still, and what there is to say of the drives that work by now. `all_back`:
    /// the pool was opened without drives, and lacks none any more.
    pub(super) fn now(&self, working: &[&DriveFacts], all_back: bool) -> Vec<String> {
        let is_member =
            |other: &&NoMember| working.iter().any(|drive| is_at(&drive.spec, &other.spec));
        let others = self.others.iter().filter(|_| !all_back).chain(&self.unknown);
        let others = others.filter(|other| !is_member(other)).map(|other| other.why.clone());
        self.difference.iter().cloned().chain(of_drives(working)).chain(others).collect()
    }
}

fn of_drives(working: &[&DriveFacts]) -> Vec<String> {
    let mut notes = Vec::new();
    let sparse = working.iter().filter(|drive| drive.is_sparse).count();
    if sparse > 0 {
        let are = match sparse {
            1 => "1 drive is a sparse file, which takes".to_owned(),
            _ => format!("{sparse} drives are sparse files, which take"),
        };
        notes.push(format!(
            "{are} space from the file system only as it is written: when that is full, writes are refused until there is room again"
        ));
    }
    let indirect = working.iter().filter(|drive| !drive.is_direct).count();
    if indirect > 0 {
        notes.push(format!(
            "{} on a file system without direct I/O: slower, with every byte in memory twice",
            counted_are(indirect, "drive")
        ));
    }
    if working.iter().any(|drive| drive.is_volatile) {
        notes.push(
            "drives in memory are lost when the daemon ends, and the pool with them".to_owned(),
        );
    }
    notes
}

/// How much of the members cannot be used, because others are smaller.
pub(super) fn difference_in_size<D>(
    superblocks: &[Superblock],
    members: &[PoolDrive<D>],
) -> Option<String> {
    let is_member = |it: &&Superblock| members.iter().any(|member| member.uuid == it.drive_uuid);
    let layouts: Vec<&Superblock> = superblocks.iter().filter(is_member).collect();
    let first = layouts.first()?;
    let chunks: Vec<u64> = layouts.iter().map(|it| u64::from(it.layout.chunk_count)).collect();
    let (width, parity) = (first.level().columns_on(chunks.len()), first.level().parity());
    let unusable = unusable_chunks(chunks, width, parity) * u64::from(first.layout.chunk_bytes);
    let difference = || {
        format!(
            "the drives differ in size: {} of the larger ones cannot be used, because every stripe needs {} different drives",
            ByteSize(unusable),
            parity + 1
        )
    };
    (unusable > 0).then(difference)
}

/// Chunks that no stripe can use, whatever the placement. Less than one stripe is always left over,
/// and is no waste worth a word.
fn unusable_chunks(chunks: Vec<u64>, width: usize, parity: usize) -> u64 {
    let unusable = Stripes::new(chunks, width, parity).unusable();
    if unusable < width as u64 { 0 } else { unusable }
}

#[cfg(test)]
mod tests;
