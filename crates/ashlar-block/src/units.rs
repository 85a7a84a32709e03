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
            Some((unit, shift)) if self.0.trailing_zeros() >= *shift => format!("{}{unit}", self.0 >> shift),
            Some((unit, shift)) => format!("{:.2}{unit}", self.0 as f64 / (1u64 << shift) as f64),
        };
        f.pad(&text)
    }
}

/// Why a text is not a size.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is not a size: write a number and a unit, as in 512KiB, 20GiB or 1.5TiB")]
pub struct ParseByteSizeError(String);

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseByteSizeError(text.to_owned());
        let trimmed = text.trim();
        let digits_end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits_end);
        let shift = unit_shift(unit.trim()).ok_or_else(error)?;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(ByteSize).ok_or_else(error);
        }
        let fraction: f64 = number.parse().map_err(|_| error())?;
        let bytes = fraction * (1u64 << shift) as f64;
        if shift == 0 || !bytes.is_finite() || bytes >= u64::MAX as f64 {
            return Err(error());
        }
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
