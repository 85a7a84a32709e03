//! `ashlar pool trim`.

use std::time::Duration;

use anyhow::{Context, bail};
use ashlar_block::ByteSize;
use ashlar_control::ProgressText;
use ashlar_control::types::{Pool, Trim};

use super::client::Client;

const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Returns the pool at `path` once the trim that goes on has ended.
///
/// # Errors
/// When the pool takes no writes any more or is not open, or the daemon was restarted, which has
/// ended it.
pub async fn wait(client: &Client, path: &str) -> anyhow::Result<Pool> {
    let bar = super::rebuild::bar();
    loop {
        let pool: Pool = client.get(path).await?;
        super::rebuild::check_open(&pool)?;
        let trim = pool.trim.as_ref().with_context(|| {
            let name = &pool.name;
            format!(
                "the trim of pool '{name}' has ended with its daemon: `ashlar pool trim {name}` \
                 begins a new one"
            )
        })?;
        if !trim.is("running") {
            bar.finish_and_clear();
            return Ok(pool);
        }
        if let Some(why) = &pool.problem {
            bail!("pool '{}' cannot go on with its trim: {why}", pool.name);
        }
        bar.set_position((trim.done_percent * 10.0) as u64);
        bar.set_message(ProgressText::from(trim).behind(format_args!("{:.1} %", trim.done_percent)));
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// What a pool's trim has come to.
pub fn said(pool: &Pool) -> String {
    match &pool.trim {
        Some(trim) => format!("pool '{}': {}", pool.name, trimmed(trim)),
        None => format!("pool '{}' was not trimmed since it was opened", pool.name),
    }
}

/// The same without its name.
pub fn trimmed(trim: &Trim) -> String {
    let free = ByteSize(trim.free_bytes);
    let mut said = match trim.is("running") {
        true => ProgressText::from(trim).behind(format!("a trim is {:.1} % done", trim.done_percent)),
        false => format!("the drives know of {free} of free space"),
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
