//! Names of volumes, and the way people write which volume of which pool: `tank/v0`.

use std::fmt;
use std::str::FromStr;

/// Longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// A volume's name within its pool: 1 to 64 letters, digits, `.`, `_` and `-`, the first one a letter or digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VolumeName(String);

/// Why a text is not a name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "'{0}' cannot be a name: use 1 to {NAME_BYTES_MAX} letters, digits, '.', '_' and '-', beginning with a \
     letter or digit"
)]
pub struct InvalidName(String);

impl VolumeName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VolumeName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let valid = letters && begins && text.len() <= NAME_BYTES_MAX;
        if valid {
            Ok(VolumeName(text.to_owned()))
        } else {
            Err(InvalidName(text.escape_default().to_string()))
        }
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests;
