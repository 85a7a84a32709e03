//! `ashlar pool trim`.

use anyhow::{Context, ensure};
use ashlar_block::ByteSize;
use ashlar_control::ProgressText;
use ashlar_control::types::{Pool, Trim};

use super::client::Client;
use super::progress::{self, Shown};

/// Returns the pool at `path` once the trim that goes on has ended.
///
/// # Errors
/// When somebody has stopped it, or the pool takes no writes any more or is not open, or the daemon
/// was restarted, which has ended it.
pub async fn wait(client: &Client, path: &str) -> anyhow::Result<Pool> {
    let shown = |pool: &Pool| Ok(pool.trim().map(|trim| Shown::new(trim.done_percent, trim)));
    let pool = progress::wait(client, path, "trim", is_ended, shown).await?;
    let is_stopped = pool.trim().is_some_and(|trim| trim.is("stopped"));
    ensure!(!is_stopped, "the trim of pool '{}' was stopped", pool.name);
    Ok(pool)
}

fn is_ended(pool: &Pool) -> anyhow::Result<bool> {
    let trim = pool.trim().with_context(|| {
        let name = &pool.name;
        format!(
            "the trim of pool '{name}' has ended with its daemon: `ashlar pool trim {name}` begins \
             a new one"
        )
    })?;
    Ok(!trim.is("running"))
}

/// What a pool's trim has come to.
pub fn said(pool: &Pool) -> String {
    match pool.trim() {
        Some(trim) => format!("pool '{}': {}", pool.name, trimmed(trim)),
        None => format!("pool '{}' was not trimmed since it was opened", pool.name),
    }
}

/// The same without its name.
pub fn trimmed(trim: &Trim) -> String {
    let free = ByteSize(trim.free_bytes);
    let done = trim.done_percent;
    let mut said = match () {
        () if trim.is("running") => {
            ProgressText::from(trim).behind(format!("a trim is {done:.1} % done"))
        }
        () if trim.is("stopped") => {
            format!("a trim of {free} of free space was stopped at {done:.1} %")
        }
        () => format!("the drives know of {free} of free space"),
    };
    if trim.refusals > 0 {
        said += &format!("; drives have refused {} times, and the log says why", trim.refusals);
    }
    if !trim.skipped_drives.is_empty() {
        said += &format!("; these take no discards: {}", trim.skipped_drives.join(", "));
    }
    said
}

#[cfg(test)]
mod tests;
