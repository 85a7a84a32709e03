//! The files of a journal.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ashlar_control::{Entry, Wanted};
use serde::de::DeserializeOwned;

use super::{Bounds, Line};

/// What the files' names end in.
const ENDING: &str = "jsonl";
/// A journal tells who has done what: it is the daemon's alone.
const MODE: u32 = 0o600;
/// Files of a journal, at most: each start of a daemon begins one, however little it has.
const FILES_MAX: usize = 512;
/// Longest line that is read: what else is in the directory may have any.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The files, as their one writer has them.
pub struct Files {
    directory: PathBuf,
    bounds: Bounds,
    /// The file that is written. None: the next entry begins one.
    open: Option<Open>,
}

/// A file that is written.
struct Open {
    file: File,
    path: PathBuf,
    /// How much of it is durable.
    bytes: u64,
}

impl Files {
    pub fn new(directory: PathBuf, bounds: Bounds) -> Self {
        Files { directory, bounds, open: None }
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
        // Where the directory was removed, or another one is mounted over it, nobody would find it.
        let open = match self.open.take().filter(Open::is_found) {
            Some(open) => open,
            None => self.begin(first.seq)?,
        };
        let text: String = lines.iter().flat_map(|line| [&*line.text, "\n"]).collect();
        let mut file = &open.file;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        if let Err(error) = written {
            open.take_back();
            return Err(error);
        }
        let bytes = open.bytes + text.len() as u64;
        self.open = (bytes < self.bounds.file_bytes).then_some(Open { bytes, ..open });
        Ok(())
    }

    fn begin(&self, seq: u64) -> io::Result<Open> {
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
        Ok(Open { file, path, bytes: 0 })
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

impl Open {
    /// Whether its path still leads to it.
    fn is_found(&self) -> bool {
        let own = self.file.metadata();
        let found = fs::symlink_metadata(&self.path);
        let (Ok(own), Ok(found)) = (own, found) else { return false };
        (own.dev(), own.ino()) == (found.dev(), found.ino())
    }

    /// Takes away what was written in vain: it is written again elsewhere. Where that fails, too,
    /// readers find the same entries twice, and pass over those.
    fn take_back(&self) {
        let _ = match self.bytes {
            0 => fs::remove_file(&self.path),
            bytes => self.file.set_len(bytes),
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
/// off.
pub fn read<E: Entry + DeserializeOwned>(
    directory: &Path,
    wanted: &Wanted<E>,
) -> io::Result<Vec<E>> {
    let mut files = files_in(directory)?;
    let found = match wanted.after {
        Some(after) => {
            // The last file that begins at or before it, and those that come then.
            let begin = files.partition_point(|file| file.first <= after).saturating_sub(1);
            first_of(&files[begin..], wanted)
        }
        None => {
            files.reverse();
            last_of(&files, wanted)
        }
    };
    let mut found = found?;
    // What was written again may be there twice.
    if !found.is_sorted_by_key(Entry::seq) {
        found.sort_by_key(Entry::seq);
        found.dedup_by_key(|entry| entry.seq());
    }
    Ok(found)
}

fn first_of<E: Entry + DeserializeOwned>(
    files: &[Found],
    wanted: &Wanted<E>,
) -> io::Result<Vec<E>> {
    let mut found = Vec::new();
    for file in files {
        let left = Wanted { limit: wanted.limit - found.len(), ..wanted.clone() };
        found.extend(left.of(entries_of(file)?));
        if found.len() == wanted.limit {
            break;
        }
    }
    Ok(found)
}

/// The newest file comes first.
fn last_of<E: Entry + DeserializeOwned>(files: &[Found], wanted: &Wanted<E>) -> io::Result<Vec<E>> {
    let mut found = VecDeque::new();
    for file in files {
        let left = Wanted { limit: wanted.limit - found.len(), ..wanted.clone() };
        for entry in left.of(entries_of(file)?).into_iter().rev() {
            found.push_front(entry);
        }
        if found.len() == wanted.limit {
            break;
        }
    }
    Ok(found.into())
}

fn entries_of<E: DeserializeOwned>(file: &Found) -> io::Result<Vec<E>> {
    let opened = match File::open(&file.path) {
        // It was the oldest, and has gone meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut reader = BufReader::new(opened);
    let (mut entries, mut line) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        let is_line = line.len() <= LINE_BYTES_MAX;
        entries.extend(serde_json::from_slice(&line).ok().filter(|_: &E| is_line));
        line.clear();
    }
    Ok(entries)
}
