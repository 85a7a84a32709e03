//! How a line of the log is written: for people, or as an object of JSON for programs.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{DefaultFields, Format, Full, Json, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent};
use tracing_subscriber::registry::LookupSpan;

use super::queue::LINE_BYTES_MAX;

/// How the lines of the log are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// For programs: an object on each line, with timestamp, level, message and target
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        })
    }
}

/// What is left of the message of a line that is too long: each of its bytes may become six.
const CUT_MESSAGE_BYTES: usize = LINE_BYTES_MAX / 8;
/// Ends a message that was cut.
const CUT: &str = " ... (cut)";

/// Of the log of this process: its writer and its panics write lines, too.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Has lines written so from now on.
pub fn choose(format: LogFormat) {
    IS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// How lines are written now.
pub fn chosen() -> LogFormat {
    if IS_JSON.load(Ordering::Relaxed) { LogFormat::Json } else { LogFormat::Text }
}

/// Writes events as is asked for at that time.
pub struct Events {
    text: Format<Full>,
    json: Format<Json>,
    asked: fn() -> LogFormat,
}

impl Events {
    /// Events as `asked` says.
    pub fn new(asked: fn() -> LogFormat) -> Self {
        let json = Format::default().json().flatten_event(true);
        let json = json.with_current_span(false).with_span_list(false);
        Events { text: Format::default(), json, asked }
    }
}

impl<S> FormatEvent<S, DefaultFields> for Events
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, DefaultFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if (self.asked)() == LogFormat::Text {
            return self.text.format_event(context, writer, event);
        }
        let mut line = String::new();
        self.json.format_event(context, Writer::new(&mut line), event)?;
        if line.len() > LINE_BYTES_MAX {
            line = shortened(&line, event);
        }
        writer.write_str(&line)
    }
}

/// The line without its fields, and with the beginning of its message: cut anywhere it would be no
/// object any more.
fn shortened(line: &str, event: &Event<'_>) -> String {
    let object: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    let about = event.metadata();
    json_line(*about.level(), about.target(), object["message"].as_str().unwrap_or_default())
}

/// A line of JSON in the shape of those that the subscriber writes.
pub fn json_line(level: Level, target: &str, message: &str) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        timestamp: String,
        level: &'a str,
        message: &'a str,
        target: &'a str,
    }
    let mut cut = String::new();
    let message = if message.len() * 6 > LINE_BYTES_MAX && message.len() > CUT_MESSAGE_BYTES {
        cut.push_str(beginning(message, CUT_MESSAGE_BYTES));
        cut.push_str(CUT);
        &cut
    } else {
        message
    };
    let line = Line { timestamp: now(), level: level.as_str(), message, target };
    let line = serde_json::to_string(&line).expect("text becomes JSON");
    format!("{line}\n")
}

/// The beginning of a text, of at most so many bytes.
fn beginning(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The time as the lines have it.
pub fn now() -> String {
    let mut time = String::new();
    // A line without a time says as much.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    time
}

#[cfg(test)]
mod tests;
