//! What is logged, as it is written: a level, or levels by module.

use anyhow::{Context, bail};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// What a level may be.
const LEVELS: &str = "error, warn, info, debug, trace or off";

/// The crates that log: what is written of another one says nothing.
const CRATES: [&str; 14] = [
    "ashlar",
    "ashlar_block",
    "ashlar_check",
    "ashlar_control",
    "ashlar_drive",
    "ashlar_format",
    "ashlar_load",
    "ashlar_node",
    "ashlar_nvme",
    "ashlar_raid",
    "ashlar_reactor",
    "ashlar_store",
    "ashlar_target",
    "ashlar_volume",
];

/// The filter that `text` says.
///
/// # Errors
/// When it says none, with how one is written. What the subscriber would take for a module that
/// nobody has, as a level that is mistyped, would silence the log.
pub fn parse(text: &str) -> anyhow::Result<EnvFilter> {
    let check_all = || text.split(',').try_for_each(check);
    check_all().and_then(|()| Ok(EnvFilter::builder().parse(text)?)).with_context(|| {
        format!(
            "'{text}' does not say what to log: write a level, as in info, or info,ashlar_store=debug"
        )
    })
}

fn check(part: &str) -> anyhow::Result<()> {
    let Some((target, level)) = part.rsplit_once('=') else { return check_level(part) };
    check_level(level)?;
    let module = target.split('[').next().unwrap_or(target);
    let name = module.split("::").next().unwrap_or(module);
    if !CRATES.contains(&name) {
        bail!("'{module}' is none of the modules that log: they are of {}", CRATES.join(", "));
    }
    Ok(())
}

fn check_level(level: &str) -> anyhow::Result<()> {
    let is_word = level.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_word && !level.is_empty() && level.parse::<LevelFilter>().is_ok() {
        return Ok(());
    }
    bail!("'{level}' is no level: {LEVELS} is one")
}

#[cfg(test)]
mod tests;
