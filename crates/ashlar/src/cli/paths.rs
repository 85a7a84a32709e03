//! Drives as the daemon finds them too, which runs elsewhere.

use std::path::Path;

use anyhow::Context;
use ashlar_block::place::{escaped, split_options, unescaped};

/// All of the drives as the daemon finds them.
///
/// # Errors
/// When it is not known where the command runs.
pub fn all_absolute(drives: &[String]) -> anyhow::Result<Vec<String>> {
    drives.iter().map(|drive| absolute(drive)).collect()
}

/// The drive, or the directory of drives, as the daemon finds it.
///
/// # Errors
/// As of [`all_absolute`].
pub fn absolute(drive: &str) -> anyhow::Result<String> {
    if is_path(drive) && Path::new(drive).exists() {
        return Ok(escaped(&absolute_path(drive)?));
    }
    let (place, options) = split_options(drive);
    let mut named = absolute_place(place)?;
    for option in options.iter().flat_map(|options| options.split(',')) {
        let option = match option.strip_prefix("model=") {
            Some(profile) if profile.ends_with(".toml") => {
                format!("model={}", absolute_path(profile)?)
            }
            _ => option.to_owned(),
        };
        named = format!("{named},{option}");
    }
    Ok(named)
}

/// A member of the pool, whose name may stand in front of it. By its name or its number it is meant
/// whatever files there are.
///
/// # Errors
/// As of [`all_absolute`].
pub fn absolute_member(pool: &str, drive: &str) -> anyhow::Result<String> {
    let within_pool = drive.strip_prefix(pool).and_then(|rest| rest.strip_prefix('/'));
    let drive = within_pool.unwrap_or(drive);
    let number = drive.strip_prefix("drive-").unwrap_or(drive);
    if number.parse::<u16>().is_ok() { Ok(drive.to_owned()) } else { absolute(drive) }
}

/// The drive without its options.
fn absolute_place(place: &str) -> anyhow::Result<String> {
    match place.split_once(':') {
        Some(("file", path)) if !path.is_empty() => {
            Ok(format!("file:{}", escaped(&absolute_path(&unescaped(path))?)))
        }
        Some(("file" | "mem" | "null", _)) => Ok(place.to_owned()),
        _ if is_path(place) => Ok(escaped(&absolute_path(&unescaped(place))?)),
        _ => Ok(place.to_owned()),
    }
}

/// What is neither there nor looks like a path is misspelt: it is refused as it was written.
fn is_path(place: &str) -> bool {
    place.starts_with('.')
        || place.contains('/')
        || (!place.is_empty() && Path::new(place).exists())
}

fn absolute_path(path: &str) -> anyhow::Result<String> {
    let absolute =
        std::path::absolute(Path::new(path)).with_context(|| format!("where is '{path}'?"))?;
    let text = absolute.to_str().map(str::to_owned);
    text.with_context(|| format!("'{path}' lies in a directory whose name is not Unicode"))
}

#[cfg(test)]
mod tests;
