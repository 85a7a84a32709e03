//! Pools whose work has ended the daemon. One that has done so twice within a minute is not opened by itself: the
//! daemon would die of it again and again, and the other pools with it.
//!
//! A panic in a pool's work stops that pool alone. What ends the daemon is a second panic while the values of the
//! first are dropped. The file has a line for each such end: the pool's UUID, and seconds since 1970.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ashlar_block::PoolUuid;

/// Two ends that are no further apart count as one fault that repeats itself.
const APART_SECONDS_MAX: u64 = 60;
/// Ends that the file keeps.
const KEPT_MAX: usize = 64;

/// The file of those ends. Clones are the same file.
#[derive(Clone, Debug)]
pub struct Deaths {
    path: PathBuf,
}

/// One end of the daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Death {
    pool: String,
    unix_seconds: u64,
}

impl Deaths {
    /// Those that the daemon's directory keeps.
    pub fn of(state_dir: &Path) -> Self {
        Deaths { path: state_dir.join("deaths") }
    }

    /// The daemon is about to end by the work of `pool`. Nothing is said of a file that cannot be written: the panic
    /// is.
    pub fn note(&self, pool: PoolUuid) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        let _ = file.and_then(|mut file| file.write_all(line(&pool.to_string(), now).as_bytes()));
    }

    /// The UUIDs of the pools that are not to be opened by themselves.
    pub fn suspects(&self) -> BTreeSet<String> {
        let all = self.read();
        let repeats = |(at, death): (usize, &Death)| all[..at].iter().any(|before| before.is_near(death));
        let all = all.iter().enumerate();
        all.filter(|death| repeats(*death)).map(|(_, death)| death.pool.clone()).collect()
    }

    /// The pool may be opened by itself again: an operator has opened it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget(&self, pool: &str) -> io::Result<()> {
        self.keep(|death| death.pool != pool)
    }

    /// The same of all pools.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn forget_all(&self) -> io::Result<()> {
        self.keep(|_| false)
    }

    fn read(&self) -> Vec<Death> {
        let text = fs::read(&self.path).unwrap_or_default();
        let deaths: Vec<Death> = String::from_utf8_lossy(&text).lines().filter_map(Death::parse).collect();
        let old = deaths.len().saturating_sub(KEPT_MAX);
        deaths[old..].to_vec()
    }

    fn keep(&self, is_kept: impl Fn(&Death) -> bool) -> io::Result<()> {
        let before = self.read();
        let kept: Vec<&Death> = before.iter().filter(|death| is_kept(death)).collect();
        if kept.len() == before.len() {
            return Ok(());
        }
        if kept.is_empty() {
            return fs::remove_file(&self.path);
        }
        let lines: String = kept.iter().map(|death| line(&death.pool, death.unix_seconds)).collect();
        fs::write(&self.path, lines)
    }
}

impl Death {
    /// A line that was cut off, or that is not ours, is none.
    fn parse(line: &str) -> Option<Self> {
        let (pool, seconds) = line.split_once(' ')?;
        Some(Death { pool: pool.to_owned(), unix_seconds: seconds.parse().ok()? })
    }

    fn is_near(&self, other: &Death) -> bool {
        self.pool == other.pool && self.unix_seconds.abs_diff(other.unix_seconds) <= APART_SECONDS_MAX
    }
}

fn line(pool: &str, unix_seconds: u64) -> String {
    format!("{pool} {unix_seconds}\n")
}

#[cfg(test)]
mod tests;
