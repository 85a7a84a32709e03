//! The text format of Prometheus before OpenMetrics (version 0.0.4), for those who ask for nothing
//! newer. Of OpenMetrics it lacks the units and the end, and the name of a counter has `_total`
//! where it is described, too.

/// What such a text is, made of one in OpenMetrics. Each family has its help, its kind, perhaps its
/// unit, and its series.
pub fn of(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        match described(line) {
            Some(("HELP", name, said)) => help = Some((name, said)),
            Some(("TYPE", name, kind)) => {
                let name = if kind == "counter" { &format!("{name}_total") } else { name };
                if let Some((_, said)) = help.take() {
                    text.push_str(&format!("# HELP {name} {said}\n"));
                }
                text.push_str(&format!("# TYPE {name} {kind}\n"));
            }
            _ if line.starts_with('#') => {}
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// The kind of a line that describes a family, its name, and what is said of it.
fn described(line: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = line.strip_prefix("# ")?.split_once(' ')?;
    let (name, said) = rest.split_once(' ')?;
    Some((kind, name, said))
}

#[cfg(test)]
mod tests;
