//! What is not well.

use ashlar_block::printable;
use ashlar_control::types::{Alert, Severity};

use super::grid::{below, cut_below, prose};

/// Each with what to do, the worst first.
pub fn alerts(alerts: &[Alert]) -> String {
    if alerts.is_empty() {
        return "all is well".to_owned();
    }
    alerts.iter().map(alert).collect::<Vec<_>>().join("\n")
}

/// One of them, below which stands what to do.
pub(super) fn alert(alert: &Alert) -> String {
    let severity = match alert.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let said = prose(&format!("{severity}: {}", printable(&alert.message)));
    match &alert.hint {
        Some(hint) => format!("{said}\n{}", below(&cut_below(hint))),
        None => said,
    }
}

#[cfg(test)]
mod tests;
