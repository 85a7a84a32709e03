//! A volume whose blocks are told apart by their versions: what may be read of each, however many
//! write it and whatever ends them.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, IoError, Lba, VolumeId};
use bytes::Bytes;

use crate::good::noisy_block;
use crate::start::Pool;

/// What hosts know of a block: the version that was acknowledged last, and the one that was begun
/// last. The first one is 1; what was never written is zeros.
#[derive(Clone, Copy, Default)]
struct Known {
    acknowledged: u64,
    begun: u64,
}

/// What all hosts together know of all blocks. Clones are the same.
#[derive(Clone)]
pub struct Versions(Rc<RefCell<Vec<Known>>>);

impl Versions {
    /// Nothing was written yet.
    pub fn of(blocks: u64) -> Self {
        Versions(Rc::new(RefCell::new(vec![Known::default(); blocks as usize])))
    }

    fn known(&self, block: u64) -> Known {
        self.0.borrow()[block as usize]
    }

    /// Writes the next version of a block.
    pub async fn write(&self, pool: &Pool, volume: VolumeId, block: u64) -> Result<(), IoError> {
        let version = self.known(block).begun + 1;
        self.0.borrow_mut()[block as usize].begun = version;
        pool.write(volume, Lba(block), content(block, version)).await?;
        let known = &mut self.0.borrow_mut()[block as usize];
        known.acknowledged = known.acknowledged.max(version);
        Ok(())
    }

    /// Reads a block, which is what was acknowledged last or something that was begun since.
    pub async fn read(&self, pool: &Pool, volume: VolumeId, block: u64) -> Result<(), IoError> {
        let before = self.known(block).acknowledged;
        let read = pool.read(volume, Lba(block), 1).await?;
        let is_it = |version| match version {
            0 => read.iter().all(|byte| *byte == 0),
            _ => read[..] == content(block, version)[..],
        };
        let mut possible = before..=self.known(block).begun;
        assert!(possible.any(is_it), "block {block} is not as it was written");
        Ok(())
    }
}

fn content(block: u64, version: u64) -> Bytes {
    noisy_block((block << 32) | version, BLOCK_BYTES)
}
