//! What the blocks of a volume may read as.
//!
//! A block has a version that was acknowledged last, and perhaps some that were on their way when something went
//! wrong: until it is read again it may hold any of those, and from then on only the one that was read.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{BLOCK_BYTES, XorShift};

/// What was written to a block: 0 is zeros, others make content.
pub type Version = u64;

/// What a block may hold.
#[derive(Clone, Debug, Default)]
struct Block {
    acknowledged: Version,
    on_their_way: BTreeSet<Version>,
}

/// A write of several blocks that is all there or not at all.
#[derive(Clone, Debug)]
struct Atomic {
    blocks: Vec<u64>,
    version: Version,
}

/// One volume, as it may be.
#[derive(Clone, Debug, Default)]
pub struct Model {
    blocks: BTreeMap<u64, Block>,
    busy: BTreeSet<u64>,
    /// Atomic writes that were on their way when the power was cut.
    undecided: Vec<Atomic>,
    in_flight: BTreeMap<Version, Atomic>,
}

impl Model {
    /// A write (or, with version 0, a trim) of `blocks` begins. False if one of them is being written already.
    pub fn begin(&mut self, blocks: &[u64], version: Version, atomic: bool) -> bool {
        if blocks.iter().any(|block| self.busy.contains(block)) {
            return false;
        }
        for block in blocks {
            self.busy.insert(*block);
            self.blocks.entry(*block).or_default().on_their_way.insert(version);
        }
        if atomic && version != 0 {
            self.in_flight.insert(version, Atomic { blocks: blocks.to_vec(), version });
        }
        true
    }

    /// It has been acknowledged.
    pub fn acknowledge(&mut self, blocks: &[u64], version: Version) {
        self.in_flight.remove(&version);
        for block in blocks {
            self.busy.remove(block);
            *self.blocks.entry(*block).or_default() =
                Block { acknowledged: version, on_their_way: BTreeSet::new() };
        }
    }

    /// It has failed: it may have been done or not.
    pub fn failed(&mut self, blocks: &[u64], version: Version) {
        self.in_flight.remove(&version);
        for block in blocks {
            self.busy.remove(block);
        }
    }

    /// The power has been cut.
    pub fn cut(&mut self) {
        self.busy.clear();
        self.undecided = std::mem::take(&mut self.in_flight).into_values().collect();
    }

    /// Whether a block may hold `version`.
    pub fn allows(&self, block: u64, version: Version) -> bool {
        match self.blocks.get(&block) {
            None => version == 0,
            Some(block) => block.acknowledged == version || block.on_their_way.contains(&version),
        }
    }

    /// What a block may hold.
    pub fn versions(&self, block: u64) -> Vec<Version> {
        let Some(block) = self.blocks.get(&block) else { return vec![0] };
        block.on_their_way.iter().copied().chain([block.acknowledged]).collect()
    }

    /// A block was read while nothing was on its way to it: it holds that from now on.
    pub fn decide(&mut self, block: u64, version: Version) {
        if !self.busy.contains(&block) {
            *self.blocks.entry(block).or_default() =
                Block { acknowledged: version, on_their_way: BTreeSet::new() };
        }
    }

    /// After a restart every block has been read into `found`: atomic writes must be there whole or not at all.
    pub fn check_atomic(&mut self, found: &BTreeMap<u64, Version>) -> Result<(), String> {
        for write in std::mem::take(&mut self.undecided) {
            let there = write.blocks.iter().filter(|block| found.get(block) == Some(&write.version)).count();
            if there != 0 && there != write.blocks.len() {
                return Err(format!(
                    "a write of {} blocks is there with {there} of them",
                    write.blocks.len()
                ));
            }
        }
        Ok(())
    }

    /// Blocks that may hold something.
    pub fn known_blocks(&self) -> Vec<u64> {
        self.blocks.keys().copied().collect()
    }
}

/// The content of a version of a block. How well it compresses depends on the version.
pub fn content(block: u64, version: Version) -> Vec<u8> {
    if version == 0 {
        return vec![0; BLOCK_BYTES];
    }
    let mut rng = XorShift::new(version.wrapping_mul(0x1_0001).wrapping_add(block));
    let noisy = match rng.below(4) {
        0 => BLOCK_BYTES,
        1 => BLOCK_BYTES - 300,
        _ => rng.below(BLOCK_BYTES as u64) as usize,
    };
    let mut bytes = vec![0x5a; BLOCK_BYTES];
    bytes[..16].copy_from_slice(&[block.to_le_bytes(), version.to_le_bytes()].concat());
    bytes[16..noisy.max(16)].chunks_mut(8).for_each(|chunk| {
        let noise = rng.next_u64().to_le_bytes();
        chunk.copy_from_slice(&noise[..chunk.len()]);
    });
    bytes
}

/// The version that these bytes are of, if they are the right bytes of one.
pub fn version_of(block: u64, bytes: &[u8]) -> Option<Version> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Some(0);
    }
    let version = Version::from_le_bytes(bytes[8..16].try_into().expect("8 bytes"));
    (version != 0 && bytes == content(block, version)).then_some(version)
}
