//! Waiting for what a pool is doing, with a bar that shows how far it is.

use std::time::Duration;

use anyhow::{bail, ensure};
use ashlar_control::ProgressText;
use ashlar_control::types::{Pool, PoolDrive};
use indicatif::{ProgressBar, ProgressStyle};

use super::client::Client;

const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How far the work is, as the bar shows it.
pub(super) struct Shown {
    done_percent: f64,
    message: String,
}

impl Shown {
    /// What is done, with what is left behind it.
    pub(super) fn new(done_percent: f64, left: impl Into<ProgressText>) -> Self {
        Shown { done_percent, message: left.into().behind(format_args!("{done_percent:.1} %")) }
    }

    /// What is done, with these words behind it.
    pub(super) fn of(done_percent: f64, message: String) -> Self {
        Shown { done_percent, message }
    }

    /// The same with more behind it.
    pub(super) fn with(mut self, more: &str) -> Self {
        self.message.push_str(more);
        self
    }
}

/// A bar of a thousand parts, with a [`ProgressText`] behind it.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let style = ProgressStyle::with_template("{bar:30} {msg}").expect("the template is valid");
        Bar(ProgressBar::new(1000).with_style(style))
    }

    /// Shows how far the work is, if that is known. Returns when the pool is to be looked at again.
    pub(super) async fn next_look(&self, shown: Option<Shown>) {
        if let Some(Shown { done_percent, message }) = shown {
            self.0.set_position((done_percent * 10.0) as u64);
            self.0.set_message(message);
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }

    pub(super) fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Returns the pool at `path` once `is_ended` says of it that its `work`, which is so called, has
/// ended. Until then the bar shows what `shown` makes of the pool.
///
/// # Errors
/// When the pool is not open or has a problem, and those of `is_ended` and `shown`.
pub(super) async fn wait(
    client: &Client,
    path: &str,
    work: &str,
    is_ended: impl Fn(&Pool) -> anyhow::Result<bool>,
    mut shown: impl FnMut(&Pool) -> anyhow::Result<Option<Shown>>,
) -> anyhow::Result<Pool> {
    let bar = Bar::new();
    loop {
        let pool: Pool = client.get(path).await?;
        check_open(&pool)?;
        if is_ended(&pool)? {
            bar.end();
            return Ok(pool);
        }
        if let Some(why) = &pool.problem {
            bail!("pool '{}' cannot go on with its {work}: {why}", pool.name);
        }
        bar.next_look(shown(&pool)?).await;
    }
}

/// Nothing goes on in a pool that is not open.
pub(super) fn check_open(pool: &Pool) -> anyhow::Result<()> {
    let is = |state: &str| pool.states.iter().any(|is| is == state);
    let why = pool.problem.as_deref().unwrap_or("the daemon does not say why");
    ensure!(
        !is("opening"),
        "pool '{}' is not open yet: {why}. It opens by itself; `ashlar pool show {}` shows how far \
         that is",
        pool.name,
        pool.name
    );
    let is_memory =
        |drive: &PoolDrive| drive.spec.as_ref().is_some_and(|spec| spec.starts_with("mem:"));
    ensure!(
        !(is("unavailable") && pool.drives.iter().any(is_memory)),
        "pool '{}' is not open: {why}",
        pool.name
    );
    ensure!(
        !is("unavailable"),
        "pool '{}' is not open: {why}. It opens by itself once enough of its drives are there; \
         `ashlar pool import {} --degraded` opens it with those that are",
        pool.name,
        pool.name
    );
    Ok(())
}
