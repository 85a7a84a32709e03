//! The demonstration's pool and volumes.

use std::path::Path;

use anyhow::{Context, bail};
use ashlar_block::ByteSize;
use ashlar_control::NodeApi;
use ashlar_control::types::{CreatePool, CreateVolume, Pool, Volume};

use super::tell;
use crate::args::Output;

/// The demonstration's pool.
pub const POOL: &str = "demo";
const DRIVE_COUNT: usize = 5;
const DRIVE_SIZE: ByteSize = ByteSize(8 << 30);
/// For whoever looks on.
const VOLUME: &str = "vol0";
const VOLUME_BYTES: u64 = 20 << 30;
/// For the workload: nobody else may see it, so that nobody else changes what it expects.
const CHECKED_VOLUME: &str = "checked";
const CHECKED_BYTES: u64 = 1 << 30;

/// What the workload runs on.
pub struct CheckedVolume {
    /// Its namespace.
    pub nsid: u32,
    /// The one host that may see it.
    pub host_nqn: String,
    /// It has just been made: nothing was ever written to it.
    pub is_new: bool,
}

/// Makes what is not there yet.
///
/// # Errors
/// When it cannot be made; or it is there and cannot be opened.
pub async fn prepare(
    node_api: &dyn NodeApi,
    state: &Path,
    output: Output,
) -> anyhow::Result<CheckedVolume> {
    let pools = node_api.pools().await?;
    match pools.iter().find(|pool| pool.name == POOL) {
        Some(pool) => found(pool, output)?,
        None => create_pool(node_api, state, output).await?,
    }
    let status = node_api.status().await?;
    let host_nqn = format!("{}:demo", status.subsystem_nqn);
    let ensure = async |name, bytes, allow| {
        ensure_volume(node_api, &status.volumes, name, bytes, allow, output).await
    };
    ensure(VOLUME, VOLUME_BYTES, "any").await?;
    let checked = ensure(CHECKED_VOLUME, CHECKED_BYTES, host_nqn.as_str()).await?;
    let is_new = !status.volumes.iter().any(|volume| volume.uuid == checked.uuid);
    Ok(CheckedVolume { nsid: checked.nsid, host_nqn, is_new })
}

fn found(pool: &Pool, output: Output) -> anyhow::Result<()> {
    if let Some(problem) =
        pool.problem.as_ref().filter(|_| pool.states.iter().any(|state| state == "unavailable"))
    {
        bail!("the pool '{POOL}' of an earlier run cannot be opened: {problem}");
    }
    tell(
        output,
        format_args!(
            "Pool '{POOL}' of an earlier run: {}, {} drives.",
            pool.states.join(", "),
            pool.drives.len()
        ),
    )?;
    Ok(())
}

async fn create_pool(node_api: &dyn NodeApi, state: &Path, output: Output) -> anyhow::Result<()> {
    let directory = state.join("drives");
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    tell(
        output,
        format_args!(
            "Making pool '{POOL}': {DRIVE_COUNT} files of {DRIVE_SIZE} in {}.",
            directory.display()
        ),
    )?;
    let drive =
        |index| format!("file:{}/{index}.img,size={DRIVE_SIZE},sparse=on", directory.display());
    let request = CreatePool {
        name: POOL.to_owned(),
        level: "5".to_owned(),
        drives: (0..DRIVE_COUNT).map(drive).collect(),
        force: false,
        chunk_bytes: None,
        overcommit: true,
    };
    let pool = node_api.create_pool(request).await?;
    pool.notes.iter().try_for_each(|note| tell(output, format_args!("  note: {note}")))?;
    Ok(())
}

async fn ensure_volume(
    node_api: &dyn NodeApi,
    volumes: &[Volume],
    name: &str,
    size_bytes: u64,
    allow: &str,
    output: Output,
) -> anyhow::Result<Volume> {
    if let Some(volume) = volumes.iter().find(|volume| volume.pool == POOL && volume.name == name) {
        return Ok(volume.clone());
    }
    tell(output, format_args!("Making volume '{POOL}/{name}': {}, thin.", ByteSize(size_bytes)))?;
    let request = CreateVolume {
        pool: POOL.to_owned(),
        name: name.to_owned(),
        size_bytes,
        lba_bytes: 4096,
        compression: "auto".to_owned(),
        allow: vec![allow.to_owned()],
    };
    Ok(node_api.create_volume(request).await?)
}
