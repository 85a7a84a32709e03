//! Events, and the audit log.

use ashlar_control::types::{AuditEntry, Event, Severity};

use super::grid::{below, cut_below};

/// Events, one after the other.
pub fn events(events: &[Event]) -> String {
    events.iter().map(event).collect::<Vec<_>>().join("\n")
}

/// An event: its number, when, how bad and what, and below that what there is to say and to do.
pub fn event(event: &Event) -> String {
    let severity = match event.what.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let Event { seq, time, what } = event;
    let message = below(&cut_below(&what.message));
    let hint = what.hint.as_ref().filter(|_| what.severity > Severity::Info);
    let hint = hint.map_or_else(String::new, |hint| {
        format!("\n{}", below(&cut_below(&format!("to do: {hint}"))))
    });
    format!("{seq}  {time}  {severity:7}  {}\n{message}{hint}", what.kind)
}

/// Entries of the audit log: each with its number, when, what came of it, and what was asked for;
/// below that by whom, with what, and why it was refused.
pub fn audit(entries: &[AuditEntry]) -> String {
    entries.iter().map(entry).collect::<Vec<_>>().join("\n")
}

fn entry(entry: &AuditEntry) -> String {
    let AuditEntry { seq, time, what } = entry;
    let head = format!("{seq}  {time}  {:7}  {} {}", what.result, what.command, what.about());
    let mut lines = vec![head.trim_end().to_owned()];
    let mut say = |text: String| lines.push(below(&cut_below(&text)));
    say(format!("by {} ({})", what.caller, what.role));
    if !what.request.is_empty() {
        say(what.request.clone());
    }
    if let Some(problem) = &what.problem {
        say(problem.clone());
    }
    lines.join("\n")
}
