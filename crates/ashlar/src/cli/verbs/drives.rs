//! `ashlar drive`.

use ashlar_block::printable;
use ashlar_control::types::{
    DriveInfo, DriveLight, FailDrive, LocateDrive, NameDrive, Pool, PoolDrive, ReturnDrive,
};
use hyper::Method;

use super::super::client::Client;
use super::super::members::{in_pool, pool_and_drive};
use super::super::paths::absolute;
use super::super::{consent, done, tables};
use super::{path_of_pool, print, show};
use crate::args::{DriveCommand, Output};

/// Does what `command` says.
pub(super) async fn run(
    client: &Client,
    command: DriveCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        DriveCommand::List => {
            let drives: Vec<PoolDrive> = client.get("/drives").await?;
            print(output, &drives, |drives| tables::drives(drives))
        }
        DriveCommand::Show { drive, extended } => {
            show::drive(client, &drive, extended, output).await
        }
        DriveCommand::Locate { drive, off } => locate(client, &drive, !off, output).await,
        DriveCommand::Fail { drive, force, yes } => {
            fail_drive(client, &drive, force, yes, output).await
        }
        DriveCommand::Return { drive, at } => {
            return_drive(client, &drive, at.as_deref(), output).await
        }
        DriveCommand::LabelClear { drive, force, yes } => {
            clear_label(client, &drive, force, yes, output).await
        }
        DriveCommand::LabelRestore { drives, yes } => {
            restore_labels(client, &drives, yes, output).await
        }
    }
}

async fn locate(client: &Client, drive: &str, on: bool, output: Output) -> anyhow::Result<()> {
    let members: Vec<PoolDrive> = client.get("/drives").await?;
    let drive = match in_pool(&members, drive)? {
        Some(member) => format!("{}/{}", member.pool, member.name),
        None => absolute(drive)?,
    };
    let request = LocateDrive { drive, on };
    let light: DriveLight = client.send_body(Method::POST, "/drives/locate", &request).await?;
    print(output, &light, |light| {
        let is = if light.on { "on" } else { "off" };
        format!("the light of {} is {is}: {}", printable(&light.drive), light.slot)
    })
}

async fn clear_label(
    client: &Client,
    drive: &str,
    force: bool,
    yes: bool,
    output: Output,
) -> anyhow::Result<()> {
    let request = NameDrive { drive: absolute(drive)?, force };
    let send = async |query| {
        client.send_body(Method::POST, &format!("/drives/label-clear{query}"), &request).await
    };
    let held: DriveInfo = consent::sent(yes, send).await?;
    print(output, &held, |held| {
        format!("{} held {}; its label is cleared", held.spec, held.content)
    })
}

async fn restore_labels(
    client: &Client,
    drives: &[String],
    yes: bool,
    output: Output,
) -> anyhow::Result<()> {
    let (mut restored, mut refused) = (Vec::<DriveInfo>::new(), None);
    for drive in drives {
        let request = NameDrive { drive: absolute(drive)?, force: false };
        let send = async |query| {
            client.send_body(Method::POST, &format!("/drives/label-restore{query}"), &request).await
        };
        match consent::sent(yes, send).await {
            Ok(held) => restored.push(held),
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let line = |held: &DriveInfo| format!("{} is {} again", held.spec, held.content);
    if !restored.is_empty() {
        print(output, &restored, |all| all.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    }
    refused.map_or(Ok(()), Err)
}

async fn fail_drive(
    client: &Client,
    drive: &str,
    force: bool,
    yes: bool,
    output: Output,
) -> anyhow::Result<()> {
    let (pool, name) = pool_and_drive(client, drive).await?;
    let path = format!("{}/fail-drive", path_of_pool(&pool)?);
    let request = FailDrive { drive: name, force };
    let send =
        async |query| client.send_body(Method::POST, &format!("{path}{query}"), &request).await;
    let pool: Pool = consent::sent(yes, send).await?;
    print(output, &pool, |pool| done::failed(pool, &request.drive))
}

/// A drive comes back under a new number: where it is tells under which.
async fn return_drive(
    client: &Client,
    drive: &str,
    at: Option<&str>,
    output: Output,
) -> anyhow::Result<()> {
    let (pool, name) = pool_and_drive(client, drive).await?;
    let (path, at) = (path_of_pool(&pool)?, at.map(absolute).transpose()?);
    let before: Pool = client.get(&path).await?;
    let place =
        at.clone().or_else(|| before.drives.iter().rfind(|it| it.is_named(&name))?.spec.clone());
    let request = ReturnDrive { drive: name, at };
    let after: Pool =
        client.send_body(Method::POST, &format!("{path}/return-drive"), &request).await?;
    print(output, &after, |pool| done::returned(pool, drive, place.as_deref()))
}
