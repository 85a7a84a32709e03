//! How the blocks of a volume are stored: what its operator has chosen.

use std::fmt;
use std::str::FromStr;

use crate::codec::{Malformed, Reader, Writer};

/// How much time zstd takes for how small a block becomes: 1 to 19.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ZstdLevel(u8);

impl ZstdLevel {
    /// The highest level. Those above it want memory that a block has no use for.
    pub const MAX: u8 = 19;
    /// What zstd itself takes if nothing is said.
    pub const DEFAULT: ZstdLevel = ZstdLevel(3);

    /// A level, if there is one of this number.
    pub const fn new(level: u8) -> Option<Self> {
        if 1 <= level && level <= Self::MAX { Some(ZstdLevel(level)) } else { None }
    }

    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// How the blocks of a volume are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Compression {
    /// As they are.
    None,
    /// By LZ4.
    Lz4,
    /// By zstd, when hosts write them.
    Zstd(ZstdLevel),
    /// By LZ4 when hosts write them, and by zstd once they are cold.
    #[default]
    Auto,
}

impl Compression {
    /// Whether blocks are compressed at all.
    pub const fn compresses(self) -> bool {
        !matches!(self, Compression::None)
    }

    /// `code (1)`, and of zstd `level (1)`.
    pub(crate) fn put(self, w: &mut Writer) -> &mut Writer {
        match self {
            Compression::None => w.u8(0),
            Compression::Lz4 => w.u8(1),
            Compression::Zstd(level) => w.u8(2).u8(level.get()),
            Compression::Auto => w.u8(3),
        }
    }

    pub(crate) fn take(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            0 => Compression::None,
            1 => Compression::Lz4,
            2 => Compression::Zstd(ZstdLevel::new(r.u8()?).ok_or(r.malformed())?),
            3 => Compression::Auto,
            _ => return Err(r.malformed()),
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compression::None => f.write_str("none"),
            Compression::Lz4 => f.write_str("lz4"),
            Compression::Zstd(level) => write!(f, "zstd:{}", level.get()),
            Compression::Auto => f.write_str("auto"),
        }
    }
}

/// A text that names no compression.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "'{text}' is no compression: choose none, lz4, zstd, zstd:1 to zstd:{}, or auto",
    ZstdLevel::MAX
)]
pub struct CompressionError {
    text: String,
}

impl FromStr for Compression {
    type Err = CompressionError;

    fn from_str(text: &str) -> Result<Self, CompressionError> {
        let error = || CompressionError { text: text.to_owned() };
        match text {
            "none" => Ok(Compression::None),
            "lz4" => Ok(Compression::Lz4),
            "zstd" => Ok(Compression::Zstd(ZstdLevel::DEFAULT)),
            "auto" => Ok(Compression::Auto),
            _ => {
                let level = text.strip_prefix("zstd:").ok_or_else(error)?;
                let is_number = level.bytes().all(|byte| byte.is_ascii_digit());
                let level = level.parse().ok().filter(|_| is_number).and_then(ZstdLevel::new);
                level.map(Compression::Zstd).ok_or_else(error)
            }
        }
    }
}

#[cfg(test)]
mod tests;
