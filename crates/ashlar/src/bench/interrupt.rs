//! A signal ends the benchmark early, and well: its daemons end, and their files go. Without this the files of a map of
//! 1 TiB would stay in memory.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};

use crate::serve::{Signals, on_runtime};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Listens for signals from now on. What measures has to [`check`] now and then; a second signal ends the process.
///
/// # Errors
/// When the operating system has no thread for it.
pub fn listen() -> anyhow::Result<()> {
    let listening = || {
        on_runtime(async {
            let mut signals = Signals::listen()?;
            signals.next().await;
            INTERRUPTED.store(true, Ordering::Relaxed);
            signals.next().await;
            std::process::exit(1);
        })
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || -> anyhow::Result<()> { listening() }).context("listening for signals")?;
    Ok(())
}

/// # Errors
/// If there was a signal.
pub fn check() -> anyhow::Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted by a signal; nothing of the benchmark is left");
    }
    Ok(())
}
