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
pub async fn open(world: &SimWorld, drives: Vec<SimDrive>, plan: &Plan) -> Result<(Pool, Opened), OpenError> {
    open_with(world, drives, plan.options()).await
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

/// The drive's superblock, if one of its copies can be read.
pub async fn superblock(device: &SimDrive) -> Option<Superblock> {
    for offset in [Superblock::FIRST_OFFSET, Superblock::second_offset(device.size_bytes())] {
        for _ in 0..SUPERBLOCK_TRIES {
            let (read, buf) = device.read(offset, AlignedBuf::stale(SECTOR_BYTES)).await;
            if let (Ok(()), Ok(superblock)) = (read, Superblock::decode(&buf)) {
                return Some(superblock);
            }
        }
    }
    None
}
