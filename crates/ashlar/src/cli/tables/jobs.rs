//! Jobs.

use ashlar_block::printable;
use ashlar_control::ProgressText;
use ashlar_control::types::{Job, JobKind};

use super::grid::{Kind, Text, prose, sheet, table};

/// All jobs, a line each.
pub fn jobs(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return "no jobs: nothing goes on, and nothing was asked for since the start".to_owned();
    }
    let columns = [
        ("job", Kind::Name),
        ("state", Kind::Words),
        ("done", Kind::Figure),
        ("left", Kind::Words),
        ("ended", Kind::Figure),
    ];
    let row = |job: &Job| {
        vec![
            Text::from(&job.id),
            job.states.join(", ").into(),
            percent(job).into(),
            left(job).into(),
            job.finished_at.as_deref().unwrap_or("-").into(),
        ]
    };
    let why = |job: &Job| match (said(job), job.kind) {
        (Some(said), _) => Some(prose(&format!("{}: {}", job.id, printable(said)))),
        // Its name is too long for the table, and is what to stop it by.
        (None, JobKind::Erase) => Some(prose(&format!("{}: of pool {}", job.id, job.pool))),
        (None, _) => None,
    };
    let table = table(&columns, jobs.iter().map(row).collect());
    std::iter::once(table).chain(jobs.iter().filter_map(why)).collect::<Vec<_>>().join("\n")
}

/// A job with everything.
pub fn job(job: &Job) -> String {
    let mut rows = vec![
        ("job", job.id.clone()),
        ("pool", job.pool.clone()),
        ("state", job.states.join(", ")),
        ("done", percent(job)),
    ];
    let text = |title, value: &Option<String>| value.as_ref().map(|it| (title, printable(it)));
    let drives = (!job.drives.is_empty()).then(|| ("drives", job.drives.join(", ")));
    let left = job.goes_on().then(|| ("left", self::left(job)));
    rows.extend(drives.into_iter().chain(left));
    rows.extend(text("began", &job.started_at));
    rows.extend(text("ended", &job.finished_at));
    rows.extend(text("problem", &job.problem));
    rows.extend(text("result", &job.result));
    sheet(rows)
}

fn percent(job: &Job) -> String {
    format!("{:.1} %", job.done_percent)
}

fn left(job: &Job) -> String {
    match job.goes_on() {
        true => ProgressText::from(job).to_string(),
        false => "-".to_owned(),
    }
}

/// What a list has to say of it besides its figures.
fn said(job: &Job) -> Option<&str> {
    job.problem.as_deref().or(job.result.as_deref())
}

#[cfg(test)]
mod tests;
