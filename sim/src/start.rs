//! Opening the pool, as a daemon does at its start.

use ashlar_block::{AlignedBuf, Device, SECTOR_BYTES};
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{FoundDrive, OpenError, OpenPolicy, Opened, Options, Store};

use crate::drive::SimDrive;
use crate::plan::Plan;
use crate::world::SimWorld;

pub type Pool = Store<SimWorld>;

/// Tries to read a superblock before a drive counts as none of the pool's.
const SUPERBLOCK_TRIES: usize = 3;

/// Opens the pool that the drives belong to.
pub async fn open(
    world: &SimWorld,
    drives: Vec<SimDrive>,
    plan: &Plan,
) -> Result<(Pool, Opened), OpenError> {
    let mut found = Vec::new();
    for device in drives {
        let superblock =
            if plan.grows { newest_superblock(&device).await } else { superblock(&device).await };
        found.extend(superblock.map(|superblock| FoundDrive { superblock, device }));
    }
    Store::open(world, found, plan.options(), OpenPolicy::Degraded).await
}

/// Opens the pool with these options.
pub async fn open_with(
    world: &SimWorld,
    drives: Vec<SimDrive>,
    options: Options,
) -> Result<(Pool, Opened), OpenError> {
    let mut found = Vec::new();
    for device in drives {
        found.extend(superblock(&device).await.map(|superblock| FoundDrive { superblock, device }));
    }
    Store::open(world, found, options, OpenPolicy::Degraded).await
}

/// Whether faults of this plan may keep a pool from being opened, for a while: nothing is lost.
/// `spared`: nothing goes wrong any more.
pub fn may_be_refused(error: &OpenError, plan: &Plan, spared: bool) -> bool {
    match error {
        // The next start finds room.
        OpenError::FileSystemFull => plan.sparse && !spared,
        // Drives kept it waiting in the middle of a heartbeat, and it has written no root yet by
        // which it could tell.
        OpenError::Unsure => plan.has_stalls(),
        // A drive that hangs takes no heartbeat; where another one is away, too few are left to
        // tell that no other machine has the pool. The next start finds it awake.
        OpenError::Unclaimed { .. } => plan.hangs && !spared,
        _ => false,
    }
}

/// The superblock of a drive that has never grown: all copies say the same.
pub async fn superblock(device: &SimDrive) -> Option<Superblock> {
    match copy_at(device, Superblock::FIRST_OFFSET).await {
        Some(first) => Some(first),
        None => newest_superblock(device).await,
    }
}

/// The drive's superblock: the newer one of its outer copies, of which one is enough.
async fn newest_superblock(device: &SimDrive) -> Option<Superblock> {
    let first = copy_at(device, Superblock::FIRST_OFFSET).await;
    let inside = copy_at(device, Superblock::INSIDE_OFFSET).await;
    let mut second = None;
    for offset in Superblock::second_offsets(first.as_ref(), inside.as_ref(), device.size_bytes()) {
        if second.is_none() {
            second = copy_at(device, offset).await;
        }
    }
    first.into_iter().chain(second).max_by_key(|superblock| superblock.generation)
}

async fn copy_at(device: &SimDrive, offset: u64) -> Option<Superblock> {
    for _ in 0..SUPERBLOCK_TRIES {
        let (read, buf) = device.read(offset, AlignedBuf::stale(SECTOR_BYTES)).await;
        if let (Ok(()), Ok(superblock)) = (read, Superblock::decode(&buf)) {
            return Some(superblock);
        }
    }
    None
}
