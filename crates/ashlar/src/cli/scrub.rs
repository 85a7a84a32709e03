//! `ashlar pool scrub --wait`.

use std::time::Duration;

use anyhow::{bail, ensure};
use ashlar_control::ProgressText;
use ashlar_control::types::{Pool, Scrub};

use super::client::Client;

const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Returns the pool at `path` once the scrub that is under way has ended.
///
/// # Errors
/// When somebody has stopped it, or the pool takes no writes any more or is not open and cannot end
/// it.
pub async fn wait(client: &Client, path: &str) -> anyhow::Result<Pool> {
    let bar = super::rebuild::bar();
    loop {
        let pool: Pool = client.get(path).await?;
        super::rebuild::check_open(&pool)?;
        let Some(scrub) = pool.scrub.as_ref() else { bail!("pool '{}' knows of no scrub", pool.name) };
        if !scrub.is("running") {
            bar.finish_and_clear();
            ensure!(scrub.is("finished"), "the scrub of pool '{}' was stopped", pool.name);
            return Ok(pool);
        }
        if let Some(why) = &pool.problem {
            bail!("pool '{}' cannot go on with its scrub: {why}", pool.name);
        }
        bar.set_position((scrub.done_percent * 10.0) as u64);
        let found = match scrub.wrong + scrub.unreadable {
            0 => String::new(),
            found => format!(", {found} sectors were wrong or unreadable"),
        };
        let progress_text = ProgressText::from(scrub).behind(format_args!("{:.1} %", scrub.done_percent));
        bar.set_message(format!("{progress_text}{found}"));
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// That nothing that the scrub has found wrong is left so, and that no drive was given up for it: a
/// script that scrubs before it takes a drive away has to know.
///
/// # Errors
/// What is, and what helps.
pub fn is_all_right(pool: &Pool) -> anyhow::Result<()> {
    let Some(scrub) = &pool.scrub else { return Ok(()) };
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
