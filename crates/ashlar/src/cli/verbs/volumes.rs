//! The verbs of volumes.

use anyhow::Context;
use ashlar_block::check_name;
use ashlar_control::types::{ChangeVolume, CreateVolume, Latency, NameHosts, Status, Volume};
use ashlar_store::Compression;
use hyper::Method;
use serde::Serialize;

use super::{print, print_done, segment};
use crate::args::{Output, Switch, VolumeCommand};
use crate::cli::client::Client;
use crate::cli::{consent, done, tables};

/// Does what `command` says.
pub(super) async fn run(
    client: &Client,
    command: VolumeCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        VolumeCommand::Create { volume, size, allow, sector_size, compression } => {
            let (pool, name) = split(&volume)?;
            let (pool, name) = (segment(pool)?.to_owned(), segment(name)?.to_owned());
            let (size_bytes, lba_bytes) = (size.0, sector_size);
            let compression = compression.to_string();
            let request = CreateVolume { pool, name, size_bytes, lba_bytes, compression, allow };
            let volume: Volume = client.send_body(Method::POST, "/volumes", &request).await?;
            print(output, &volume, tables::created_volume)
        }
        VolumeCommand::Estimate { .. } => unreachable!("it needs no daemon"),
        VolumeCommand::List => list(client, output).await,
        VolumeCommand::Show { volume, extended } => show(client, &volume, extended, output).await,
        VolumeCommand::Resize { volume, size, yes } => {
            let request = ChangeVolume { size_bytes: Some(size.0), ..ChangeVolume::default() };
            set(client, &volume, &request, yes, output, done::resized).await
        }
        VolumeCommand::Rename { volume, name } => rename(client, &volume, name, output).await,
        VolumeCommand::Set { volume, write_protect, compression, atomic, qos, yes } => {
            let request = ChangeVolume { qos, ..change_of(write_protect, compression, atomic) };
            let said = |after: &Volume| done::changed(after, &request);
            set(client, &volume, &request, yes, output, said).await
        }
        VolumeCommand::Wipe { volume, yes } => wipe(client, &volume, yes, output).await,
        VolumeCommand::Delete { volume, yes } => delete(client, &volume, yes, output).await,
        VolumeCommand::Allow { volume, hosts, only, yes } => {
            change_access(client, &volume, "allow", &NameHosts { hosts, only }, yes, output).await
        }
        VolumeCommand::Deny { volume, hosts, yes } => {
            let request = NameHosts { hosts, only: false };
            change_access(client, &volume, "deny", &request, yes, output).await
        }
    }
}

async fn list(client: &Client, output: Output) -> anyhow::Result<()> {
    let status: Status = client.get("/status").await?;
    print(output, &status.volumes, |volumes| tables::volumes(volumes, &status.pools))
}

/// A volume, and how long commands for it took.
#[derive(Serialize)]
struct Extended {
    #[serde(flatten)]
    volume: Volume,
    #[serde(flatten)]
    took: Latency,
}

async fn show(client: &Client, volume: &str, extended: bool, output: Output) -> anyhow::Result<()> {
    let path = path_of(volume)?;
    let volume: Volume = client.get(&path).await?;
    if !extended {
        return print(output, &volume, tables::volume);
    }
    let took: Latency = client.get(&format!("{path}/latency")).await?;
    print(output, &Extended { volume, took }, |shown| {
        format!("{}\n\n{}", tables::volume(&shown.volume), tables::latency(&shown.took))
    })
}

async fn rename(client: &Client, volume: &str, name: String, output: Output) -> anyhow::Result<()> {
    let name = new_name(volume, &name)?;
    check_name(name)?;
    let request = ChangeVolume { name: Some(name.to_owned()), ..ChangeVolume::default() };
    set(client, volume, &request, false, output, |after| done::renamed(after, volume)).await
}

/// The new name of a volume, which may be written with its pool, as a volume is everywhere else.
fn new_name<'a>(volume: &str, name: &'a str) -> anyhow::Result<&'a str> {
    let Some((wanted, new)) = name.split_once('/') else { return Ok(name) };
    let (pool, old) = split(volume)?;
    let way_out = format!("`ashlar volume rename {volume} NAME`");
    anyhow::ensure!(
        wanted == pool,
        "'{old}' stays in pool '{pool}', and '{name}' is another: {way_out}"
    );
    Ok(new)
}

fn change_of(
    write_protect: Option<Switch>,
    compression: Option<Compression>,
    atomic: Option<u64>,
) -> ChangeVolume {
    ChangeVolume {
        write_protected: write_protect.map(|switch| switch == Switch::On),
        compression: compression.map(|compression| compression.to_string()),
        atomic_write_bytes: atomic,
        ..ChangeVolume::default()
    }
}

async fn wipe(client: &Client, volume: &str, yes: bool, output: Output) -> anyhow::Result<()> {
    let path = path_of(volume)?;
    let send = async |query| client.ask(Method::POST, &format!("{path}/wipe{query}")).await;
    let volume: Volume = consent::sent(yes, send).await?;
    print(output, &volume, done::wiped)
}

async fn delete(client: &Client, volume: &str, yes: bool, output: Output) -> anyhow::Result<()> {
    let path = path_of(volume)?;
    consent::sent(yes, async |query| {
        client.command(Method::DELETE, &format!("{path}{query}")).await
    })
    .await?;
    let text = format!("volume '{volume}' is deleted; its space comes back in the background");
    print_done(output, "volume", volume, "deleted", &text)
}

async fn set(
    client: &Client,
    volume: &str,
    request: &ChangeVolume,
    yes: bool,
    output: Output,
    said: impl FnOnce(&Volume) -> String,
) -> anyhow::Result<()> {
    change(client, Method::PATCH, &path_of(volume)?, request, yes, output, said).await
}

/// Allows hosts to see the volume, or denies it: `what` says which.
async fn change_access(
    client: &Client,
    volume: &str,
    what: &str,
    request: &NameHosts,
    yes: bool,
    output: Output,
) -> anyhow::Result<()> {
    let path = format!("{}/{what}", path_of(volume)?);
    change(client, Method::POST, &path, request, yes, output, done::access).await
}

async fn change(
    client: &Client,
    method: Method,
    path: &str,
    request: &impl Serialize,
    yes: bool,
    output: Output,
    said: impl FnOnce(&Volume) -> String,
) -> anyhow::Result<()> {
    let send =
        async |query| client.send_body(method.clone(), &format!("{path}{query}"), request).await;
    let volume: Volume = consent::sent(yes, send).await?;
    print(output, &volume, said)
}

fn split(volume: &str) -> anyhow::Result<(&str, &str)> {
    let split = volume.split_once('/');
    split.with_context(|| format!("'{volume}' names no volume: write POOL/NAME, as in tank/v0"))
}

pub(super) fn path_of(volume: &str) -> anyhow::Result<String> {
    let (pool, name) = split(volume)?;
    Ok(format!("/volumes/{}/{}", segment(pool)?, segment(name)?))
}

#[cfg(test)]
mod tests;
