//! Webhooks and mail, as people see them.

use ashlar_control::types::{Receiver, Severity};

use super::grid::sheet;
use super::printable;

/// All receivers, one below the other: their addresses are long.
pub fn receivers(receivers: &[Receiver]) -> String {
    if receivers.is_empty() {
        return "nobody is told of events: [[webhook]] and [mail] of the configuration name who is"
            .to_owned();
    }
    receivers.iter().map(receiver).collect::<Vec<_>>().join("\n\n")
}

fn receiver(receiver: &Receiver) -> String {
    let severity = match receiver.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let mut events = format!("{severity} or worse");
    if !receiver.kinds.is_empty() {
        events.push_str(&format!(", of the kinds {}", receiver.kinds.join(", ")));
    }
    let at = receiver.delivered_at.clone();
    let mut rows = vec![
        ("name", receiver.name.clone()),
        ("kind", receiver.kind.clone()),
        ("address", printable(&receiver.address)),
        ("events", events),
        ("state", receiver.states.join(" ")),
        ("told last", at.unwrap_or_else(|| "not since the daemon was started".to_owned())),
        ("told up to", receiver.delivered_seq.to_string()),
    ];
    if receiver.queued_events > 0 {
        rows.push(("queued", receiver.queued_events.to_string()));
    }
    if receiver.dropped_events > 0 {
        rows.push(("dropped", receiver.dropped_events.to_string()));
    }
    rows.extend(receiver.problem.as_ref().map(|why| ("problem", printable(why))));
    sheet(rows)
}
