//! What was probably meant by a command line that is not understood.

use clap::error::{ContextKind, ContextValue};

use crate::cli::SETTINGS;

/// Says of an error in these words how to write what they mean, where that is known.
pub fn of(error: &clap::Error, words: &[String]) -> Option<String> {
    match (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidSubcommand)) {
        (Some(ContextValue::String(option)), _) => setting(option, words),
        (_, Some(ContextValue::String(verb))) if verb == "bench" => {
            Some("the benchmark is a program of its own: ashlar-bench --help".to_owned())
        }
        _ => None,
    }
}

/// How a setting of a pool is written, where one was written as an option.
fn setting(option: &str, words: &[String]) -> Option<String> {
    let name = option.strip_prefix("--").filter(|name| SETTINGS.contains(name))?;
    let value_at = |at: usize| {
        let rest = words[at].strip_prefix(option)?;
        rest.strip_prefix('=')
            .or_else(|| words.get(at + 1).map(String::as_str).filter(|_| rest.is_empty()))
    };
    let value = (0..words.len()).find_map(value_at).unwrap_or("VALUE");
    Some(format!("settings have no dashes: ashlar pool set POOL {name}={value}"))
}
