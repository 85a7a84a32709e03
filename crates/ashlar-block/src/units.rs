//! Sizes as people write and read them: `10GiB`.

use std::fmt;
use std::str::FromStr;

/// A number of bytes that reads and prints as `4096`, `512KiB`, `10GiB`, `1.5TiB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u32); 6] =
    [("EiB", 60), ("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match UNITS.iter().find(|(_, shift)| self.0 >= 1 << shift) {
            None => format!("{}B", self.0),
            Some((unit, shift)) if self.0.trailing_zeros() >= *shift => {
                format!("{}{unit}", self.0 >> shift)
            }
            Some((unit, shift)) => format!("{:.2}{unit}", self.0 as f64 / (1u64 << shift) as f64),
        };
        f.pad(&text)
    }
}

/// Why a text is not a size.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseByteSizeError {
    /// There is no number, or more than that and a unit.
    #[error("'{0}' is not a size: write a number and a unit, as in 512KiB, 20GiB or 1.5TiB")]
    NotASize(String),
    /// A unit of powers of ten, or none that is known.
    #[error(
        "'{text}' has the unit '{unit}', which sizes do not have: use KiB, MiB, GiB, TiB, PiB or EiB, powers of 1024"
    )]
    Unit {
        /// What was written.
        text: String,
        /// What stands where the unit should.
        unit: String,
    },
    /// More bytes than 64 bits count.
    #[error("'{0}' is too large: sizes are below 16EiB")]
    TooLarge(String),
    /// A part of a byte.
    #[error("'{0}' is no whole number of bytes: add a unit, as in 1.5GiB")]
    PartOfAByte(String),
}

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let digits_end =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits_end);
        let (unit, text) = (unit.trim(), text.escape_default().to_string());
        if number.parse::<f64>().is_err() {
            return Err(ParseByteSizeError::NotASize(text));
        }
        let Some(shift) = unit_shift(unit) else {
            let unit = unit.escape_default().to_string();
            return Err(ParseByteSizeError::Unit { text, unit });
        };
        if number.contains('.') {
            return fraction(number, shift, text);
        }
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        bytes.map(ByteSize).ok_or(ParseByteSizeError::TooLarge(text))
    }
}

/// A number with a point, of a unit of `1 << shift` bytes.
fn fraction(number: &str, shift: u32, text: String) -> Result<ByteSize, ParseByteSizeError> {
    let bytes = number.parse().map_or(f64::INFINITY, |number: f64| number * (1u64 << shift) as f64);
    if shift == 0 {
        Err(ParseByteSizeError::PartOfAByte(text))
    } else if bytes >= u64::MAX as f64 {
        Err(ParseByteSizeError::TooLarge(text))
    } else {
        Ok(ByteSize(bytes as u64))
    }
}

/// Binary units only, with or without the `iB`: a storage size that means two things is a trap.
fn unit_shift(unit: &str) -> Option<u32> {
    let lower = unit.to_ascii_lowercase();
    if matches!(lower.as_str(), "" | "b") {
        return Some(0);
    }
    UNITS
        .iter()
        .find(|(name, _)| {
            let name = name.to_ascii_lowercase();
            lower == name || lower == name[..1]
        })
        .map(|(_, shift)| *shift)
}

#[cfg(test)]
mod tests;
