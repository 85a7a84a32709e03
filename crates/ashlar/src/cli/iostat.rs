//! `ashlar iostat`.

use std::time::Duration;

use anyhow::bail;
use ashlar_block::{check_name, is_uuid};
use ashlar_control::types::{IoStat, PoolDrive};
use tokio::time::{MissedTickBehavior, interval};

use super::client::Client;
use super::paths::absolute;
use crate::args::{IostatArguments, Output};
use crate::output::Lines;
use crate::stdio::{note, print_line};
use report::Report;
use table::Page;

mod report;
mod table;

/// From one report to the next, where nobody says.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);

/// Prints one report after the other, for as long as somebody reads them or as many as are wanted.
///
/// # Errors
/// What is asked for is not there; the daemon cannot be reached; or standard output takes no more.
pub async fn run(client: &Client, asked: IostatArguments, output: Output) -> anyhow::Result<()> {
    let is_one = asked.interval.is_none() && asked.count.is_none();
    let reports = if is_one { Some(1) } else { asked.count };
    let mut ticks = interval(asked.interval.unwrap_or(USUAL_INTERVAL));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut path = path_of(&resolved(client, &asked.names).await?, asked.drives);
    let (page, lines) = (Page::new(asked.latency), Lines::new(output));
    let mut printer = Printer { output, page, lines, is_empty: false };
    let (mut before, mut done) = (None, 0);
    while reports.is_none_or(|reports| done < reports) {
        ticks.tick().await;
        let now: IoStat = client.get(&path).await?;
        printer.print(&Report::new(before.as_ref(), &now), asked.names.is_empty())?;
        if before.is_none() && !asked.names.is_empty() {
            path = path_of(&identities(&now, asked.drives), asked.drives);
        }
        before = Some(now);
        done += 1;
    }
    Ok(())
}

/// Prints reports.
struct Printer {
    output: Output,
    page: Page,
    /// The same for programs.
    lines: Lines,
    /// The last report was of nothing.
    is_empty: bool,
}

impl Printer {
    fn print(&mut self, report: &Report, is_of_all: bool) -> anyhow::Result<()> {
        if report.is_restarted {
            note("note: the daemon was restarted: this report is of the time since then");
        }
        let was_empty = std::mem::replace(&mut self.is_empty, report.is_empty());
        if self.is_empty && !was_empty {
            note(match is_of_all {
                true => "note: there is no open pool: `ashlar pool list` shows which there are",
                false => "note: nothing of what was asked for is there any more",
            });
        }
        let text = match self.output {
            Output::Table => self.page.text(report),
            Output::Csv => Some(self.lines.text(&report.rows(), |_| String::new())?),
            _ => Some(self.lines.text(&report.shown(), |_| String::new())?),
        };
        Ok(text.filter(|text| !text.is_empty()).map_or(Ok(()), print_line)?)
    }
}

/// What is asked for of so named things.
fn path_of(names: &[String], drives: bool) -> String {
    format!("/iostat?of={}&drives={drives}", names.join(","))
}

/// The names, with those of drives that are paths as the daemon knows them.
async fn resolved(client: &Client, names: &[String]) -> anyhow::Result<Vec<String>> {
    if names.iter().all(|name| is_plain(name)) {
        return Ok(names.to_vec());
    }
    let members: Vec<PoolDrive> = client.get("/drives").await?;
    names.iter().map(|name| identity_of_drive(&members, name)).collect()
}

fn identity_of_drive(members: &[PoolDrive], name: &str) -> anyhow::Result<String> {
    if is_plain(name) {
        return Ok(name.to_owned());
    }
    let place = absolute(name)?;
    let is_meant = |member: &&PoolDrive| {
        member.is_named(name) || member.is_found_by(&place) || member.is_at(&place)
    };
    match members.iter().rfind(is_meant) {
        Some(member) => Ok(member.uuid.clone()),
        None => bail!(
            "'{name}' names no pool, volume or drive of a pool: write POOL, POOL/VOLUME, or \
             POOL/DRIVE as in tank/drive-2"
        ),
    }
}

/// Whether it can be POOL, POOL/VOLUME or POOL/DRIVE.
fn is_plain(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    parts.len() <= 2 && parts.iter().all(|part| is_uuid(part) || check_name(part).is_ok())
}

/// What was found, by what stays when it gets another name.
fn identities(found: &IoStat, drives: bool) -> Vec<String> {
    let is_of_pool = |pool: &str| found.pools.iter().any(|whole| whole.name == pool);
    let pools = found.pools.iter().map(|pool| pool.uuid.clone());
    let volumes = found.volumes.iter().filter(|volume| !is_of_pool(&volume.pool));
    let alone = found.drives.iter().filter(|drive| !drives || !is_of_pool(&drive.pool));
    let volumes = volumes.map(|volume| volume.uuid.clone());
    pools.chain(volumes).chain(alone.map(|drive| drive.uuid.clone())).collect()
}

#[cfg(test)]
mod tests;
