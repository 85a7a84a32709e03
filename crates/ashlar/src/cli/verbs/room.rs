//! What is asked of the room of a pool.

use anyhow::Context;
use ashlar_block::ByteSize;
use ashlar_control::types::{Pool, SetCapacity, Volume};
use hyper::Method;

use super::{change_pool, path_of_pool, print};
use crate::args::{CapacityFormat, Output, RoomCommand};
use crate::cli::client::Client;
use crate::cli::{done, sfx, tables, trim, verify};

pub(super) async fn room(
    client: &Client,
    command: RoomCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        RoomCommand::SetCapacity { pool, capacity, force } => {
            set_capacity(client, &pool, &capacity, force, output).await
        }
        RoomCommand::Capacity { pool, format } => capacity_of(client, &pool, format, output).await,
        RoomCommand::Verify { pool, wait, stop } => {
            prove(client, &pool, (wait, stop), output).await
        }
        RoomCommand::ReleaseReserve { pool } => release_reserve(client, &pool, output).await,
        RoomCommand::Grow { pool } => grow(client, &pool, output).await,
        RoomCommand::Trim { pool, wait, stop } => {
            tell_drives(client, &pool, (wait, stop), output).await
        }
    }
}

async fn set_capacity(
    client: &Client,
    pool: &str,
    capacity: &str,
    force: bool,
    output: Output,
) -> anyhow::Result<()> {
    let is_factor = capacity.ends_with(['x', 'X']);
    let request = if is_factor {
        SetCapacity { factor: Some(capacity.to_owned()), force, ..SetCapacity::default() }
    } else {
        let size: ByteSize = capacity.parse().with_context(|| {
            format!("'{capacity}' is neither a factor, as 2.4x is, nor a size, as 96TiB is")
        })?;
        SetCapacity { formatted_bytes: Some(size.0), force, ..SetCapacity::default() }
    };
    change_pool(client, pool, "/set-capacity", &request, output, done::capacity_set).await
}

async fn release_reserve(client: &Client, pool: &str, output: Output) -> anyhow::Result<()> {
    let path = format!("{}/release-reserve", path_of_pool(pool)?);
    let pool: Pool = client.ask(Method::POST, &path).await?;
    print(output, &pool, tables::released_reserve)
}

async fn grow(client: &Client, pool: &str, output: Output) -> anyhow::Result<()> {
    let path = path_of_pool(pool)?;
    let before: Pool = client.get(&path).await?;
    let after: Pool = client.ask(Method::POST, &format!("{path}/grow")).await?;
    print(output, &after, |after| done::grown(&before, after))
}

/// What begins a job, or stops it.
fn method(stop: bool) -> Method {
    if stop { Method::DELETE } else { Method::POST }
}

async fn tell_drives(
    client: &Client,
    pool: &str,
    (wait, stop): (bool, bool),
    output: Output,
) -> anyhow::Result<()> {
    let path = path_of_pool(pool)?;
    let pool: Pool = client.ask(method(stop), &format!("{path}/trim")).await?;
    let pool = if wait { trim::wait(client, &path).await? } else { pool };
    print(output, &pool, trim::said)
}

async fn capacity_of(
    client: &Client,
    pool: &str,
    format: CapacityFormat,
    output: Output,
) -> anyhow::Result<()> {
    let pool: Pool = client.get(&path_of_pool(pool)?).await?;
    if format == CapacityFormat::Sfx {
        return print(output, &sfx::CapacityStat::of(&pool)?, ToString::to_string);
    }
    let mut volumes: Vec<Volume> = client.get("/volumes").await?;
    volumes.retain(|volume| volume.pool == pool.name);
    print(output, &pool, |pool| tables::capacity(pool, &volumes))
}

/// With `wait` it fails where a figure differs.
async fn prove(
    client: &Client,
    pool: &str,
    (wait, stop): (bool, bool),
    output: Output,
) -> anyhow::Result<()> {
    let path = path_of_pool(pool)?;
    let pool: Pool = client.ask(method(stop), &format!("{path}/verify")).await?;
    let pool = if wait { verify::wait(client, &path).await? } else { pool };
    print(output, &pool, verify::said)?;
    if wait { verify::check(&pool) } else { Ok(()) }
}
