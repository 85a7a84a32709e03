//! A command that takes a while, and has no progress to show.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use indicatif::{ProgressBar, ProgressStyle};

/// Nobody wonders before.
const QUIET: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(200);

/// What `work` comes to. Whoever sits at a terminal is told `why` if it lasts.
pub(super) async fn told<T>(why: &'static str, work: impl Future<Output = T>) -> T {
    let work = pin!(work);
    let rest = match select(work, pin!(tokio::time::sleep(QUIET))).await {
        Either::Left((done, _)) => return done,
        Either::Right(((), rest)) => rest,
    };
    let style =
        ProgressStyle::with_template("{spinner} {elapsed}  {msg}").expect("the template is valid");
    let spinner =
        ProgressBar::new_spinner().with_style(style).with_message(why).with_elapsed(QUIET);
    spinner.enable_steady_tick(TICK);
    let done = rest.await;
    spinner.finish_and_clear();
    done
}
