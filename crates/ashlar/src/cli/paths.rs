//! Drives as the daemon finds them too, which runs elsewhere.

use std::path::Path;

use anyhow::Context;

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
    let mut parts = drive.split(',');
    let mut named = absolute_place(parts.next().unwrap_or_default())?;
    for option in parts {
        let option = match option.strip_prefix("model=") {
            Some(profile) if profile.ends_with(".toml") => format!("model={}", absolute_path(profile)?),
            _ => option.to_owned(),
        };
        named = format!("{named},{option}");
    }
    Ok(named)
}

/// A member of a pool. By its name or its number it is meant whatever files there are.
///
/// # Errors
/// As of [`all_absolute`].
pub fn absolute_member(drive: &str) -> anyhow::Result<String> {
    let number = drive.strip_prefix("drive-").unwrap_or(drive);
    if number.parse::<u16>().is_ok() { Ok(drive.to_owned()) } else { absolute(drive) }
}

/// The drive without its options.
fn absolute_place(place: &str) -> anyhow::Result<String> {
    match place.split_once(':') {
        Some(("file", path)) if !path.is_empty() => Ok(format!("file:{}", absolute_path(path)?)),
        Some(("file" | "mem" | "null", _)) => Ok(place.to_owned()),
        _ if is_path(place) => absolute_path(place),
        _ => Ok(place.to_owned()),
    }
}

/// What is neither there nor looks like a path is misspelt: it is refused as it was written.
fn is_path(place: &str) -> bool {
    place.starts_with('.') || place.contains('/') || (!place.is_empty() && Path::new(place).exists())
}

fn absolute_path(path: &str) -> anyhow::Result<String> {
    let absolute = std::path::absolute(Path::new(path)).with_context(|| format!("where is '{path}'?"))?;
    Ok(absolute.display().to_string())
}

#[cfg(test)]
mod tests;
