//! What of a volume is changed as one.

use ashlar_block::IoError;
use ashlar_format::catalog::VolumeEntry;
use ashlar_format::compression::Compression;
use bytes::Bytes;

use super::bounds::{check_attributes, check_size};

/// A change of a volume; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct VolumeUpdate {
    /// Its size, in blocks.
    pub blocks: Option<u64>,
    /// How its blocks are stored from now on.
    pub compression: Option<Compression>,
    /// What is kept with it.
    pub attributes: Option<Bytes>,
}

impl VolumeUpdate {
    pub(super) fn check(&self) -> Result<(), IoError> {
        self.blocks.map_or(Ok(()), check_size)?;
        self.attributes.as_ref().map_or(Ok(()), check_attributes)
    }

    pub(super) fn apply(self, volume: &mut VolumeEntry) {
        volume.blocks = self.blocks.unwrap_or(volume.blocks);
        volume.compression = self.compression.unwrap_or(volume.compression);
        if let Some(attributes) = self.attributes {
            volume.attributes = attributes;
        }
    }
}
