//! The metrics that there are.

use ashlar_control::MetricMeaning;

use super::grid::{Kind, Text, table};

/// All of them, with what they mean.
pub fn metrics(all: &[MetricMeaning]) -> String {
    let columns = [("metric", Kind::Figure), ("is", Kind::Words)];
    let row = |metric: &MetricMeaning| {
        let labels = match metric.labels {
            [] => String::new(),
            labels => format!(" By {}.", labels.join(", ")),
        };
        vec![Text::from(&metric.name), format!("{}{labels}", metric.help).into()]
    };
    table(&columns, all.iter().map(row).collect())
}
