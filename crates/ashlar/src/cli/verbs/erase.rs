//! `ashlar pool destroy --secure`.

use anyhow::{Context, ensure};
use ashlar_block::{ByteSize, counted};
use ashlar_control::types::DriveErase;
use hyper::Method;

use super::{path_of_pool, print};
use crate::args::Output;
use crate::cli::client::Client;
use crate::cli::consent;
use crate::cli::progress::{Bar, Shown};

/// Destroys the pool, waits until its drives are erased, and says how each was.
pub(super) async fn destroy(
    client: &Client,
    pool: &str,
    yes: bool,
    output: Output,
) -> anyhow::Result<()> {
    let path = path_of_pool(pool)?;
    let send = async |query| client.ask(Method::POST, &format!("{path}/erase{query}")).await;
    let begun: Vec<DriveErase> = consent::sent(yes, send).await?;
    let erased = wait(client, begun).await?;
    print(output, &erased, |erased| said(pool, erased))?;
    let left = erased.iter().filter(|erase| !erase.is("finished")).count();
    ensure!(
        left == 0,
        "pool '{pool}' is destroyed, but {} not erased: each line says why",
        if left == 1 { "a drive was".to_owned() } else { format!("{left} drives were") }
    );
    Ok(())
}

/// Returns the same erases once none goes on.
async fn wait(client: &Client, begun: Vec<DriveErase>) -> anyhow::Result<Vec<DriveErase>> {
    let bar = Bar::new();
    let is_one = |erase: &DriveErase| {
        begun.iter().any(|it| (&it.pool_uuid, &it.spec) == (&erase.pool_uuid, &erase.spec))
    };
    loop {
        let now: Vec<DriveErase> = client.get("/erases").await.with_context(|| {
            "the pool is destroyed, but nobody says whether its drives are erased: they are not, if \
             the daemon has ended"
        })?;
        let ours: Vec<DriveErase> = now.into_iter().filter(is_one).collect();
        ensure!(
            ours.len() == begun.len(),
            "the pool is destroyed, but the daemon was restarted before its drives were erased: \
             make a pool of them (`ashlar pool create`), and destroy that with --secure"
        );
        if !ours.iter().any(|erase| erase.is("running")) {
            bar.end();
            return Ok(ours);
        }
        bar.next_look(Some(shown(&ours))).await;
    }
}

fn shown(erases: &[DriveErase]) -> Shown {
    let to_erase = || erases.iter().filter(|erase| erase.is("running") || erase.is("finished"));
    let size: u64 = to_erase().filter_map(|erase| erase.size_bytes).sum();
    let done: u64 = to_erase().map(|erase| erase.done_bytes).sum();
    let percent = done as f64 / size.max(1) as f64 * 100.0;
    let running = erases.iter().filter(|erase| erase.is("running")).count();
    let left = format!("{percent:.1} %, {} left", counted(running, "drive"));
    Shown::of(percent, left)
}

fn said(pool: &str, erases: &[DriveErase]) -> String {
    let head = match erases.iter().all(|erase| erase.is("finished")) {
        true => format!("pool '{pool}' is destroyed and its drives carry no label any more"),
        false => format!("pool '{pool}' is destroyed"),
    };
    let lines = erases.iter().map(|erase| {
        let spec = ashlar_volume::path_of(&erase.spec);
        let size = ByteSize(erase.size_bytes.unwrap_or(0));
        match (erase.is("finished"), erase.method.as_deref()) {
            (true, Some("discard")) => format!("{spec}: all of it was discarded ({size})"),
            (true, _) => format!("{spec}: zeros were written over all of it ({size})"),
            (false, _) => {
                let why = erase.problem.as_deref().unwrap_or("the daemon does not say why");
                format!("{spec}: not erased: {why}")
            }
        }
    });
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
