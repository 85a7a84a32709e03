//! Which events, and which entries of the audit log.

use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use humantime::{format_rfc3339_millis, parse_duration, parse_rfc3339_weak};

/// Which events.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ashlar events
  ashlar events --severity warning --since 2h
  ashlar events --pool tank --kind drive_state,spare_taken
  ashlar events --follow --output json | jq .message
The daemon writes its events down: they outlive it, up to 32MiB of them.")]
pub struct EventsArguments {
    /// Keep printing new events, within a second; as JSON one event a line
    #[arg(long, conflicts_with = "limit")]
    pub follow: bool,
    /// Only events with a number greater than this: the first word of each event
    #[arg(long, value_name = "SEQ", value_parser = parse_event_number)]
    pub after: Option<u64>,
    /// Only events that are at least as bad
    #[arg(long, value_enum)]
    pub severity: Option<LeastSeverity>,
    /// Only events of these kinds, with commas between them
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Only events about this pool
    #[arg(long, value_name = "POOL")]
    pub pool: Option<String>,
    /// Only events about a volume of this name
    #[arg(long, value_name = "VOLUME")]
    pub volume: Option<String>,
    /// Only events about a drive of this name, as drive-2
    #[arg(long, value_name = "DRIVE")]
    pub drive: Option<String>,
    /// Only events about this host
    #[arg(long, value_name = "NQN")]
    pub host: Option<String>,
    /// Which time, and how many
    #[command(flatten)]
    pub span: SpanArguments,
}

/// Which entries of the audit log.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ashlar audit
  ashlar audit --pool tank --since 7d
  ashlar audit --result refused --output json
Every change is there, whether it was done, failed, was refused, or the client
was asked for confirmation. The daemon keeps up to 64MiB of it.")]
pub struct AuditArguments {
    /// Only entries with a number greater than this: the first word of each entry
    #[arg(long, value_name = "SEQ", value_parser = parse_event_number)]
    pub after: Option<u64>,
    /// Only changes of this pool
    #[arg(long, value_name = "POOL")]
    pub pool: Option<String>,
    /// Only those of which that came
    #[arg(long, value_enum)]
    pub result: Option<DeedResult>,
    /// Which time, and how many
    #[command(flatten)]
    pub span: SpanArguments,
}

/// Which time, and how many.
#[derive(Args, Clone, Debug)]
pub struct SpanArguments {
    /// Only what is of this time or later: 2026-01-31T12:00:00Z, or how long ago, as 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub since: Option<String>,
    /// Only what is before this time, written in the same way
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub until: Option<String>,
    /// So many at most, 1 to 10000: the last ones, or with --after the first ones [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub limit: Option<u16>,
}

/// How bad events are, at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LeastSeverity {
    /// All
    Info,
    /// To look at, or worse
    Warning,
    /// To do something about
    Error,
}

/// What came of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DeedResult {
    /// It was done
    Done,
    /// It has failed, and may be done in part
    Failed,
    /// It was refused
    Refused,
    /// The client was asked for confirmation
    Asked,
}

fn parse_event_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        format!("'{text}' is no event number: `ashlar events` shows the number of each event")
    })
}

/// A time as the API takes it.
fn parse_time(text: &str) -> Result<String, String> {
    let is_one = |time: &SystemTime| *time >= SystemTime::UNIX_EPOCH;
    let ago = |ago: Duration| SystemTime::now().checked_sub(ago).filter(is_one);
    let time = parse_rfc3339_weak(text).ok().or_else(|| ago(parse_duration(text).ok()?));
    let wrong = || format!("'{text}' is no time: write 2026-01-31T12:00:00Z, or 2h or 7d for ago");
    time.map(|time| format_rfc3339_millis(time).to_string()).ok_or_else(wrong)
}

impl EventsArguments {
    /// What the API is asked for: names of its query, and their values.
    pub fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = self.span.query();
        query.extend(self.after.map(|after| ("after", after.to_string())));
        query.extend(word(self.severity).map(|severity| ("severity", severity)));
        let named = [
            ("kind", &self.kind),
            ("pool", &self.pool),
            ("volume", &self.volume),
            ("drive", &self.drive),
            ("host", &self.host),
        ];
        query.extend(named.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        query
    }
}

impl AuditArguments {
    /// What the API is asked for: names of its query, and their values.
    pub fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = self.span.query();
        query.extend(self.after.map(|after| ("after", after.to_string())));
        query.extend(self.pool.clone().map(|pool| ("pool", pool)));
        query.extend(word(self.result).map(|result| ("result", result)));
        query
    }
}

impl SpanArguments {
    fn query(&self) -> Vec<(&'static str, String)> {
        let since = self.since.clone().map(|since| ("since", since));
        let until = self.until.clone().map(|until| ("until", until));
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        since.into_iter().chain(until).chain(limit).collect()
    }
}

fn word(value: Option<impl ValueEnum>) -> Option<String> {
    value?.to_possible_value().map(|value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests;
