//! `ashlar pool rebuild --wait`, and what else waits for data to be moved.

use std::time::{Duration, Instant};

use anyhow::bail;
use ashlar_control::types::{Pool, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use super::client::Client;

const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How long a degraded pool may have nothing to rebuild: a loss is first made known to the other drives.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// How long nothing may be left less than before: it waits for room then.
const STANDSTILL_MAX: Duration = Duration::from_secs(60);

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// What lived on lost drives is restored on others.
    Rebuild,
    /// What lives on drives that are to go goes to others.
    Evacuation,
    /// What lives is spread over all drives.
    Rebalance,
}

impl Work {
    /// The state that a pool is in until it is done.
    fn state(self) -> &'static str {
        match self {
            Work::Rebuild => "degraded",
            Work::Evacuation => "evacuating",
            Work::Rebalance => "rebalancing",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Work::Rebuild | Work::Evacuation => "rebuild",
            Work::Rebalance => "rebalance",
        }
    }

    fn progress(self, pool: &Pool) -> Option<Progress> {
        match self {
            Work::Rebuild | Work::Evacuation => pool.rebuild,
            Work::Rebalance => pool.rebalance,
        }
    }
}

/// Returns the pool at `path` once the work is done.
///
/// # Errors
/// When the pool cannot move what it would have to, with the reason.
pub async fn wait(client: &Client, path: &str, work: Work) -> anyhow::Result<Pool> {
    let style = ProgressStyle::with_template("{bar:30} {percent} %  {msg}").expect("the template is valid");
    let bar = ProgressBar::new(1000).with_style(style);
    let mut busy_at = Instant::now();
    let mut least = (u64::MAX, Instant::now());
    loop {
        let pool: Pool = client.get(path).await?;
        if !pool.states.iter().any(|is| is == work.state()) {
            bar.finish_and_clear();
            return Ok(pool);
        }
        if let Some(why) = &pool.problem {
            bail!("pool '{}' cannot {}: {why}", pool.name, work.verb());
        }
        if let Some(progress) = work.progress(&pool) {
            busy_at = Instant::now();
            if progress.bytes_left < least.0 {
                least = (progress.bytes_left, busy_at);
            }
            if least.1.elapsed() > STANDSTILL_MAX {
                bail!(
                    "the {} of pool '{}' waits for room: it goes on by itself once data are deleted or trimmed, or a drive \
                     is added",
                    work.verb(),
                    pool.name
                );
            }
            bar.set_position((progress.percent * 10.0) as u64);
            bar.set_message(progress.eta_s.map_or_else(String::new, |seconds| format!("{seconds} s to go")));
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
