//! `ashlar pool rebuild --wait`, and what else waits for data to be moved.

use std::time::{Duration, Instant};

use anyhow::bail;
use ashlar_control::types::Pool;
use indicatif::{ProgressBar, ProgressStyle};

use super::client::Client;

const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How long a degraded pool may have nothing to rebuild: a loss is first made known to the other drives.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Returns the pool at `path` once it has left `state`: degraded, or evacuating.
///
/// # Errors
/// When the pool cannot move what it would have to, with the reason.
pub async fn wait(client: &Client, path: &str, state: &str) -> anyhow::Result<Pool> {
    let style = ProgressStyle::with_template("{bar:30} {percent} %  {msg}").expect("the template is valid");
    let bar = ProgressBar::new(1000).with_style(style);
    let mut busy_at = Instant::now();
    loop {
        let pool: Pool = client.get(path).await?;
        if !pool.states.iter().any(|is| is == state) {
            bar.finish_and_clear();
            return Ok(pool);
        }
        if let Some(why) = &pool.problem {
            bail!("pool '{}' cannot rebuild: {why}", pool.name);
        }
        if let Some(rebuild) = pool.rebuild {
            busy_at = Instant::now();
            bar.set_position((rebuild.percent * 10.0) as u64);
            bar.set_message(rebuild.eta_s.map_or_else(String::new, |seconds| format!("{seconds} s to go")));
        } else if busy_at.elapsed() > IDLE_MAX {
            bail!(
                "pool '{}' lacks drives, and nothing of it can be rebuilt: ashlar pool show {} tells which are missing",
                pool.name,
                pool.name
            );
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}
