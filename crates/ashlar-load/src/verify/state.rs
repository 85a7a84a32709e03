//! A model in a file, to be taken up again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ashlar_nvme::pdu::crc32c;

use super::model::{Model, Word};
use super::sources::Sources;

const MAGIC: &[u8; 8] = b"ASHLVRF2";

/// Why a model could not be saved or taken up.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not a saved model, or it is damaged.
    #[error(
        "{path} is not an intact saved workload ({why}): delete it and begin with a new volume"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
}

impl Model {
    /// Saves the model: completely, or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), StateError> {
        let failed = |source| StateError::Io { path: path.to_owned(), source };
        let mut bytes = self.to_bytes();
        bytes.extend_from_slice(&crc32c(&bytes).to_le_bytes());
        let new = path.with_extension("new");
        let mut file = File::create(&new).map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&new, path).map_err(failed)
    }

    /// Takes a saved model up.
    ///
    /// # Errors
    /// The file cannot be read, or is not intact.
    pub fn load(path: &Path) -> Result<Self, StateError> {
        let bytes =
            fs::read(path).map_err(|source| StateError::Io { path: path.to_owned(), source })?;
        let damaged = |why| StateError::Damaged { path: path.to_owned(), why };
        let (body, crc) = bytes.split_last_chunk::<4>().ok_or(damaged("it is too short"))?;
        if crc32c(body) != u32::from_le_bytes(*crc) {
            return Err(damaged("its checksum is wrong"));
        }
        Self::of_bytes(body).ok_or(damaged("its content makes no sense"))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let mut put = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
        put(self.seed);
        put(self.last_version.into());
        put(self.sources.as_bytes().len() as u64);
        put(self.words.len() as u64);
        put(self.open.len() as u64);
        bytes.extend_from_slice(self.sources.as_bytes());
        self.words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        for (block, words) in &self.open {
            bytes.extend_from_slice(&block.to_le_bytes());
            bytes.extend_from_slice(&(words.len() as u32).to_le_bytes());
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes.strip_prefix(MAGIC)?);
        let (seed, last_version) = (input.u64()?, Word::try_from(input.u64()?).ok()?);
        let (source_bytes, blocks, open_blocks) = (input.u64()?, input.u64()?, input.u64()?);
        let sources = Sources::of_bytes(input.take(source_bytes)?.to_vec())?;
        let words = input.words(blocks)?;
        let mut open = std::collections::BTreeMap::new();
        for _ in 0..open_blocks {
            let (block, count) = (input.u64().filter(|block| *block < blocks)?, input.u32()?);
            open.insert(block, input.words(count.into())?);
        }
        input.0.is_empty().then_some(Model { seed, sources, words, open, last_version })
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn words(&mut self, count: u64) -> Option<Vec<Word>> {
        let bytes = self.take(count.checked_mul(4)?)?;
        let words =
            bytes.chunks_exact(4).map(|raw| u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]));
        Some(words.collect())
    }
}
