//! What is where a member of a pool was, when no member is.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use ashlar_block::SECTOR_BYTES;
use ashlar_drive::{DeviceNumber, DriveMark, DriveSpec, Peek};
use ashlar_store::format::superblock::{Superblock, SuperblockError};
use ashlar_volume::DriveContent;

/// Why no member is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// What was there when it was looked at; `None`: nothing.
    mark: Option<DriveMark>,
    /// A sentence that names the place.
    pub why: String,
}

/// Where a drive is, without how it is to be made. `None`: it is no place on this machine.
pub fn path_of(spec: &str) -> Option<PathBuf> {
    match spec.parse().ok()? {
        DriveSpec::Block { path } | DriveSpec::File { path, .. } => Some(path),
        DriveSpec::Memory { .. } | DriveSpec::Null { .. } => None,
    }
}

/// Looks at the place. A drive that was looked at before, and has not changed, is not read again.
pub fn explain(spec: &str, known: Option<Missed>) -> Missed {
    let Some(path) = path_of(spec) else {
        return Missed { mark: None, why: format!("{spec}: it is gone with the daemon that had it") };
    };
    let found = fs::metadata(&path);
    let mark = found.as_ref().ok().and_then(mark_of);
    match (known, found) {
        (Some(known), Ok(_)) if known.mark == mark && mark.is_some() => known,
        (_, Err(error)) => {
            Missed { mark, why: format!("{}: {}", path.display(), what_failed(&path, &error)) }
        }
        (_, Ok(_)) => Missed { mark, why: content_of(spec, &path) },
    }
}

fn mark_of(found: &fs::Metadata) -> Option<DriveMark> {
    let number = || DeviceNumber::of(found.rdev());
    let device = || DriveMark::Device { number: number(), size_kib: 0, diskseq: None };
    if found.file_type().is_block_device() { Some(device()) } else { DriveMark::of_file(found) }
}

fn what_failed(path: &Path, error: &std::io::Error) -> String {
    let what = if path.starts_with("/dev") { "device" } else { "file" };
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no such {what}"),
        _ => error.to_string(),
    }
}

fn content_of(spec: &str, path: &Path) -> String {
    let looked = Peek::open(path).and_then(|peek| {
        if peek.size_bytes() < SECTOR_BYTES as u64 {
            return Ok(DriveContent::Foreign("no medium, or an empty file".to_owned()));
        }
        let sector = peek.read(Superblock::FIRST_OFFSET, SECTOR_BYTES)?;
        Ok(match Superblock::decode(&sector) {
            Ok(superblock) => DriveContent::Member(Box::new(superblock)),
            Err(SuperblockError::Absent) => {
                let foreign = peek.probe()?.map(|content| content.to_string());
                foreign.map_or(DriveContent::Blank, DriveContent::Foreign)
            }
            Err(error) => DriveContent::Damaged(error),
        })
    });
    match looked {
        Ok(content) => format!("{} holds {}", ashlar_volume::path_of(spec), content.describe()),
        Err(error) => format!("{}: {}", path.display(), what_failed(path, &error)),
    }
}

#[cfg(test)]
mod tests;
