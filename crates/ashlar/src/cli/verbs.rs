//! What each verb asks and prints.

use anyhow::Context;
use ashlar_block::{ByteSize, check_name, is_uuid};
use ashlar_control::types::{
    AuditEntry, CreatePool, Event, FindPools, Host, ImportPool, ImportablePool, NameDrive,
    NameSpare, Pool, RemoveDrive, RenamePool, ReplaceDrive,
};
use hyper::Method;
use serde::Serialize;

use super::client::Client;
use super::paths::{absolute, absolute_member, all_absolute};
use super::rebuild::Work;
use super::removal::Leaver;
use super::tables;
use super::{consent, done};
use crate::args::PoolCommand::{AddDrive, Rebalance};
use crate::args::{ClientCommand, CreateArguments, HostCommand, Output, PoolCommand, SpareCommand};
use crate::stdio::print_line;

mod access;
mod drives;
mod erase;
mod notify;
mod plans;
mod qos;
mod room;
mod show;
mod volumes;

/// Does what `command` says.
pub async fn run(client: &Client, command: ClientCommand, output: Output) -> anyhow::Result<()> {
    match command {
        ClientCommand::Pool(command) => pool(client, command, output).await,
        ClientCommand::Drive(command) => drives::run(client, command, output).await,
        ClientCommand::Volume(command) => volumes::run(client, command, output).await,
        ClientCommand::Qos(command) => qos::run(client, command, output).await,
        ClientCommand::Host(HostCommand::List) => {
            let hosts: Vec<Host> = client.get("/hosts").await?;
            print(output, &hosts, |hosts| tables::hosts(hosts))
        }
        ClientCommand::Job(command) => super::jobs::run(client, command, output).await,
        ClientCommand::Token(command) => access::token(client, command, output).await,
        ClientCommand::Key(command) => access::key(client, command, output).await,
        ClientCommand::Notify(command) => notify::run(client, command, output).await,
        ClientCommand::Support(_) => unreachable!("it needs no daemon"),
        ClientCommand::Session => access::session(client, output).await,
        ClientCommand::Events(asked) if asked.follow => {
            super::events::follow(client, &asked, output).await
        }
        ClientCommand::Events(asked) => {
            let events: Vec<Event> = client.get(&queried("/events", &asked.query())?).await?;
            print(output, &events, |events| tables::events(events))
        }
        ClientCommand::Audit(asked) => {
            let all: Vec<AuditEntry> = client.get(&queried("/audit", &asked.query())?).await?;
            print(output, &all, |all| tables::audit(all))
        }
        ClientCommand::Iostat(asked) => super::iostat::run(client, asked, output).await,
        ClientCommand::Top(asked) => super::top::run(client, asked).await,
        ClientCommand::Status(asked) => super::status::run(client, asked, output).await,
    }
}

/// The path with that query.
pub(super) fn queried(path: &str, query: &[(&str, String)]) -> anyhow::Result<String> {
    let query = serde_urlencoded::to_string(query)?;
    Ok(if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") })
}

/// Prints `value` as it was asked for.
pub(super) fn print<T: Serialize + ?Sized>(
    output: Output,
    value: &T,
    table: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
    // An empty list is nothing at all, and no empty line.
    match output.text(value, table)? {
        text if text.is_empty() => Ok(()),
        text => Ok(print_line(text)?),
    }
}

/// Prints what was done with something that is not there any more.
fn print_done(
    output: Output,
    what: &str,
    name: &str,
    done: &str,
    text: &str,
) -> anyhow::Result<()> {
    print(output, &serde_json::json!({ what: name, "done": done }), |_| text.to_owned())
}

async fn pool(client: &Client, command: PoolCommand, output: Output) -> anyhow::Result<()> {
    match plans::DryRun::of(&command) {
        Some(dry_run) => plans::run(client, dry_run, output).await,
        None => pool_verb(client, command, output).await,
    }
}

async fn pool_verb(client: &Client, command: PoolCommand, output: Output) -> anyhow::Result<()> {
    match command {
        PoolCommand::Create(new) => create_pool(client, new, output).await,
        PoolCommand::List => list_pools(client, output).await,
        PoolCommand::Show { pool, extended } => show::pool(client, &pool, extended, output).await,
        PoolCommand::Import { pool, drives, dry_run, .. }
            if dry_run || (pool.is_none() && drives.is_empty()) =>
        {
            list_importable(client, pool.as_deref(), &drives, output).await
        }
        PoolCommand::Get { pool, settings } => get_pool(client, &pool, &settings, output).await,
        PoolCommand::History { pool } => history(client, pool, output).await,
        PoolCommand::Import { pool, drives, name, degraded, .. } => {
            import_pool(client, ImportPool { pool, drives, name, degraded }, output).await
        }
        PoolCommand::Rename { pool, name } => rename_pool(client, &pool, name, output).await,
        AddDrive { pool, drive, force, .. } => {
            add_drive(client, &pool, &drive, force, output).await
        }
        PoolCommand::RemoveDrive { pool, drive, cancel, wait, yes } => {
            remove_drive(client, &pool, RemoveDrive { drive, cancel }, wait, yes, output).await
        }
        PoolCommand::Replace { pool, drive, with, force, wait, .. } => {
            replace_drive(client, &pool, ReplaceDrive { drive, with, force }, wait, output).await
        }
        PoolCommand::Spare(command) => spare(client, command, output).await,
        PoolCommand::Set { pool, settings } => set_pool(client, &pool, &settings, output).await,
        PoolCommand::Rebuild { pool, wait } => rebuild(client, &pool, wait, output).await,
        Rebalance { pool, wait, stop } => rebalance(client, &pool, wait, stop, output).await,
        PoolCommand::Scrub { pool, wait, stop } => scrub(client, &pool, wait, stop, output).await,
        PoolCommand::Room(command) => room::room(client, command, output).await,
        PoolCommand::Check { .. } => unreachable!("it needs no daemon"),
        PoolCommand::Export { pool, yes } => export_pool(client, &pool, yes, output).await,
        PoolCommand::Destroy { pool, secure: true, yes } => {
            erase::destroy(client, &pool, yes, output).await
        }
        PoolCommand::Destroy { pool, yes, .. } => destroy_pool(client, &pool, yes, output).await,
    }
}

async fn history(client: &Client, pool: String, output: Output) -> anyhow::Result<()> {
    let path = path_of_pool(&pool)?;
    let query = queried("/audit", &[("pool", pool.clone())])?;
    let all: Vec<AuditEntry> = client.get(&query).await?;
    if all.is_empty() {
        // One that never was here is a mistake.
        client.get::<Pool>(&path).await?;
    }
    print(output, &all, |all| match all.is_empty() {
        true => format!("no changes of pool '{pool}' are known"),
        false => tables::audit(all),
    })
}

async fn list_pools(client: &Client, output: Output) -> anyhow::Result<()> {
    let pools: Vec<Pool> = client.get("/pools").await?;
    print(output, &pools, |pools| tables::pools(pools))
}

async fn spare(client: &Client, command: SpareCommand, output: Output) -> anyhow::Result<()> {
    match command {
        SpareCommand::Add { pool, drive, force, .. } => {
            let request = NameDrive { drive: absolute(&drive)?, force };
            let place = request.drive.clone();
            change_pool(client, &pool, "/spares", &request, output, |pool| {
                done::spare_added(pool, &place)
            })
            .await
        }
        SpareCommand::Remove { pool, drive } => {
            let request = NameSpare { drive: absolute(&drive)? };
            let place = request.drive.clone();
            let said = |pool: &Pool| done::spare_removed(pool, &place);
            change_pool(client, &pool, "/remove-spare", &request, output, said).await
        }
    }
}

fn path_of_pool(pool: &str) -> anyhow::Result<String> {
    Ok(format!("/pools/{}", segment(pool)?))
}

fn chunk_bytes(size: Option<ByteSize>) -> anyhow::Result<Option<u32>> {
    let Some(size) = size else { return Ok(None) };
    let why = || format!("a chunk of {size} cannot be: choose a power of two from 64KiB to 64MiB");
    u32::try_from(size.0).ok().map(Some).with_context(why)
}

fn pool_to_create(new: &CreateArguments) -> anyhow::Result<CreatePool> {
    let CreateArguments { name, level, force, overcommit, .. } = new.clone();
    check_name(&name)?;
    let (drives, chunk_bytes) = (all_absolute(&new.drives)?, chunk_bytes(new.chunk_size)?);
    Ok(CreatePool { name, level, drives, force, chunk_bytes, overcommit })
}

async fn create_pool(client: &Client, new: CreateArguments, output: Output) -> anyhow::Result<()> {
    let request = pool_to_create(&new)?;
    let pool: Pool = client.send_body(Method::POST, "/pools", &request).await?;
    print(output, &pool, |pool| tables::opened_pool("created", pool))
}

/// Sends `request` to the pool, and prints what is `said` of the pool as it is then.
async fn change_pool(
    client: &Client,
    pool: &str,
    what: &str,
    request: &impl Serialize,
    output: Output,
    said: impl FnOnce(&Pool) -> String,
) -> anyhow::Result<()> {
    let path = format!("{}{what}", path_of_pool(pool)?);
    let pool: Pool = client.send_body(Method::POST, &path, request).await?;
    print(output, &pool, said)
}

async fn rename_pool(
    client: &Client,
    pool: &str,
    name: String,
    output: Output,
) -> anyhow::Result<()> {
    let said = |now: &Pool| done::pool_renamed(now, pool);
    change_pool(client, pool, "/rename", &RenamePool { name }, output, said).await
}

async fn set_pool(
    client: &Client,
    pool: &str,
    settings: &[String],
    output: Output,
) -> anyhow::Result<()> {
    let (path, change) = (path_of_pool(pool)?, super::settings::parse(settings)?);
    let before: Pool = client.get(&path).await?;
    let after: Pool = client.send_body(Method::PATCH, &path, &change).await?;
    let p99_us = |pool: &Pool| pool.settings.map(|settings| settings.recon_p99_us);
    let p99_is_off = change.recon_p99_us.is_none() && p99_us(&before) != p99_us(&after);
    print(output, &after, |pool| done::set(pool, settings, p99_is_off))
}

async fn rebuild(client: &Client, pool: &str, wait: bool, output: Output) -> anyhow::Result<()> {
    let path = path_of_pool(pool)?;
    if wait {
        let (pool, has_waited) = super::rebuild::wait(client, &path, Work::Rebuild).await?;
        return print(output, &pool, if has_waited { tables::rebuilt } else { tables::rebuild });
    }
    let pool: Pool = client.get(&path).await?;
    super::rebuild::check_goes_on(&pool, Work::Rebuild)?;
    print(output, &pool, tables::rebuild)
}

async fn rebalance(
    client: &Client,
    pool: &str,
    wait: bool,
    stop: bool,
    output: Output,
) -> anyhow::Result<()> {
    let (path, method) = (path_of_pool(pool)?, if stop { Method::DELETE } else { Method::POST });
    let pool: Pool = client.ask(method, &format!("{path}/rebalance")).await?;
    if wait {
        let (pool, _) = super::rebuild::wait(client, &path, Work::Rebalance).await?;
        return print(output, &pool, tables::rebalanced);
    }
    print(output, &pool, tables::rebalance)
}

async fn scrub(
    client: &Client,
    pool: &str,
    wait: bool,
    stop: bool,
    output: Output,
) -> anyhow::Result<()> {
    let (path, method) = (path_of_pool(pool)?, if stop { Method::DELETE } else { Method::POST });
    let pool: Pool = client.ask(method, &format!("{path}/scrub")).await?;
    if !wait {
        return print(output, &pool, tables::scrub);
    }
    let pool = super::scrub::wait(client, &path).await?;
    print(output, &pool, tables::scrub)?;
    super::scrub::is_all_right(&pool)
}

async fn add_drive(
    client: &Client,
    pool: &str,
    drive: &str,
    force: bool,
    output: Output,
) -> anyhow::Result<()> {
    let request = NameDrive { drive: absolute(drive)?, force };
    let said = |pool: &Pool| done::added(pool, &request.drive);
    change_pool(client, pool, "/drives", &request, output, said).await
}

async fn import_pool(client: &Client, asked: ImportPool, output: Output) -> anyhow::Result<()> {
    let request = ImportPool { drives: all_absolute(&asked.drives)?, ..asked };
    let opened = client.send_body(Method::POST, "/import-pool", &request);
    let pool: Pool = super::waiting::told(
        "if another machine had the pool last, Ashlar waits 8 or 16 s for its heartbeats",
        opened,
    )
    .await?;
    print(output, &pool, |pool| tables::opened_pool("opened", pool))
}

/// Lists what an import could open: of these drives, or else of all block devices; this pool, if
/// one is named.
async fn list_importable(
    client: &Client,
    pool: Option<&str>,
    drives: &[String],
    output: Output,
) -> anyhow::Result<()> {
    let request = FindPools { drives: all_absolute(drives)? };
    let found = client.send_body(Method::POST, "/importable-pools", &request);
    let why = "each drive of the machine is read";
    let mut pools: Vec<ImportablePool> = super::waiting::told(why, found).await?;
    let where_to = if drives.is_empty() { tables::ON_DEVICES } else { tables::ON_NAMED };
    if let Some(wanted) = pool {
        pools.retain(|found| found.name == wanted || found.uuid == wanted);
        anyhow::ensure!(!pools.is_empty(), "{}", tables::no_such_importable(wanted, where_to));
    }
    print(output, &pools, |pools| tables::importable(pools, where_to))
}

async fn get_pool(
    client: &Client,
    pool: &str,
    names: &[String],
    output: Output,
) -> anyhow::Result<()> {
    let found: Pool = client.get(&path_of_pool(pool)?).await?;
    super::progress::check_open(&found)?;
    let settings = found.settings.context("the daemon does not say its settings")?;
    let chosen = super::settings::shown(&settings, names)?;
    let text = |_: &_| match &*chosen {
        [(_, value)] if names.len() == 1 => value.clone(),
        all => tables::settings(all),
    };
    let named: serde_json::Map<String, serde_json::Value> =
        chosen.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
    print(output, &named, text)
}

async fn remove_drive(
    client: &Client,
    pool: &str,
    asked: RemoveDrive,
    wait: bool,
    yes: bool,
    output: Output,
) -> anyhow::Result<()> {
    let request = RemoveDrive { drive: absolute_member(pool, &asked.drive)?, ..asked };
    let path = path_of_pool(pool)?;
    let leaver = if wait { Leaver::find(client, &path, &request.drive).await? } else { None };
    let send = async |query| {
        client.send_body(Method::POST, &format!("{path}/remove-drive{query}"), &request).await
    };
    let pool: Pool = consent::sent(yes, send).await?;
    let said = |pool: &Pool| done::leaving(pool, &request.drive, request.cancel);
    print_without(client, &path, pool, leaver, output, said).await
}

async fn replace_drive(
    client: &Client,
    pool: &str,
    asked: ReplaceDrive,
    wait: bool,
    output: Output,
) -> anyhow::Result<()> {
    let (path, drive) = (path_of_pool(pool)?, absolute_member(pool, &asked.drive)?);
    let request = ReplaceDrive { drive, with: absolute(&asked.with)?, ..asked };
    let leaver = if wait { Leaver::find(client, &path, &request.drive).await? } else { None };
    let leaver = leaver.map(|leaver| leaver.instead_of(&request.with));
    let pool: Pool =
        client.send_body(Method::POST, &format!("{path}/replace-drive"), &request).await?;
    let said = |pool: &Pool| done::replaced(pool, &request.drive, &request.with);
    print_without(client, &path, pool, leaver, output, said).await
}

/// Prints what is `said` of the pool at `path` once the drive has left that is waited for, if one
/// is.
async fn print_without(
    client: &Client,
    path: &str,
    mut pool: Pool,
    leaver: Option<Leaver>,
    output: Output,
    said: impl FnOnce(&Pool) -> String,
) -> anyhow::Result<()> {
    if let Some(leaver) = leaver {
        pool = super::removal::wait(client, path, pool, &leaver).await?;
    }
    print(output, &pool, said)
}

async fn export_pool(client: &Client, pool: &str, yes: bool, output: Output) -> anyhow::Result<()> {
    let path = path_of_pool(pool)?;
    consent::sent(yes, async |query| {
        client.command(Method::POST, &format!("{path}/export{query}")).await
    })
    .await?;
    let text = format!(
        "pool '{pool}' is closed and forgotten; `ashlar pool import {pool} --drive ...` opens it again"
    );
    print_done(output, "pool", pool, "exported", &text)
}

async fn destroy_pool(
    client: &Client,
    pool: &str,
    yes: bool,
    output: Output,
) -> anyhow::Result<()> {
    let path = path_of_pool(pool)?;
    consent::sent(yes, async |query| {
        client.command(Method::DELETE, &format!("{path}{query}")).await
    })
    .await?;
    let text = format!("pool '{pool}' is destroyed and its drives carry no label any more");
    print_done(output, "pool", pool, "destroyed", &text)
}

/// A name, or the UUID of a pool, as part of a path. What nothing can be called never gets that
/// far.
pub(super) fn segment(name: &str) -> anyhow::Result<&str> {
    if !is_uuid(name) {
        check_name(name)?;
    }
    Ok(name)
}
