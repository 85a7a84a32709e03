//! `ashlar pool scrub --wait`.

use anyhow::{Context, ensure};
use ashlar_control::types::{Pool, Scrub};

use super::client::Client;
use super::progress::{self, Shown};

/// Returns the pool at `path` once the scrub that is under way has ended.
///
/// # Errors
/// When somebody has stopped it, or the pool takes no writes any more or is not open and cannot end
/// it.
pub async fn wait(client: &Client, path: &str) -> anyhow::Result<Pool> {
    let pool =
        progress::wait(client, path, "scrub", is_ended, |pool| known(pool).map(shown)).await?;
    ensure!(known(&pool)?.is("finished"), "the scrub of pool '{}' was stopped", pool.name);
    Ok(pool)
}

fn is_ended(pool: &Pool) -> anyhow::Result<bool> {
    known(pool).map(|scrub| !scrub.is("running"))
}

fn known(pool: &Pool) -> anyhow::Result<&Scrub> {
    pool.scrub().with_context(|| format!("pool '{}' knows of no scrub", pool.name))
}

fn shown(scrub: &Scrub) -> Option<Shown> {
    let found = match scrub.wrong + scrub.unreadable {
        0 => String::new(),
        found => format!(", {found} sectors were wrong or unreadable"),
    };
    Some(Shown::new(scrub.done_percent, scrub).with(&found))
}

/// That nothing that the scrub has found wrong is left so, and that no drive was given up for it: a
/// script that scrubs before it takes a drive away has to know.
///
/// # Errors
/// What is, and what helps.
pub fn is_all_right(pool: &Pool) -> anyhow::Result<()> {
    let Some(scrub) = pool.scrub() else { return Ok(()) };
    let Scrub { unrepaired, .. } = scrub;
    ensure!(
        *unrepaired == 0,
        "the scrub of pool '{}' could not repair {unrepaired} sectors. Bring lost drives back \
         (`ashlar drive return`), replace drives that refuse writes (`ashlar pool replace`), and \
         scrub again. Hosts get an error for what cannot be read until they write it again; scrubs \
         count its old place until garbage collection has emptied the segment",
        pool.name
    );
    let given_up = scrub.drives.iter().filter(|drive| drive.given_up.is_some());
    let given_up: Vec<&str> = given_up.map(|drive| drive.name.as_str()).collect();
    ensure!(
        given_up.is_empty(),
        "what the scrub of pool '{}' has found is repaired, but {} had too many faults and was \
         given up: `ashlar pool replace` puts another drive in its place",
        pool.name,
        given_up.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests;
