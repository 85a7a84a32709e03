//! Asking before something is lost: the daemon says what a request costs, and whoever sits at a
//! terminal decides.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context, ensure};
use ashlar_control::{CONFIRM, ErrorCode};

use super::client::Refused;

/// What `send` comes to, which sends a request with the query that it is given. Without `yes` the
/// daemon may say what the request costs; it is sent again once somebody at a terminal has
/// accepted that.
///
/// # Errors
/// As of `send`; without a terminal also what the request costs.
pub async fn sent<T>(
    yes: bool,
    send: impl AsyncFn(String) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let refused = match send(query(yes)).await {
        Err(refused) if !yes => refused,
        done => return done,
    };
    let Some(costs) = costs(&refused).filter(|_| std::io::stdin().is_terminal()) else {
        return Err(refused);
    };
    ask(costs)?;
    send(query(true)).await
}

fn query(has_consented: bool) -> String {
    if has_consented { format!("?{CONFIRM}") } else { String::new() }
}

/// What a request costs that was refused for that.
fn costs(refused: &anyhow::Error) -> Option<&str> {
    let refused: &Refused = refused.downcast_ref()?;
    (refused.code == ErrorCode::ConfirmationNeeded.word()).then_some(refused.detail.as_str())
}

fn ask(costs: &str) -> anyhow::Result<()> {
    write!(std::io::stderr(), "{costs}\nGo on? [y/N] ")
        .context("cannot ask on standard error: nothing was done")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    ensure!(matches!(answer.trim(), "y" | "Y" | "yes"), "nothing was done");
    Ok(())
}
