//! A signal ends the benchmark early, and well: its daemons end, and their files go. Without this
//! the files of a map of 1 TiB would stay in memory.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use ashlar::Signals;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Listens for signals from now on. What measures has to [`check`] now and then; a second signal
/// ends the process.
///
/// # Errors
/// When the operating system refuses.
pub fn listen() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _inside = runtime.enter();
        Signals::that_end()?
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(await_two(signals))).context("listening for signals")?;
    Ok(())
}

async fn await_two(mut signals: Signals) {
    signals.end().await;
    INTERRUPTED.store(true, Ordering::Relaxed);
    signals.end().await;
    std::process::exit(1);
}

/// # Errors
/// If there was a signal.
pub fn check() -> anyhow::Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted by a signal");
    }
    Ok(())
}
