//! What is where a member of a pool was, when no member is.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use ashlar_drive::{DRIVE_BYTES_MIN, DeviceNumber, DriveMark, DriveSpec, Peek};
use ashlar_store::format::superblock::SuperblockError;
use ashlar_volume::DriveContent;

use super::copies::{first_copy, inside_copy, second_copy};
use super::table::Label;

/// Why no member is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// What was there when it was looked at; `None`: nothing.
    mark: Option<DriveMark>,
    /// A sentence that names the place.
    pub why: String,
    /// The label that the drive there carries at its end, where the first copy is gone.
    pub label: Option<Label>,
}

/// Where a drive is, without how it is to be made. `None`: it is no place on this machine.
pub fn path_of(spec: &str) -> Option<PathBuf> {
    Some(spec.parse::<DriveSpec>().ok()?.path()?.to_owned())
}

/// Looks at the place. A drive that was looked at before, and has not changed, is not read again.
pub fn explain(spec: &str, known: Option<Missed>) -> Missed {
    let nothing = |why: String| Missed { mark: None, why, label: None };
    let Some(path) = path_of(spec) else {
        return nothing(format!("{spec}: it is gone with the daemon that had it"));
    };
    let found = match fs::metadata(&path) {
        Ok(found) => found,
        Err(error) => {
            return nothing(format!("{}: {}", path.display(), what_failed(&path, &error)));
        }
    };
    let mark = mark_of(&found);
    match known {
        Some(known) if known.mark == mark && mark.is_some() => known,
        _ => read(spec, &path, mark),
    }
}

fn read(spec: &str, path: &Path, mark: Option<DriveMark>) -> Missed {
    let missed = |why, label| Missed { mark: mark.clone(), why, label };
    match content_of(path) {
        Ok((DriveContent::Damaged(error), None)) => missed(format!("{spec}: {error}"), None),
        Ok((content, label)) => {
            missed(format!("{} holds {}", ashlar_volume::path_of(spec), content.describe()), label)
        }
        Err(error) => missed(format!("{}: {}", path.display(), what_failed(path, &error)), None),
    }
}

fn mark_of(found: &fs::Metadata) -> Option<DriveMark> {
    let number = || DeviceNumber::of(found.rdev());
    let device = || DriveMark::Device { number: number(), size_kib: 0, diskseq: None };
    if found.file_type().is_block_device() { Some(device()) } else { DriveMark::of_file(found) }
}

fn what_failed(path: &Path, error: &io::Error) -> String {
    let what = if path.starts_with("/dev") { "device" } else { "file" };
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no such {what}"),
        _ => error.to_string(),
    }
}

/// What is there, and the label of the second copy if the first one is gone: a member keeps its
/// place by either.
fn content_of(path: &Path) -> io::Result<(DriveContent, Option<Label>)> {
    let peek = Peek::open(path)?;
    if peek.size_bytes() < DRIVE_BYTES_MIN {
        let what = if peek.size_bytes() == 0 {
            "nothing: it has no size"
        } else {
            "too little to be a drive"
        };
        return Ok((DriveContent::Foreign(what.to_owned()), None));
    }
    let first = match first_copy(&peek)? {
        Ok(superblock) => return Ok((DriveContent::Member(Box::new(superblock)), None)),
        Err(error) => error,
    };
    let second = second_copy(&peek)?;
    let label = second.as_ref().ok().map(Label::of);
    let is_gone = |error: &SuperblockError| {
        matches!(error, SuperblockError::Absent | SuperblockError::Damaged)
    };
    if is_gone(&first)
        && second.as_ref().is_err_and(is_gone)
        && let Ok(inside) = inside_copy(&peek)?
    {
        let (label, by) = (Label::of(&inside), peek.probe()?.map(|content| content.to_string()));
        return Ok((DriveContent::Overwritten { label: Box::new(inside), by }, Some(label)));
    }
    if first != SuperblockError::Absent || label.is_some() {
        return Ok((DriveContent::Damaged(first), label));
    }
    if let Err(error) = second
        && error != SuperblockError::Absent
    {
        return Ok((DriveContent::Damaged(error), None));
    }
    let foreign = peek.probe()?.map(|content| content.to_string());
    Ok((foreign.map_or(DriveContent::Blank, DriveContent::Foreign), None))
}

#[cfg(test)]
mod tests;
