//! Pools whose work has ended the daemon. One that has done so twice within a minute is not opened
//! by itself: the daemon would die of it again and again, and the other pools with it.
//!
//! A panic in a pool's work stops that pool alone. What ends the daemon is a second panic while the
//! values of the first are dropped. The file has a line for each such end: the pool's UUID, when
//! the work began and when it ended, in seconds since 1970 (once, where both are the same).
//!
//! Other ends come without a word: the stack overflows, or the kernel's out-of-memory killer
//! chooses the daemon. Those are noted by the next start, of pools that were just being opened: a
//! file for each, `opening-UUID`, says so meanwhile, since when and in which boot of the machine.
//! An end of the machine itself is nobody's fault. Once a pool is open an end without a word says
//! nothing of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ashlar_block::PoolUuid;
use ashlar_control::Warning;

use super::state::way_out;

/// Of two ends, the second of work that began no later than this after the first, both count as one
/// fault that repeats itself: an opening may take long before it ends the daemon again.
const APART_SECONDS_MAX: u64 = 60;
/// What the names of files begin with that are there while pools are being opened.
const OPENING: &str = "opening-";
/// Ends that the file keeps.
const KEPT_MAX: usize = 64;

/// The file of those ends. Clones are the same file.
#[derive(Clone, Debug)]
pub struct Deaths {
    path: PathBuf,
    /// Held while the file is written, which may hang: nobody who only asks waits for that.
    writing: Arc<Mutex<()>>,
    unwritten: Arc<Mutex<Unwritten>>,
}

/// How long a pool that is being opened waits for its mark.
const MARK_WAIT: Duration = Duration::from_secs(1);

/// What the file should say and does not.
#[derive(Debug, Default)]
struct Unwritten {
    /// Why it could not be read or written when that was tried last.
    failure: Option<io::Error>,
    /// Nothing of what it says is to stay.
    all: bool,
    /// The names of pools that are to be forgotten, by their UUIDs.
    pools: BTreeMap<String, String>,
}

/// A file that is there while a pool is being opened.
#[derive(Clone, Debug)]
pub struct OpeningMark {
    path: PathBuf,
    is_wanted: Arc<AtomicBool>,
    writing: Arc<Mutex<()>>,
}

impl OpeningMark {
    fn at(path: PathBuf) -> Self {
        OpeningMark { path, is_wanted: Arc::default(), writing: Arc::default() }
    }

    /// The pool's work begins. Nothing is said of a file that cannot be written: the pool is to be
    /// opened all the same.
    pub fn set(&self) {
        self.want(true);
    }

    /// It is open, or cannot be opened.
    pub fn clear(&self) {
        self.want(false);
    }

    /// A reactor is among those who call this: a file system that hangs holds it up no longer than
    /// [`MARK_WAIT`], and what was wanted last becomes so once it goes on.
    fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Release);
        let mark = self.clone();
        let (sender, done) = mpsc::channel();
        let work = move || {
            mark.apply();
            // Who waited may have gone on.
            let _ = sender.send(());
        };
        match thread::Builder::new().name("opening-mark".to_owned()).spawn(work) {
            Ok(_) => drop(done.recv_timeout(MARK_WAIT)),
            Err(_) => self.apply(),
        }
    }

    /// The same at once, for a thread that may hang.
    fn clear_now(&self) {
        self.is_wanted.store(false, Ordering::Release);
        self.apply();
    }

    fn apply(&self) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = if self.is_wanted.load(Ordering::Acquire) {
            fs::write(&self.path, format!("{} {}", unix_seconds(), boot()))
        } else {
            fs::remove_file(&self.path)
        };
    }
}

/// One end of the daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Death {
    pool: String,
    /// When the work began that it came of.
    began_at: u64,
    ended_at: u64,
}

impl Deaths {
    /// Those that the daemon's directory keeps.
    pub fn of(state_dir: &Path) -> Self {
        Deaths {
            path: state_dir.join("deaths"),
            writing: Arc::default(),
            unwritten: Arc::default(),
        }
    }

    fn unwritten(&self) -> MutexGuard<'_, Unwritten> {
        // What a panic has left is whole.
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The daemon is about to end by the work of `pool`, and waits so long for that to be noted: a
    /// file system that hangs does not keep it alive.
    ///
    /// # Errors
    /// When the file cannot be written: the next start knows nothing of it.
    pub fn note_within(&self, pool: PoolUuid, longest: Duration) -> io::Result<()> {
        let (sender, noted) = mpsc::channel();
        let deaths = self.clone();
        let note = move || drop(sender.send(deaths.note(pool)));
        thread::Builder::new().name("last-words".to_owned()).spawn(note)?;
        let noted = noted.recv_timeout(longest);
        noted.unwrap_or_else(|_| Err(io::Error::new(ErrorKind::TimedOut, "the file system hangs")))
    }

    fn note(&self, pool: PoolUuid) -> io::Result<()> {
        let now = unix_seconds();
        let noted = self.append(&Death { pool: pool.to_string(), began_at: now, ended_at: now });
        // It counts once, and for nobody who was just being opened.
        self.clear_marks();
        noted
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The UUIDs of the pools that are not to be opened by themselves.
    pub fn suspects(&self) -> BTreeSet<String> {
        // Why it cannot be read is told by the warning.
        let all = self.read().unwrap_or_default();
        let repeats =
            |(at, death): (usize, &Death)| all[..at].iter().any(|before| before.is_near(death));
        let all = all.iter().enumerate();
        all.filter(|death| repeats(*death)).map(|(_, death)| death.pool.clone()).collect()
    }

    /// The pool, of that UUID and name, may be opened by itself again: an operator has opened it.
    pub fn forget(&self, pool: &str, name: &str) {
        self.unwritten().pools.insert(pool.to_owned(), name.to_owned());
        self.write();
    }

    /// The same of all pools.
    pub fn forget_all(&self) {
        self.unwritten().all = true;
        self.write();
    }

    /// Looks whether the file can be written, and writes what it should say; nothing comes of it if
    /// it says that already.
    pub fn write(&self) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, pools) = {
            let unwritten = self.unwritten();
            (unwritten.all, unwritten.pools.clone())
        };
        let written = self.try_write(|death| !all && !pools.contains_key(&death.pool));
        let mut unwritten = self.unwritten();
        match written {
            Ok(()) => {
                unwritten.failure = None;
                unwritten.all &= !all;
                unwritten.pools.retain(|pool, _| !pools.contains_key(pool));
            }
            Err(error) => {
                if unwritten.failure.is_none() {
                    tracing::warn!("cannot write {}: {error}", self.path.display());
                }
                unwritten.failure = Some(error);
            }
        }
    }

    /// What could not be written when that was tried last is tried again.
    pub fn write_again(&self) {
        let has_failed = self.unwritten().failure.is_some();
        if has_failed {
            self.write();
        }
    }

    /// What is to be known of a file that cannot be written: why, what it does not say, and the way
    /// out.
    pub fn warning(&self) -> Option<Warning> {
        let unwritten = self.unwritten();
        let (failure, file) = (unwritten.failure.as_ref()?, self.path.display().to_string());
        let names =
            unwritten.pools.values().map(|name| format!("pool '{name}'")).collect::<Vec<_>>();
        let closed = match (unwritten.all, names.as_slice()) {
            (true, _) => "; pools that it names stay closed at the next start".to_owned(),
            (false, []) => String::new(),
            (false, names) => format!("; at the next start {} may stay closed", names.join(", ")),
        };
        let message = format!(
            "cannot write {file}: {failure}: if a pool's work ended the daemon again and again, no \
             start would leave that pool closed{closed}. Ashlar tries again by itself: {}",
            way_out(failure, &self.path)
        );
        Some(Warning { file, message })
    }

    /// The mark of an opening that may be about to begin.
    pub fn opening_of(&self, pool: &str) -> OpeningMark {
        OpeningMark::at(self.path.with_file_name(format!("{OPENING}{pool}")))
    }

    /// Notes ends of the daemon that came without a word while pools were being opened. For a
    /// start, before any is.
    pub fn note_cut_openings(&self) {
        for (pool, mark) in self.marks() {
            let began_at =
                fs::read_to_string(&mark.path).ok().and_then(|text| began_in_this_boot(&text));
            if let Some(began_at) = began_at
                && let Err(error) =
                    self.append(&Death { pool: pool.clone(), began_at, ended_at: unix_seconds() })
            {
                tracing::warn!(pool, %error, "noting that the daemon has ended while it opened the pool");
            }
            mark.clear_now();
        }
    }

    /// The daemon ends as it should: what is being opened still is nobody's fault.
    pub fn clear_marks(&self) {
        self.marks().into_iter().for_each(|(_, mark)| mark.clear_now());
    }

    fn marks(&self) -> Vec<(String, OpeningMark)> {
        let entries = self.path.parent().and_then(|directory| fs::read_dir(directory).ok());
        let names = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let pools = names.filter_map(|name| Some(name.strip_prefix(OPENING)?.to_owned()));
        pools.map(|pool| (pool.clone(), self.opening_of(&pool))).collect()
    }

    fn append(&self, death: &Death) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(death.line().as_bytes())
    }

    fn read(&self) -> io::Result<Vec<Death>> {
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            text => text?,
        };
        let deaths: Vec<Death> =
            String::from_utf8_lossy(&text).lines().filter_map(Death::parse).collect();
        let old = deaths.len().saturating_sub(KEPT_MAX);
        Ok(deaths[old..].to_vec())
    }

    fn try_write(&self, is_kept: impl Fn(&Death) -> bool) -> io::Result<()> {
        match OpenOptions::new().append(true).open(&self.path) {
            // It is made when it is needed, where the state's file is made as well.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => drop(opened?),
        }
        self.keep(is_kept)
    }

    fn keep(&self, is_kept: impl Fn(&Death) -> bool) -> io::Result<()> {
        let before = self.read()?;
        let kept: Vec<&Death> = before.iter().filter(|death| is_kept(death)).collect();
        if kept.len() == before.len() {
            return Ok(());
        }
        if kept.is_empty() {
            return fs::remove_file(&self.path);
        }
        let lines: String = kept.iter().map(|death| death.line()).collect();
        // In place, for there may be no room for another file. A crash in between forgets ends,
        // which costs one more of them.
        let mut file = OpenOptions::new().write(true).truncate(true).open(&self.path)?;
        file.write_all(lines.as_bytes())
    }
}

impl Death {
    /// A line that was cut off, or that is not ours, is none.
    fn parse(line: &str) -> Option<Self> {
        let (pool, seconds) = line.split_once(' ')?;
        let (began, ended) = seconds.split_once(' ').unwrap_or((seconds, seconds));
        Some(Death {
            pool: pool.to_owned(),
            began_at: began.parse().ok()?,
            ended_at: ended.parse().ok()?,
        })
    }

    fn line(&self) -> String {
        let Death { pool, began_at, ended_at } = self;
        if began_at == ended_at {
            format!("{pool} {began_at}\n")
        } else {
            format!("{pool} {began_at} {ended_at}\n")
        }
    }

    fn is_near(&self, other: &Death) -> bool {
        let (first, second) =
            if self.began_at <= other.began_at { (self, other) } else { (other, self) };
        self.pool == other.pool
            && second.began_at.saturating_sub(first.ended_at) <= APART_SECONDS_MAX
    }
}

/// When an opening began by its mark, unless that was in another boot of the machine.
fn began_in_this_boot(mark: &str) -> Option<u64> {
    let (began_at, of) = mark.trim().split_once(' ')?;
    (of == boot()).then(|| began_at.parse().ok()).flatten()
}

/// Tells one boot of the machine from another.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| "unknown".to_owned(), |id| id.trim().to_owned())
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
