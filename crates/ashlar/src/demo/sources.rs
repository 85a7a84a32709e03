//! Files of this machine as real input: binaries and text in equal parts.

use std::fs;
use std::path::{Path, PathBuf};

/// Files of each kind, at most.
const FILES_MAX: usize = 400;
/// Directories deep.
const DEPTH_MAX: usize = 4;
/// Smaller files have no whole block to give.
const FILE_BYTES_MIN: u64 = 4096;

/// Files to write blocks of.
pub fn files() -> Vec<PathBuf> {
    let binaries: [&Path; 2] = ["/usr/bin".as_ref(), "/usr/lib".as_ref()];
    let text: [&Path; 4] =
        [".".as_ref(), "/usr/include".as_ref(), "/usr/share".as_ref(), "/etc".as_ref()];
    let mut files = Vec::new();
    files.extend(std::env::current_exe().ok());
    for roots in [&binaries[..], &text[..]] {
        let mut found = Vec::new();
        roots.iter().for_each(|root| collect(root, DEPTH_MAX, &mut found));
        files.extend(found);
    }
    files
}

/// Adds the files below `directory` until there are enough. Links are not followed: they might lead
/// round.
fn collect(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if found.len() >= FILES_MAX {
            return;
        }
        let Ok(about) = entry.metadata() else { continue };
        if about.is_file() && about.len() >= FILE_BYTES_MIN {
            found.push(entry.path());
        } else if about.is_dir() && depth > 0 && is_input(&entry.file_name()) {
            collect(&entry.path(), depth - 1, found);
        }
    }
}

/// Not what builds and this demonstration itself leave behind.
fn is_input(name: &std::ffi::OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(b".") && name != "target" && name != "ashlar-data"
}
