//! What may block: each job has a thread of its own, which is left behind if it never ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::SystemTime;
use std::{fs, io};

use ashlar_block::SECTOR_BYTES;
use ashlar_drive::{DRIVE_BYTES_MIN, DriveMark, Peek};
use rustix::fd::OwnedFd;
use rustix::fs::inotify;

use super::copies::label;
use super::look::Message;
use super::missed::{self, Missed};
use super::table::{Content, Label, Place};

/// Files of a directory that may be drives and are looked at, besides those that are known to have
/// been drives.
pub const DIRECTORY_FILES_MAX: usize = 4096;

/// What a job has come to.
pub enum Done {
    /// The label of a drive was read, which was as the mark says then.
    Label { place: Place, mark: DriveMark, content: Content },
    /// A directory was looked at.
    Directory { path: PathBuf, listing: Listing },
    /// It was found out why no member is where one was.
    Missed { pool: String, spec: String, missed: Missed },
}

/// What a look at a directory has found.
#[derive(Debug, Default)]
pub struct Listing {
    /// When the directory had changed last.
    pub changed: Option<SystemTime>,
    /// Files that may be drives. `None`: nothing has changed since the look before.
    pub files: Option<BTreeMap<PathBuf, DriveMark>>,
    /// There are more files of a drive's size than are looked at.
    pub is_cut: bool,
}

/// Starts jobs.
#[derive(Clone)]
pub struct Jobs {
    messages: Sender<Message>,
    wake: Arc<OwnedFd>,
    /// Labels that were begun to be read.
    pub labels_read: Arc<AtomicU64>,
    /// Where changes in directories are told.
    pub watch: Option<Arc<OwnedFd>>,
}

impl Jobs {
    /// Jobs that answer by a message each, and wake who reads it.
    pub fn new(messages: Sender<Message>, wake: Arc<OwnedFd>) -> Self {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let watch = inotify::init(flags).ok().map(Arc::new);
        Jobs { messages, wake, labels_read: Arc::default(), watch }
    }

    /// Reads the label of the drive at `path`. False: there is no thread to do it.
    pub fn read_label(&self, place: Place, mark: DriveMark, path: PathBuf) -> bool {
        self.labels_read.fetch_add(1, Ordering::Relaxed);
        self.spawn(move || Done::Label { place, mark, content: read_label(&path) })
    }

    /// Looks at a directory, unless it has not changed since `known`. The files `named` are looked
    /// at however many others there are.
    pub fn list(&self, path: PathBuf, known: Option<SystemTime>, named: BTreeSet<PathBuf>) -> bool {
        let watch = self.watch.clone();
        self.spawn(move || {
            watch.iter().for_each(|watch| watch_directory(watch, &path));
            let listing = list_or_nothing(&path, known, &named);
            Done::Directory { path, listing }
        })
    }

    /// Finds out what is where a member of a pool was.
    pub fn explain(&self, pool: String, spec: String, known: Option<Missed>) -> bool {
        self.spawn(move || {
            let missed = missed::explain(&spec, known);
            Done::Missed { pool, spec, missed }
        })
    }

    fn spawn(&self, job: impl FnOnce() -> Done + Send + 'static) -> bool {
        let (messages, wake) = (self.messages.clone(), self.wake.clone());
        let work = move || {
            let done = job();
            if messages.send(Message::Done(done)).is_ok() {
                self::wake(&wake);
            }
        };
        std::thread::Builder::new().name("look-at-drive".to_owned()).spawn(work).is_ok()
    }
}

/// Wakes the thread that looks.
pub fn wake(wake: &OwnedFd) {
    // Full means that it is to wake already.
    let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
}

fn watch_directory(watch: &OwnedFd, path: &Path) {
    use inotify::WatchFlags;
    let flags = WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::MOVED_FROM
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::DELETE
        | WatchFlags::ONLYDIR;
    // Without it, the next look by the clock finds what has changed.
    let _ = inotify::add_watch(watch, path, flags);
}

/// What a drive's label says: one read, and a second one only where the first copy is damaged.
pub fn read_label(path: &Path) -> Content {
    match try_read_label(path) {
        Ok(content) => content,
        Err(error) => Content::Failed(error.to_string()),
    }
}

fn try_read_label(path: &Path) -> io::Result<Content> {
    let peek = Peek::open(path)?;
    if peek.size_bytes() < DRIVE_BYTES_MIN {
        return Ok(Content::Foreign);
    }
    Ok(label(&peek)?.map_or(Content::Foreign, |superblock| Content::Label(Label::of(&superblock))))
}

/// What cannot be looked at holds nothing: a directory that was moved has taken its files along.
fn list_or_nothing(path: &Path, known: Option<SystemTime>, named: &BTreeSet<PathBuf>) -> Listing {
    let nothing = Listing { changed: None, files: Some(BTreeMap::new()), is_cut: false };
    list(path, known, named, DIRECTORY_FILES_MAX).unwrap_or(nothing)
}

fn list(
    path: &Path,
    known: Option<SystemTime>,
    named: &BTreeSet<PathBuf>,
    files_max: usize,
) -> io::Result<Listing> {
    let changed = fs::metadata(path)?.modified().ok();
    if known.is_some() && changed == known {
        return Ok(Listing { changed, files: None, is_cut: false });
    }
    let mut files: BTreeMap<PathBuf, DriveMark> =
        named.iter().filter_map(|path| candidate(path, is_large_enough)).collect();
    let others = fs::read_dir(path)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !named.contains(path));
    let mut others = others.filter_map(|path| candidate(&path, could_be_drive));
    files.extend(others.by_ref().take(files_max));
    let is_cut = others.next().is_some();
    Ok(Listing { changed, files: Some(files), is_cut })
}

/// A file, if it could be a drive.
fn candidate(path: &Path, could_be: impl Fn(&DriveMark) -> bool) -> Option<(PathBuf, DriveMark)> {
    let mark = DriveMark::of_file(&fs::metadata(path).ok()?)?;
    could_be(&mark).then(|| (path.to_owned(), mark))
}

/// Whether a file has a size that a drive can have whose file was not touched.
fn could_be_drive(mark: &DriveMark) -> bool {
    let DriveMark::File { size_bytes, .. } = mark else { return false };
    is_large_enough(mark) && size_bytes.is_multiple_of(SECTOR_BYTES as u64)
}

/// Whether a file that was a drive may be one still: it may have grown by anything.
fn is_large_enough(mark: &DriveMark) -> bool {
    matches!(mark, DriveMark::File { size_bytes, .. } if *size_bytes >= DRIVE_BYTES_MIN)
}

#[cfg(test)]
mod tests;
