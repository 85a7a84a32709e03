//! `ashlar status`.

use std::fmt;

use ashlar_control::types::Status;

use super::client::Client;
use super::tables;
use super::verbs::print;
use crate::args::{Output, StatusArguments};

/// What a command ends with that was asked to check, and has found something that is not well. It
/// has said what.
pub const NOT_WELL: u8 = 3;

/// Something is not well, and that was printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotWell;

impl fmt::Display for NotWell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something is not well")
    }
}

impl std::error::Error for NotWell {}

/// Prints it.
///
/// # Errors
/// The daemon cannot be reached; or [`NotWell`], where somebody has asked for that.
pub(super) async fn run(
    client: &Client,
    asked: StatusArguments,
    output: Output,
) -> anyhow::Result<()> {
    let status: Status = client.get("/status").await?;
    if !asked.ill && !asked.check {
        return print(output, &status, tables::status);
    }
    print(output, &status.alerts, |alerts| tables::alerts(alerts))?;
    match asked.check && !status.alerts.is_empty() {
        true => Err(NotWell.into()),
        false => Ok(()),
    }
}
