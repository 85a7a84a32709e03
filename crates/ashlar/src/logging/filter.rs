//! What is logged, as it is written: a level, or levels by module.

use anyhow::{Context, bail, ensure};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::Directive;

/// What a level may be.
const LEVELS: &str = "error, warn, info, debug, trace or off";

/// The crates that log: a name that begins none of theirs may be mistyped.
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
    filter(text).with_context(|| {
        format!(
            "'{text}' does not say what to log: write a level, as in info, or info,ashlar_store=debug"
        )
    })
}

/// What may be mistyped in a filter that is one: modules that are none of Ashlar's.
pub fn doubt(text: &str) -> Option<String> {
    let modules: Vec<&str> = parts(text).into_iter().filter_map(foreign_module).collect();
    let (first, more) = modules.split_first()?;
    let named = more.iter().fold(format!("'{first}'"), |named, it| format!("{named}, '{it}'"));
    Some(format!("none of Ashlar's modules is called {named}: they are of {}", CRATES.join(", ")))
}

fn filter(text: &str) -> anyhow::Result<EnvFilter> {
    let mut directives = parts(text).into_iter().map(directive);
    let Some(first) = directives.next() else { bail!("'' is no level: {LEVELS} is one") };
    // The first one takes the place of the usual one, which is an error of any module.
    let filter = EnvFilter::builder().with_default_directive(first?).parse("")?;
    directives.try_fold(filter, |filter, more| Ok(filter.add_directive(more?)))
}

/// What stands between commas, but for those in brackets, which name fields.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn directive(part: &str) -> anyhow::Result<Directive> {
    let (of, level) = split(part);
    // A span without a level is shown whole; a module without one may be a level that is mistyped.
    if let Some(level) = level.or_else(|| (!of.ends_with(']')).then_some(of)) {
        let is_word = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_alphanumeric());
        ensure!(
            is_word && level.parse::<LevelFilter>().is_ok(),
            "'{level}' is no level: {LEVELS} is one"
        );
    }
    Ok(part.parse()?)
}

/// Of what, and the level. What is in brackets may hold an equals sign as well.
fn split(part: &str) -> (&str, Option<&str>) {
    let behind = part.rfind(']').map_or(0, |end| end + 1);
    match part[behind..].find('=') {
        Some(at) => (&part[..behind + at], Some(&part[behind + at + 1..])),
        None => (part, None),
    }
}

fn foreign_module(part: &str) -> Option<&str> {
    let (of, level) = split(part);
    let module = of.split('[').next().unwrap_or(of);
    let is_level_alone = level.is_none() && module == of;
    let name = module.split("::").next().unwrap_or(module);
    (!is_level_alone && !module.is_empty() && !CRATES.contains(&name)).then_some(module)
}

#[cfg(test)]
mod tests;
