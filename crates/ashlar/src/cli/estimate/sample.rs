//! A sample of what is in a file, a folder or a block device.
//!
//! The data are taken as one row of bytes, file after file, and looked at in as many places as the
//! sample has extents, evenly spread, each at another place within its part. The extents come in a
//! random order: whoever stops early has still seen all parts.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ashlar_block::{BLOCK_BYTES, XorShift, printable};
use bytes::Bytes;

/// Bytes that are read in one place.
const EXTENT_BYTES: u64 = 64 << 10;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// What was read.
#[derive(Debug)]
pub struct Sample {
    /// Bytes of all data, in whole blocks.
    pub data_bytes: u64,
    /// Whole blocks each; what a file has not is zeros.
    pub extents: Vec<Bytes>,
    /// Files that could not be read, or listed.
    pub files_unreadable: u64,
}

/// A file, and where it begins in the row.
struct Part {
    path: PathBuf,
    start: u64,
    bytes: u64,
}

#[derive(Default)]
struct Row {
    parts: Vec<Part>,
    bytes: u64,
    unreadable: u64,
}

impl Row {
    fn add(&mut self, path: PathBuf, bytes: u64) {
        if bytes > 0 {
            self.parts.push(Part { path, start: self.bytes, bytes });
            self.bytes += bytes.next_multiple_of(BLOCK);
        }
    }

    /// Adds what is in a folder, those below it included. Links are not followed.
    fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        let mut folders = vec![fs::read_dir(folder)?];
        while let Some(entries) = folders.pop() {
            for entry in entries {
                let Ok((entry, about)) = entry.and_then(|it| Ok((it.path(), it.metadata()?)))
                else {
                    self.unreadable += 1;
                    continue;
                };
                if about.is_dir() {
                    match fs::read_dir(&entry) {
                        Ok(below) => folders.push(below),
                        Err(_) => self.unreadable += 1,
                    }
                } else if about.is_file() {
                    self.add(entry, about.len());
                }
            }
        }
        Ok(())
    }

    /// The extent that begins with the block of this byte of the row. It goes on over the ends of
    /// files: small ones count as much as they have bytes. What cannot be read is left out.
    fn read(&self, at: u64) -> Extent {
        let start = at / BLOCK * BLOCK;
        let end = (start + EXTENT_BYTES).min(self.bytes);
        let first = self.parts.partition_point(|part| part.start <= start) - 1;
        let mut extent = Extent::default();
        let touched = self.parts.iter().enumerate().skip(first);
        for (nth, part) in touched.take_while(|(_, part)| part.start < end) {
            let within = start.saturating_sub(part.start);
            let wanted = (part.bytes - within).min(end - part.start - within) as usize;
            match part.read(within, wanted) {
                Ok(bytes) => extent.bytes.extend(bytes),
                Err(error) => {
                    extent.unreadable.push(nth);
                    extent.why.get_or_insert(error);
                }
            }
        }
        extent
    }
}

/// What is in one place.
#[derive(Default)]
struct Extent {
    bytes: Vec<u8>,
    /// Which files could not be read.
    unreadable: Vec<usize>,
    why: Option<io::Error>,
}

impl Part {
    /// So many bytes of the file, and zeros up to the end of their last block.
    fn read(&self, within: u64, wanted: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; wanted.next_multiple_of(BLOCK_BYTES)];
        let file = File::open(&self.path)?;
        let mut read = 0;
        while read < wanted {
            match file.read_at(&mut bytes[read..wanted], within + read as u64)? {
                // It has become shorter.
                0 => break,
                some => read += some,
            }
        }
        Ok(bytes)
    }
}

impl Sample {
    /// Reads about `bytes_max` of what is there.
    ///
    /// # Errors
    /// There is nothing, or none of it can be read.
    pub fn of(data: &Path, bytes_max: u64) -> anyhow::Result<Self> {
        let name = printable(&data.to_string_lossy());
        let row = row_of(data, &name)?;
        if row.bytes == 0 {
            bail!("'{name}' holds no data: nothing can be estimated");
        }
        let mut rng = XorShift::new(1);
        let count = (bytes_max / EXTENT_BYTES).min(row.bytes.div_ceil(EXTENT_BYTES)).max(1);
        let mut extents = Vec::new();
        let (mut unreadable, mut why) = (BTreeSet::new(), None);
        for nth in 0..count {
            let start = place(nth, count, row.bytes);
            let part = (place(nth + 1, count, row.bytes) - start).max(1);
            let extent = row.read(start + rng.below(part));
            unreadable.extend(extent.unreadable);
            why = why.or(extent.why);
            if !extent.bytes.is_empty() {
                extents.push(Bytes::from(extent.bytes));
            }
        }
        if let (true, Some(error)) = (extents.is_empty(), why) {
            return Err(error).context(format!("'{name}' cannot be read"));
        }
        shuffle(&mut extents, &mut rng);
        let files_unreadable = row.unreadable + unreadable.len() as u64;
        Ok(Sample { data_bytes: row.bytes, extents, files_unreadable })
    }
}

/// Where the part of the `nth` extent of `count` begins in a row of so many bytes.
fn place(nth: u64, count: u64, bytes: u64) -> u64 {
    (u128::from(bytes) * u128::from(nth) / u128::from(count)) as u64
}

fn row_of(data: &Path, name: &str) -> anyhow::Result<Row> {
    let about = fs::metadata(data).with_context(|| format!("'{name}' cannot be looked at"))?;
    let mut row = Row::default();
    if about.is_dir() {
        row.add_folder(data).with_context(|| format!("'{name}' cannot be listed"))?;
    } else if about.is_file() || about.file_type().is_block_device() {
        let open = || File::open(data)?.seek(SeekFrom::End(0));
        row.add(data.to_owned(), open().with_context(|| format!("'{name}' cannot be read"))?);
    } else {
        bail!("'{name}' is no file, no folder and no block device");
    }
    Ok(row)
}

/// The shuffle of Fisher and Yates (Knuth, volume 2, section 3.4.2, algorithm P).
fn shuffle(extents: &mut [Bytes], rng: &mut XorShift) {
    for nth in (1..extents.len()).rev() {
        extents.swap(nth, rng.below(nth as u64 + 1) as usize);
    }
}
