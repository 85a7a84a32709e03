//! `ashlar events --follow`.

use anyhow::{Context, bail, ensure};
use ashlar_control::EventKind;
use ashlar_control::types::Event;
use bytes::Bytes;

use super::client::Client;
use super::tables;
use super::verbs::queried;
use crate::args::{EventsArguments, Output};
use crate::output;
use crate::stdio::{note, print_line};

/// Bytes of an event, at most.
const EVENT_BYTES_MAX: usize = 64 << 10;

/// Prints what happens and was asked for, for as long as somebody reads it.
///
/// # Errors
/// The daemon has ended, or cannot be reached; or standard output takes no more.
pub async fn follow(
    client: &Client,
    asked: &EventsArguments,
    output: Output,
) -> anyhow::Result<()> {
    let query = asked.query();
    // Between those of a kind there are others, which nobody has missed.
    let is_all = query.iter().all(|(name, _)| *name == "after");
    let mut stream = client.stream(&queried("/events/stream", &query)?).await?;
    let (mut lines, mut printed) = (Lines::default(), output::Lines::new(output));
    let mut last = None;
    while let Some(data) = stream.next().await? {
        for line in lines.add(&data)? {
            let Some(data) = line.strip_prefix("data:") else { continue };
            let event = serde_json::from_str(data).context("an event is not understood")?;
            if is_all && let Some(missed) = missed(&mut last, &event) {
                note(format_args!("note: {missed} events were missed"));
            }
            print_line(printed.text(&event, tables::event)?)?;
        }
    }
    bail!("the daemon has ended")
}

/// How many events were before this one which nobody has kept. A start of the daemon begins with a
/// number of its own.
fn missed(last: &mut Option<u64>, event: &Event) -> Option<u64> {
    let before = last.replace(event.seq)?;
    let missed = event.seq.saturating_sub(before + 1);
    let is_start = event.what.kind == EventKind::DaemonStarted.word();
    (missed > 0 && !is_start).then_some(missed)
}

/// Whole lines of what comes in pieces.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    fn add(&mut self, data: &Bytes) -> anyhow::Result<Vec<String>> {
        self.rest.extend_from_slice(data);
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        ensure!(self.rest.len() <= EVENT_BYTES_MAX, "what the daemon sends is no stream of events");
        let text = String::from_utf8(whole).context("what the daemon sends is no text")?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests;
