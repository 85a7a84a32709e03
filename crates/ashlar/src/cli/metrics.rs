//! `ashlar metrics`: the reference of what a monitor scrapes.

use ashlar_control::MetricMeaning;

use super::tables;
use crate::args::Output;
use crate::stdio::print_line;

/// Prints it.
///
/// # Errors
/// Standard output takes no more.
pub fn run(output: Output) -> anyhow::Result<()> {
    let all = ashlar_control::metrics();
    Ok(print_line(output.text(&all, |all| tables::metrics(all))?)?)
}

/// The page `docs/metrics.md`.
pub fn page() -> String {
    let all = ashlar_control::metrics();
    let row = |metric: &MetricMeaning| {
        let labels: Vec<String> = metric.labels.iter().map(|it| format!("`{it}`")).collect();
        format!("| `{}` | {} | {} | {} |", metric.name, metric.kind, labels.join(", "), metric.help)
    };
    let rows: Vec<String> = all.iter().map(row).collect();
    format!("{HEAD}\n\n| name | type | labels | is |\n|---|---|---|---|\n{}\n", rows.join("\n"))
}

const HEAD: &str = "# Metrics

<!-- `ashlar man --page metrics` writes this page. -->

`GET /metrics` has the figures of the appliance, for Prometheus and all that reads the same: in its
text format (0.0.4), or as OpenMetrics if `Accept` names `application/openmetrics-text`, as
Prometheus does. They are read when somebody asks, and cost nothing in between. Who comes by the
network shows a token of the role `viewer`:

```console
$ umask 077; ashlar token create prometheus --role viewer > ashlar.token
```

`packaging/monitoring` (in the package: `/usr/share/doc/ashlar/monitoring`) has a configuration for
Prometheus, rules that warn, each with what to do, and a dashboard for Grafana.

How many series there are is bounded: 20 states and about 60 figures for each pool, about 50 series
for each volume, 60 for each drive, four for each reactor, eight for each host that is connected,
six for each of the last 64 hosts that were, and `ashlar_alerts` one for each code of what is not
well now, and for each severity that it has. A pool of 60 drives with 1,000 volumes and 500 hosts
has about 58,000. A series that is not there means that its value is not known or does not apply; it
never stands for 0.

`ashlar metrics` prints this table.";
