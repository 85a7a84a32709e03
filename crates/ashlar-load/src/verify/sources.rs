//! Blocks of real files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ashlar_block::XorShift;

use super::model::BLOCK_BYTES;

/// Why there is nothing to write.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// No file has as much as one block that can be read.
    #[error("none of the {files} files given has a readable block of {BLOCK_BYTES} bytes: name larger ones{}",
        .last.as_ref().map(|(path, error)| format!(" (the last failure: {}: {error})", path.display()))
            .unwrap_or_default())]
    Empty {
        /// Files that were tried.
        files: usize,
        /// The last one that could not be read, and why.
        last: Option<(PathBuf, io::Error)>,
    },
}

/// Blocks to write, sampled from files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sources {
    blocks: Vec<u8>,
}

impl Sources {
    /// Takes up to `blocks_max` blocks from random places of `files`, the same ones for the same
    /// seed. Files that are too small or cannot be read are passed over.
    ///
    /// # Errors
    /// No file has a block.
    pub fn sample(files: &[PathBuf], blocks_max: usize, seed: u64) -> Result<Self, SourcesError> {
        let mut random = XorShift::new(seed);
        let mut last = None;
        let per_file = blocks_max.div_ceil(files.len().max(1));
        let mut blocks = Vec::with_capacity(blocks_max * BLOCK_BYTES);
        for path in files {
            let room = blocks_max - blocks.len() / BLOCK_BYTES;
            if let Err(error) = sample_file(path, per_file.min(room), &mut random, &mut blocks) {
                last = Some((path.clone(), error));
            }
        }
        if blocks.is_empty() {
            Err(SourcesError::Empty { files: files.len(), last })
        } else {
            Ok(Sources { blocks })
        }
    }

    /// Blocks that were taken before.
    pub(super) fn of_bytes(blocks: Vec<u8>) -> Option<Self> {
        (!blocks.is_empty() && blocks.len().is_multiple_of(BLOCK_BYTES))
            .then_some(Sources { blocks })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.blocks
    }

    /// Blocks there are; at least one.
    pub fn count(&self) -> usize {
        self.blocks.len() / BLOCK_BYTES
    }

    /// Block `index`, counted round.
    pub(super) fn block(&self, index: u64) -> &[u8] {
        let start = (index % self.count() as u64) as usize * BLOCK_BYTES;
        &self.blocks[start..start + BLOCK_BYTES]
    }
}

fn sample_file(
    path: &Path,
    count: usize,
    random: &mut XorShift,
    blocks: &mut Vec<u8>,
) -> io::Result<()> {
    let file = File::open(path)?;
    let block_count = file.metadata()?.len() / BLOCK_BYTES as u64;
    for _ in 0..count.min(usize::try_from(block_count).unwrap_or(usize::MAX)) {
        let start = blocks.len();
        blocks.resize(start + BLOCK_BYTES, 0);
        let place = random.below(block_count) * BLOCK_BYTES as u64;
        file.read_exact_at(&mut blocks[start..], place).inspect_err(|_| blocks.truncate(start))?;
    }
    Ok(())
}
