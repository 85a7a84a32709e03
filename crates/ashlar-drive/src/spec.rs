//! How people name a drive: `/dev/nvme1n1`, `file:/d/0.img,size=4GiB`, `mem:4GiB`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ashlar_block::place::{escaped, split_options, unescaped};
use ashlar_block::{ByteSize, SECTOR_BYTES};

use crate::model::ModelName;

/// Smallest drive that is worth its labels, in bytes.
pub const DRIVE_BYTES_MIN: u64 = 16 << 20;

/// Which drive, and what to make if it is not there yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriveSpec {
    /// A block device or a partition of one, by its absolute path.
    Block {
        /// The device node.
        path: PathBuf,
    },
    /// A file that serves as a drive.
    File {
        /// The file.
        path: PathBuf,
        /// The size to make it with; without it, the file exists.
        size: Option<ByteSize>,
        /// Takes space in the file system only as it is written. For demonstrations: when the file
        /// system fills up, the pool's writes stop.
        sparse: bool,
        /// The class of drives that it takes as long as.
        model: Option<ModelName>,
    },
    /// Memory, lost with the process: for tests and benchmarks.
    Memory {
        /// Its size.
        size: ByteSize,
        /// Takes all of it at once, not as it is written: the kernel clears memory that is touched
        /// for the first time, which a benchmark must not count.
        touched: bool,
        /// The class of drives that it takes as long as.
        model: Option<ModelName>,
    },
    /// Takes every write, reads as zeros: for measuring what is above it.
    Null {
        /// The size it claims.
        size: ByteSize,
    },
}

/// Why a text does not name a drive.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseDriveSpecError {
    /// Neither a path nor one of the known kinds.
    #[error(
        "'{0}' is not a drive: write the path of a block device (/dev/nvme1n1), a file with its size \
         (file:/d/0.img,size=4GiB), or memory (mem:4GiB)"
    )]
    UnknownKind(String),
    /// No path after `file:`.
    #[error("'{0}' names no file: write file:PATH, as in file:/d/0.img,size=4GiB")]
    NoPath(String),
    /// An option that the kind does not have.
    #[error("'{text}': there is no option '{option}'; {known}")]
    UnknownOption {
        /// The whole text.
        text: String,
        /// The part in question.
        option: String,
        /// What there is.
        known: &'static str,
    },
    /// An option twice.
    #[error("'{text}': the option '{option}' is given twice")]
    Twice {
        /// The whole text.
        text: String,
        /// The option's name.
        option: &'static str,
    },
    /// Neither on nor off.
    #[error("'{text}': '{value}' is neither on nor off")]
    NotOnOrOff {
        /// The whole text.
        text: String,
        /// What was given.
        value: String,
    },
    /// Neither a class of drives nor a file.
    #[error(
        "'{text}': there is no drive model '{value}': it is one of {}, or the path of a profile (FILE.toml)",
        ModelName::classes()
    )]
    UnknownModel {
        /// The whole text.
        text: String,
        /// What was given.
        value: String,
    },
    /// A kind that needs a size has none.
    #[error("'{0}' has no size: write one, as in mem:4GiB")]
    NoSize(String),
    /// Not a size at all.
    #[error("'{text}'")]
    Size {
        /// The whole text.
        text: String,
        /// What is wrong with the size.
        source: ashlar_block::ParseByteSizeError,
    },
    /// Not a whole number of sectors.
    #[error(
        "'{text}': a drive's size is a multiple of {SECTOR_BYTES} bytes, and {bytes} is not; {nearest} would be"
    )]
    Unaligned {
        /// The whole text.
        text: String,
        /// What was given.
        bytes: u64,
        /// The next smaller size that is right.
        nearest: u64,
    },
    /// Too small to be useful.
    #[error(
        "'{text}': {size} is too small for a drive: it needs at least {}",
        ByteSize(DRIVE_BYTES_MIN)
    )]
    TooSmall {
        /// The whole text.
        text: String,
        /// What was given.
        size: ByteSize,
    },
}

const FILE_OPTIONS: &str = "a file has size=SIZE, sparse=on|off and model=MODEL, and a comma within its path is written \\,";
const MEMORY_OPTIONS: &str = "memory has a size, touched=on|off and model=MODEL";
const SIZE_OPTION: &str = "it has size=SIZE alone";

impl DriveSpec {
    /// A file that exists.
    pub fn existing_file(path: PathBuf) -> Self {
        DriveSpec::File { path, size: None, sparse: false, model: None }
    }

    /// Where the drive is; `None`: it is no place on this machine.
    pub fn path(&self) -> Option<&Path> {
        match self {
            DriveSpec::Block { path } | DriveSpec::File { path, .. } => Some(path),
            DriveSpec::Memory { .. } | DriveSpec::Null { .. } => None,
        }
    }

    /// The class of drives that it takes as long as.
    pub fn model(&self) -> Option<&ModelName> {
        match self {
            DriveSpec::File { model, .. } | DriveSpec::Memory { model, .. } => model.as_ref(),
            DriveSpec::Block { .. } | DriveSpec::Null { .. } => None,
        }
    }
}

impl FromStr for DriveSpec {
    type Err = ParseDriveSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with('/') {
            return Ok(DriveSpec::Block { path: unescaped(text).into() });
        }
        match text.split_once(':') {
            Some(("file", rest)) => parse_file(text, rest),
            Some(("mem", rest)) => parse_memory(text, rest),
            Some(("null", rest)) => Ok(DriveSpec::Null { size: parse_only_size(text, rest)? }),
            _ => Err(ParseDriveSpecError::UnknownKind(text.to_owned())),
        }
    }
}

fn parse_file(text: &str, rest: &str) -> Result<DriveSpec, ParseDriveSpecError> {
    let (place, options) = split_options(rest);
    if place.is_empty() {
        return Err(ParseDriveSpecError::NoPath(text.to_owned()));
    }
    let path = unescaped(place);
    let (mut size, mut sparse, mut model) = (None, None, None);
    for part in options.iter().flat_map(|options| options.split(',')) {
        match part.split_once('=') {
            Some(("size", value)) => set(&mut size, parse_size(text, value)?, text, "size")?,
            Some(("sparse", value)) => {
                set(&mut sparse, parse_switch(text, value)?, text, "sparse")?
            }
            Some(("model", value)) => set(&mut model, parse_model(text, value)?, text, "model")?,
            _ => return Err(unknown_option(text, part, FILE_OPTIONS)),
        }
    }
    Ok(DriveSpec::File { path: path.into(), size, sparse: sparse.unwrap_or(false), model })
}

fn parse_memory(text: &str, rest: &str) -> Result<DriveSpec, ParseDriveSpecError> {
    let mut parts = rest.split(',');
    let size = parts.next().unwrap_or_default();
    let (mut touched, mut model) = (None, None);
    for part in parts {
        match part.split_once('=') {
            Some(("touched", value)) => {
                set(&mut touched, parse_switch(text, value)?, text, "touched")?
            }
            Some(("model", value)) => set(&mut model, parse_model(text, value)?, text, "model")?,
            _ => return Err(unknown_option(text, part, MEMORY_OPTIONS)),
        }
    }
    let size = parse_only_size(text, size)?;
    Ok(DriveSpec::Memory { size, touched: touched.unwrap_or(false), model })
}

fn parse_only_size(text: &str, rest: &str) -> Result<ByteSize, ParseDriveSpecError> {
    match rest.split_once('=') {
        _ if rest.is_empty() => Err(ParseDriveSpecError::NoSize(text.to_owned())),
        None => parse_size(text, rest),
        Some(("size", value)) => parse_size(text, value),
        Some(_) => Err(unknown_option(text, rest, SIZE_OPTION)),
    }
}

fn parse_size(text: &str, value: &str) -> Result<ByteSize, ParseDriveSpecError> {
    let text = text.to_owned();
    let size: ByteSize = match value.parse() {
        Ok(size) => size,
        Err(source) => return Err(ParseDriveSpecError::Size { text, source }),
    };
    let nearest = size.0 / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
    if size.0 < DRIVE_BYTES_MIN {
        return Err(ParseDriveSpecError::TooSmall { text, size });
    }
    if nearest != size.0 {
        return Err(ParseDriveSpecError::Unaligned { text, bytes: size.0, nearest });
    }
    Ok(size)
}

fn parse_switch(text: &str, value: &str) -> Result<bool, ParseDriveSpecError> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => {
            Err(ParseDriveSpecError::NotOnOrOff { text: text.to_owned(), value: value.to_owned() })
        }
    }
}

fn parse_model(text: &str, value: &str) -> Result<ModelName, ParseDriveSpecError> {
    let unknown =
        || ParseDriveSpecError::UnknownModel { text: text.to_owned(), value: value.to_owned() };
    ModelName::parse(value).ok_or_else(unknown)
}

fn set<T>(
    place: &mut Option<T>,
    value: T,
    text: &str,
    option: &'static str,
) -> Result<(), ParseDriveSpecError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(ParseDriveSpecError::Twice { text: text.to_owned(), option }),
    }
}

fn unknown_option(text: &str, option: &str, known: &'static str) -> ParseDriveSpecError {
    ParseDriveSpecError::UnknownOption { text: text.to_owned(), option: option.to_owned(), known }
}

impl fmt::Display for DriveSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriveSpec::Block { path } => f.write_str(&escaped(&path.to_string_lossy())),
            DriveSpec::File { path, size, sparse, model } => {
                write!(f, "file:{}", escaped(&path.to_string_lossy()))?;
                size.map_or(Ok(()), |size| write!(f, ",size={}", exact(size)))?;
                if *sparse {
                    f.write_str(",sparse=on")?;
                }
                write_model(f, model.as_ref())
            }
            DriveSpec::Memory { size, touched, model } => {
                write!(f, "mem:{}", exact(*size))?;
                if *touched {
                    f.write_str(",touched=on")?;
                }
                write_model(f, model.as_ref())
            }
            DriveSpec::Null { size } => write!(f, "null:{}", exact(*size)),
        }
    }
}

fn write_model(f: &mut fmt::Formatter<'_>, model: Option<&ModelName>) -> fmt::Result {
    model.map_or(Ok(()), |model| write!(f, ",model={model}"))
}

/// The size as it can be read back without loss: rounded prints are for people.
fn exact(size: ByteSize) -> String {
    let text = size.to_string();
    if text.parse() == Ok(size) { text } else { size.0.to_string() }
}

#[cfg(test)]
mod tests;
