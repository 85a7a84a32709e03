//! `ashlar pool verify`.

use anyhow::{Context, bail, ensure};
use ashlar_control::ProgressText;
use ashlar_control::types::{Pool, Verify};

use super::client::Client;
use super::progress::{self, Shown};
use super::tables;

/// Returns the pool at `path` once the proof that goes on has ended.
///
/// # Errors
/// When the pool takes no writes any more or is not open, or the daemon was restarted, which has
/// ended it.
pub async fn wait(client: &Client, path: &str) -> anyhow::Result<Pool> {
    let shown = |pool: &Pool| Ok(pool.verify().map(|it| Shown::new(it.done_percent, it)));
    progress::wait(client, path, "verify", is_ended, shown).await
}

fn is_ended(pool: &Pool) -> anyhow::Result<bool> {
    let verify = pool.verify().with_context(|| {
        let name = &pool.name;
        format!(
            "the proof of pool '{name}' has ended with its daemon: `ashlar pool verify {name}` \
             begins a new one"
        )
    })?;
    Ok(!verify.is("running"))
}

/// Fails where the proof could not be done, or something differs.
///
/// # Errors
/// What differs, why it could not be done, or that somebody has stopped it.
pub fn check(pool: &Pool) -> anyhow::Result<()> {
    let Some(verify) = pool.verify() else { return Ok(()) };
    ensure!(!verify.is("stopped"), "the proof of the ledger of pool '{}' was stopped", pool.name);
    if let Some(why) = &verify.problem {
        bail!("the ledger of pool '{}' could not be proved: {why}", pool.name);
    }
    if !verify.differences.is_empty() {
        bail!(
            "the ledger of pool '{}' differs from what is there: {}. Nothing of it is lost; please \
             report it with the daemon's log",
            pool.name,
            verify.differences.join("; ")
        );
    }
    Ok(())
}

/// What a pool's proof has come to.
pub fn said(pool: &Pool) -> String {
    let Some(verify) = pool.verify() else {
        return format!("the ledger of pool '{}' was not proved since it was opened", pool.name);
    };
    if verify.is("running") || verify.is("stopped") {
        return format!("pool '{}': {}", pool.name, in_short(verify));
    }
    let table = tables::verified(&verify.figures);
    format!("pool '{}': {}\n\n{table}", pool.name, in_short(verify))
}

/// The same in a line, without the pool's name.
pub fn in_short(verify: &Verify) -> String {
    let figures = verify.figures.len();
    match () {
        () if verify.is("running") => {
            let done = format!("a proof of the ledger is {:.1} % done", verify.done_percent);
            ProgressText::from(verify).behind(done)
        }
        () if verify.is("stopped") => {
            format!("a proof of the ledger was stopped at {:.1} %", verify.done_percent)
        }
        () if verify.is("proven") => format!(
            "the ledger is what is there: {figures} figures, and those of {} volumes",
            verify.volumes_compared
        ),
        () => match &verify.problem {
            Some(why) => format!("the ledger could not be proved: {why}"),
            None => format!("the ledger differs in {} places", verify.differences.len()),
        },
    }
}

#[cfg(test)]
mod tests;
