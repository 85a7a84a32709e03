//! What a modelled drive can do: the named classes, and files with others.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The classes that have a name, with their profiles.
const NAMED: [(&str, &str); 4] = [
    ("nvme-gen4", include_str!("../../profiles/nvme-gen4.toml")),
    ("csd-like", include_str!("../../profiles/csd-like.toml")),
    ("sata-ssd", include_str!("../../profiles/sata-ssd.toml")),
    ("nlsas-hdd", include_str!("../../profiles/nlsas-hdd.toml")),
];

/// Which profile: one of the named classes, or a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelName {
    /// One of the named classes.
    Class(&'static str),
    /// A TOML file.
    File(PathBuf),
}

impl ModelName {
    /// What people write: the name of a class, or the path of a file that ends with `.toml`.
    pub fn parse(text: &str) -> Option<Self> {
        let class =
            NAMED.iter().find(|(name, _)| *name == text).map(|(name, _)| ModelName::Class(name));
        class.or_else(|| text.ends_with(".toml").then(|| ModelName::File(text.into())))
    }

    /// The names of the classes, for messages.
    pub fn classes() -> String {
        NAMED.map(|(name, _)| name).join(", ")
    }

    /// Reads the profile. May block.
    ///
    /// # Errors
    /// [`ProfileError`].
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        match self {
            ModelName::Class(class) => {
                let (_, text) =
                    NAMED.iter().find(|(name, _)| name == class).expect("made of a class");
                Ok(toml::from_str(text).expect("a test reads each of them"))
            }
            ModelName::File(path) => Profile::read(path),
        }
    }
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ModelName::Class(class) => f.write_str(class),
            ModelName::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("the drive model {}: it cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// As the operating system says it.
        source: std::io::Error,
    },
    /// It is no profile.
    #[error("the drive model {} is no profile of a drive", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong there.
        source: Box<toml::de::Error>,
    },
    /// A drive that could do nothing.
    #[error("the drive model {}: {what} must be more than zero", path.display())]
    Zero {
        /// The file.
        path: PathBuf,
        /// The field in question.
        what: &'static str,
    },
}

/// Service times, bandwidth and limits of a class of drives. Times in microseconds, bandwidth in
/// 10^6 bytes per second.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Profile {
    /// Whether it spins.
    pub rotational: bool,
    /// Reads that its media do at a time: flash dies and planes; one for a drive with one arm.
    pub parallel: u32,
    /// What the media take for a read, beside the bytes' way.
    pub read_us: u64,
    /// Until a write is acknowledged, beside the bytes' way, as long as the cache has room.
    pub write_us: u64,
    /// What a flush takes.
    pub flush_us: u64,
    /// All reads together.
    pub read_mb_per_s: u64,
    /// All writes together, once the cache is full.
    pub write_mb_per_s: u64,
    /// What it acknowledges before it is on the media, and keeps when the power fails.
    pub write_cache_mib: u64,
    /// How many times as long the media are busy with a write that does not go on where one of the
    /// last ended: what the drive moves for its own garbage collection.
    pub random_write_cost: f64,
    /// The longest way of the arm; a short one takes less, by the root of the distance.
    #[serde(default)]
    pub seek_us: u64,
    /// One turn, of which half is waited for after each seek.
    #[serde(default)]
    pub rotation_us: u64,
}

impl Profile {
    fn read(path: &Path) -> Result<Self, ProfileError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ProfileError::Unreadable { path: path.to_owned(), source })?;
        let profile: Profile = toml::from_str(&text).map_err(|source| ProfileError::Malformed {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        match profile.what_is_zero() {
            Some(what) => Err(ProfileError::Zero { path: path.to_owned(), what }),
            None => Ok(profile),
        }
    }

    fn what_is_zero(&self) -> Option<&'static str> {
        let is_some = |value: f64| value > 0.0 && value.is_finite();
        match self {
            Profile { parallel: 0, .. } => Some("parallel"),
            Profile { read_mb_per_s: 0, .. } => Some("read-mb-per-s"),
            Profile { write_mb_per_s: 0, .. } => Some("write-mb-per-s"),
            Profile { random_write_cost, .. } if !is_some(*random_write_cost) => {
                Some("random-write-cost")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
