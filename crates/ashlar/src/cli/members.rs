//! Drives of pools as people name them: with their pool, or by what leads to them anyway.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{bail, ensure};
use ashlar_block::place::{split_options, unescaped};
use ashlar_block::{check_name, is_uuid};
use ashlar_control::types::PoolDrive;

use super::client::Client;
use super::paths::{absolute, absolute_member};

/// The member that `drive` names as POOL/DRIVE. `None`: it is a path, or may be one.
///
/// # Errors
/// It names a pool, but no drive of it.
pub fn in_pool<'a>(members: &'a [PoolDrive], drive: &str) -> anyhow::Result<Option<&'a PoolDrive>> {
    let Some((pool, name)) = drive.split_once('/') else { return Ok(None) };
    let mut of_pool = members.iter().filter(|member| member.pool == pool).peekable();
    if of_pool.peek().is_none() {
        return Ok(None);
    }
    let name = absolute_member(pool, name)?;
    let member = of_pool.find(|member| member.is_named(&name));
    let may_be_path = Path::new(&unescaped(split_options(drive).0)).exists();
    ensure!(
        member.is_some() || may_be_path,
        "pool '{pool}' has no drive '{name}': `ashlar pool show {pool}` lists its drives"
    );
    Ok(member)
}

/// The pool of the drive that is meant, and how it is called there.
///
/// # Errors
/// No drive of a pool is called so, or drives of several are.
pub async fn pool_and_drive(client: &Client, drive: &str) -> anyhow::Result<(String, String)> {
    choose(&client.get::<Vec<PoolDrive>>("/drives").await?, drive)
}

fn choose(members: &[PoolDrive], drive: &str) -> anyhow::Result<(String, String)> {
    let place = absolute(drive)?;
    let leads_there = |member: &&PoolDrive| member.is_found_by(drive) || member.is_found_by(&place);
    let pools: BTreeSet<&str> =
        members.iter().filter(leads_there).map(|member| member.pool.as_str()).collect();
    let pools = Vec::from_iter(pools);
    let named = drive.split_once('/').filter(|(pool, _)| is_uuid(pool) || check_name(pool).is_ok());
    if let Some((pool, name)) = named
        && (pools.is_empty() || members.iter().any(|member| member.pool == pool))
    {
        return Ok((pool.to_owned(), absolute_member(pool, name)?));
    }
    match pools[..] {
        [pool] => Ok((pool.to_owned(), place)),
        [] => bail!("'{drive}' names no drive of a pool: write POOL/DRIVE, as in tank/drive-2"),
        _ => bail!("'{drive}' names drives of several pools: write POOL/DRIVE, as in tank/drive-2"),
    }
}

#[cfg(test)]
mod tests;
