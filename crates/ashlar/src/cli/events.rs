//! `ashlar events --follow`.

use anyhow::{Context, bail, ensure};
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
    let mut stream = client.stream(&queried("/events/stream", &asked.query())?).await?;
    let (mut lines, mut printed) = (Lines::default(), output::Lines::new(output));
    let mut last = None;
    while let Some(data) = stream.next().await? {
        for line in lines.add(&data)? {
            let Some(data) = line.strip_prefix("data:") else { continue };
            let event = serde_json::from_str(data).context("an event is not understood")?;
            note_gap(&mut last, &event);
            print_line(printed.text(&event, tables::event)?)?;
        }
    }
    bail!("the daemon has ended")
}

/// Says how many events were dropped before this one, which is read too slowly.
fn note_gap(last: &mut Option<u64>, event: &Event) {
    let missed = last.map_or(0, |last| event.seq.saturating_sub(last + 1));
    if missed > 0 {
        note(format_args!("note: {missed} events were missed"));
    }
    *last = Some(event.seq);
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
