//! `ashlar job`.

use anyhow::{Context, bail};
use ashlar_control::ProgressText;
use ashlar_control::types::Job;
use hyper::Method;

use super::client::{Client, Refused};
use super::progress::{Bar, Shown};
use super::tables;
use super::verbs::{print, segment};
use crate::args::{JobCommand, Output};

/// Does what `command` says.
pub(super) async fn run(
    client: &Client,
    command: JobCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        JobCommand::List => {
            let jobs: Vec<Job> = client.get("/jobs").await?;
            print(output, &jobs, |jobs| tables::jobs(jobs))
        }
        JobCommand::Show { job } => {
            let job: Job = client.get(&path_of(&job)?).await?;
            print(output, &job, tables::job)
        }
        JobCommand::Wait { job } => wait(client, &path_of(&job)?, output).await,
        JobCommand::Stop { job } => {
            let job: Job = client.ask(Method::DELETE, &path_of(&job)?).await?;
            print(output, &job, tables::job)
        }
    }
}

fn path_of(job: &str) -> anyhow::Result<String> {
    let (pool, kind) = job
        .split_once('/')
        .with_context(|| format!("'{job}' is no job: write POOL/KIND, as tank/scrub"))?;
    Ok(format!("/jobs/{}/{}", segment(pool)?, segment(kind)?))
}

/// Waits until it ends.
async fn wait(client: &Client, path: &str, output: Output) -> anyhow::Result<()> {
    let bar = Bar::new();
    let mut last: Job = client.get(path).await?;
    while last.goes_on() {
        bar.next_look(Some(Shown::new(last.done_percent, ProgressText::from(&last)))).await;
        match client.get(path).await {
            Ok(job) => last = job,
            Err(error) if is_gone(&error) => {
                let why = "is gone before its end: its pool was closed, or has too few drives left";
                return Err(error.context(format!("job '{}' {why}", last.id)));
            }
            Err(error) => return Err(error),
        }
    }
    bar.end();
    print(output, &last, tables::job)?;
    match &last.problem {
        Some(why) if last.is("failed") => bail!("job '{}' has failed: {why}", last.id),
        _ if last.is("stopped") => {
            bail!("job '{}' was stopped: {:.0} % of it is done", last.id, last.done_percent)
        }
        _ => Ok(()),
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(|refused: &Refused| refused.code == "no_such_job")
}
