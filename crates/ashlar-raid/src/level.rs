//! A pool's protection: how many drives may be lost, and how wide stripes are.

use std::fmt;
use std::str::FromStr;

use crate::parity::PARITY_MAX;

/// Data columns of the stripes of a level that takes as many as there are drives for: wider stripes
/// save little space and cost more to reconstruct.
const WIDE_DATA_MAX: usize = 8;

/// Data columns that a level may ask for: with [`PARITY_MAX`] parities every pattern of losses is
/// solvable up to here.
pub const DATA_COLUMNS_MAX: usize = 20;

/// A pool's protection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Level {
    /// Data columns of a full stripe, one of which makes the others copies. None: as many as there
    /// are drives for.
    data: Option<u8>,
    parity: u8,
}

/// Why a level does not fit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LevelError {
    /// Not a level.
    #[error(
        "'{0}' is not a level{meant}: choose 0, 1 (two copies), 1x3 (three), 5, 6, 7.3 (one, two and three parities), or \
         N+M for N data and M parity columns, N up to {DATA_COLUMNS_MAX} and M from 1 to {PARITY_MAX}",
        meant = if .0 == "7" { " (is 7.3 meant?)" } else { "" }
    )]
    Unknown(String),
    /// Too few drives.
    #[error(
        "level {level} needs at least {needed} drives, and {given} {} given: add drives or choose another level",
        if *given == 1 { "was" } else { "were" }
    )]
    TooFewDrives {
        /// The level.
        level: Level,
        /// Its minimum.
        needed: usize,
        /// What was given.
        given: usize,
    },
}

impl Level {
    /// No redundancy.
    pub const RAID0: Level = Level { data: None, parity: 0 };
    /// Two copies.
    pub const RAID1: Level = Level { data: Some(1), parity: 1 };
    /// One parity.
    pub const RAID5: Level = Level { data: None, parity: 1 };
    /// Two parities.
    pub const RAID6: Level = Level { data: None, parity: 2 };
    /// Three parities.
    pub const RAID7_3: Level = Level { data: None, parity: 3 };

    /// The level of `data` data columns, 0 for as many as there are drives for, and `parity`
    /// parities.
    pub fn of(data: usize, parity: usize) -> Option<Level> {
        let wide = data == 0 && parity < PARITY_MAX;
        let exact = (1..=DATA_COLUMNS_MAX).contains(&data) && (1..=PARITY_MAX).contains(&parity);
        let level = Level { data: (data > 0).then_some(data as u8), parity: parity as u8 };
        (wide || exact).then_some(level)
    }

    /// Data columns that it asks for; 0 for as many as there are drives for.
    pub const fn exact_data(self) -> usize {
        match self.data {
            Some(data) => data as usize,
            None => 0,
        }
    }

    /// Drives that may be lost without losing data.
    pub const fn parity(self) -> usize {
        self.parity as usize
    }

    /// Fewest drives that make a pool of this level.
    pub const fn drives_min(self) -> usize {
        match self.data {
            Some(data) => data as usize + self.parity(),
            None if self.parity == 0 => 1,
            None => 2 + self.parity(),
        }
    }

    /// Data columns of a full stripe over `drives` drives.
    pub fn data_columns(self, drives: usize) -> Result<usize, LevelError> {
        let needed = self.drives_min();
        if drives < needed {
            return Err(LevelError::TooFewDrives { level: self, needed, given: drives });
        }
        Ok(self.data.map_or((drives - self.parity()).min(WIDE_DATA_MAX), usize::from))
    }

    /// Columns of a full stripe on so many drives, which are fewer than the level needs if some are
    /// missing.
    pub fn columns_on(self, drives: usize) -> usize {
        let data = self.data_columns(drives.max(self.drives_min())).expect("as many as it needs");
        (data + self.parity()).min(drives)
    }

    /// What is to be said to somebody who asks for groups of stripes, as level 50 is elsewhere: the
    /// level that does better than they would, and why.
    pub fn instead_of_groups(asked: &str) -> Option<(Level, String)> {
        let level = match asked {
            "10" => Level::RAID1,
            "50" => Level::RAID5,
            "60" => Level::RAID6,
            "70" => Level::RAID7_3,
            _ => return None,
        };
        let why = format!(
            "level {asked} is level {level} in groups of drives; here each stripe of level {level} \
             chooses its own drives among all of them, so that all share load and rebuild: Ashlar \
             takes level {level}"
        );
        Some((level, why))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (self.data, self.parity) {
            (None, 0) => "0".to_owned(),
            (None, 1) => "5".to_owned(),
            (None, 2) => "6".to_owned(),
            (None, _) => "7.3".to_owned(),
            (Some(1), 1) => "1".to_owned(),
            (Some(1), parity) => format!("1x{}", parity + 1),
            (Some(data), parity) => format!("{data}+{parity}"),
        };
        f.pad(&name)
    }
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, LevelError> {
        let unknown = || LevelError::Unknown(text.to_owned());
        if let Some((level, _)) = Level::instead_of_groups(text) {
            return Ok(level);
        }
        match text {
            "0" => Ok(Level::RAID0),
            "1" => Ok(Level::RAID1),
            "5" => Ok(Level::RAID5),
            "6" => Ok(Level::RAID6),
            "7.3" => Ok(Level::RAID7_3),
            _ => {
                let copies =
                    text.strip_prefix("1x").and_then(|copies| count(copies)?.checked_sub(1));
                let columns = || {
                    text.split_once('+')
                        .and_then(|(data, parity)| Some((count(data)?, count(parity)?)))
                };
                let (data, parity) =
                    copies.map(|parity| (1, parity)).or_else(columns).ok_or_else(unknown)?;
                Level::of(data, parity).filter(|_| data > 0).ok_or_else(unknown)
            }
        }
    }
}

/// A number written in digits alone.
fn count(digits: &str) -> Option<usize> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
