//! The files of a journal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ashlar_control::{Entry, Wanted};
use serde::de::DeserializeOwned;

use super::{Bounds, Line};

/// What the files' names end in.
const ENDING: &str = "jsonl";
/// A journal tells who has done what: it is the daemon's alone.
const MODE: u32 = 0o600;
/// Files of a journal, at most: each crash of a daemon may begin one, however little it has.
const FILES_MAX: usize = 512;
/// Longest line that is read: what else is in the directory may have any.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The files, as their one writer has them.
pub struct Files {
    directory: PathBuf,
    bounds: Bounds,
    /// The file that is written. None: the next entry begins one.
    current: Option<Current>,
    /// Nothing was written yet: the first entry goes to what an earlier daemon has left, if that is
    /// whole.
    is_new: bool,
}

/// A file that is written. It is open only while that is done: so its file system can be unmounted,
/// and what was removed, or has another one mounted over it, is not written for nobody to find.
struct Current {
    path: PathBuf,
    /// How much of it is durable.
    bytes: u64,
}

impl Files {
    pub fn new(directory: PathBuf, bounds: Bounds) -> Self {
        Files { directory, bounds, current: None, is_new: true }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends entries, and makes them durable.
    ///
    /// # Errors
    /// When that fails: none of them is kept then. What comes next begins a file of its own, for
    /// nobody knows what this one holds behind what was durable before.
    pub fn append(&mut self, lines: &[Line]) -> io::Result<()> {
        let Some(first) = lines.first() else { return Ok(()) };
        let left = std::mem::take(&mut self.is_new).then(|| self.left(first.seq)).flatten();
        let current = self.current.take().or(left);
        let (file, current) = match current.and_then(Current::reopened) {
            Some(current) => current,
            None => self.begin(first.seq)?,
        };
        let text: String = lines.iter().flat_map(|line| [&*line.text, "\n"]).collect();
        let written = (&file).write_all(text.as_bytes()).and_then(|()| file.sync_data());
        if let Err(error) = written {
            current.take_back(&file);
            return Err(error);
        }
        let bytes = current.bytes + text.len() as u64;
        self.current = (bytes < self.bounds.file_bytes).then_some(Current { bytes, ..current });
        Ok(())
    }

    /// The newest file, if more can be put behind what it has.
    fn left(&self, seq: u64) -> Option<Current> {
        let newest = files_in(&self.directory).ok()?.pop()?;
        let file = File::open(&newest.path).ok()?;
        let bytes = file.metadata().ok()?.len();
        let mut last = [0];
        file.read_exact_at(&mut last, bytes.checked_sub(1)?).ok()?;
        let has_room = bytes < self.bounds.file_bytes && newest.first < seq;
        // Otherwise a crash has cut its last line off.
        (has_room && last == *b"\n").then_some(Current { path: newest.path, bytes })
    }

    fn begin(&self, seq: u64) -> io::Result<(File, Current)> {
        // One that was removed with all that it is in is made again by those who own it.
        match fs::create_dir(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.make_room()?;
        let path = self.directory.join(format!("{seq:020}.{ENDING}"));
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(MODE).open(&path)?;
        // What an attempt before this one has left of the same entries.
        file.set_len(0)?;
        File::open(&self.directory)?.sync_all()?;
        Ok((file, Current { path, bytes: 0 }))
    }

    /// Removes the oldest files, until one more fits.
    fn make_room(&self) -> io::Result<()> {
        let files = files_in(&self.directory)?;
        let sizes = files.iter().map(|file| fs::metadata(&file.path).map(|it| it.len()));
        let sizes: Vec<u64> = sizes.collect::<io::Result<_>>()?;
        let mut total: u64 = sizes.iter().sum();
        let mut left = files.len();
        for (file, bytes) in files.iter().zip(sizes) {
            if total + self.bounds.file_bytes <= self.bounds.total_bytes && left < FILES_MAX {
                break;
            }
            fs::remove_file(&file.path)?;
            total -= bytes;
            left -= 1;
        }
        Ok(())
    }
}

impl Current {
    /// The file, if it is there still as it was left.
    fn reopened(self) -> Option<(File, Self)> {
        let file = OpenOptions::new().append(true).open(&self.path).ok()?;
        let found = file.metadata().ok()?;
        (found.len() == self.bytes).then_some((file, self))
    }

    /// Takes away what was written in vain: it is written again elsewhere. Where that fails, too,
    /// readers find the same entries twice, and pass over those.
    fn take_back(&self, file: &File) {
        let _ = match self.bytes {
            0 => fs::remove_file(&self.path),
            bytes => file.set_len(bytes),
        };
    }
}

/// A file of a journal.
struct Found {
    /// The number of its first entry.
    first: u64,
    path: PathBuf,
}

/// The files in their order. What else is there is left alone.
fn files_in(directory: &Path) -> io::Result<Vec<Found>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
        let first = path.file_stem().and_then(|name| name.to_str()?.parse().ok());
        found.extend(first.filter(|_| is_ours).map(|first| Found { first, path }));
    }
    found.sort_by_key(|file| file.first);
    Ok(found)
}

/// The entries that are wanted. Lines that are no entries are passed over: a crash may have cut one
/// off. So is what is left of a file that cannot be read, which `bad` is told: one bad sector does
/// not keep all that came after it from those who ask.
pub fn read<E: Entry + DeserializeOwned>(
    directory: &Path,
    wanted: &Wanted<E>,
    bad: &Bad<'_>,
) -> io::Result<Vec<E>> {
    let mut files = files_in(directory)?;
    Ok(match wanted.after {
        Some(after) => {
            // The last file that begins at or before it, and those that come then.
            let begin = files.partition_point(|file| file.first <= after).saturating_sub(1);
            first_of(&files[begin..], wanted, bad)
        }
        None => {
            files.reverse();
            last_of(&files, wanted, bad)
        }
    })
}

/// Who is told which file cannot be read, and why.
pub type Bad<'a> = dyn Fn(&Path, &io::Error) + 'a;

fn first_of<E: Entry + DeserializeOwned>(
    files: &[Found],
    wanted: &Wanted<E>,
    bad: &Bad<'_>,
) -> Vec<E> {
    let mut found = Vec::new();
    for file in files {
        found.extend(wanted.of(entries_of(file, bad)));
        once_each(&mut found);
        if found.len() >= wanted.limit {
            found.truncate(wanted.limit);
            break;
        }
    }
    found
}

/// The newest file comes first.
fn last_of<E: Entry + DeserializeOwned>(
    files: &[Found],
    wanted: &Wanted<E>,
    bad: &Bad<'_>,
) -> Vec<E> {
    let mut found = Vec::new();
    for file in files {
        let newer = std::mem::replace(&mut found, wanted.of(entries_of(file, bad)));
        found.extend(newer);
        once_each(&mut found);
        if found.len() >= wanted.limit {
            found.drain(..found.len() - wanted.limit);
            break;
        }
    }
    found
}

/// What was written again may be there twice.
fn once_each<E: Entry>(found: &mut Vec<E>) {
    if !found.is_sorted_by_key(Entry::seq) {
        found.sort_by_key(Entry::seq);
    }
    found.dedup_by_key(|entry| entry.seq());
}

fn entries_of<E: DeserializeOwned>(file: &Found, bad: &Bad<'_>) -> Vec<E> {
    let mut entries = Vec::new();
    if let Err(error) = read_lines(&file.path, &mut entries) {
        bad(&file.path, &error);
    }
    entries
}

fn read_lines<E: DeserializeOwned>(path: &Path, entries: &mut Vec<E>) -> io::Result<()> {
    let opened = match File::open(path) {
        // It was the oldest, and has gone meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let (mut reader, mut line) = (BufReader::new(opened), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        let is_line = line.len() <= LINE_BYTES_MAX;
        entries.extend(serde_json::from_slice(&line).ok().filter(|_: &E| is_line));
        line.clear();
    }
    Ok(())
}
