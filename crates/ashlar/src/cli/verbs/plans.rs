//! `--dry-run` where drives are taken: what would come of it, or why it would be refused.

use ashlar_control::types::{DrivePlan, PlanDrive, PoolPlan};
use hyper::Method;

use super::super::client::Client;
use super::super::paths::{absolute, absolute_member};
use super::super::tables;
use super::{path_of_pool, pool_to_create, print};
use crate::args::{CreateArguments, Output, PoolCommand, SpareCommand};

/// What is not to be done, and only looked at.
pub(super) enum DryRun<'a> {
    /// A new pool.
    Pool(&'a CreateArguments),
    /// A drive more, or one instead of another.
    Drive { pool: &'a str, drive: &'a str, force: bool, replaces: Option<&'a str> },
}

impl<'a> DryRun<'a> {
    /// What `command` asks for, if it asks for that.
    pub(super) fn of(command: &'a PoolCommand) -> Option<Self> {
        match command {
            PoolCommand::Create(new) if new.dry_run => Some(DryRun::Pool(new)),
            PoolCommand::AddDrive { pool, drive, force, dry_run: true }
            | PoolCommand::Spare(SpareCommand::Add { pool, drive, force, dry_run: true }) => {
                Some(DryRun::Drive { pool, drive, force: *force, replaces: None })
            }
            PoolCommand::Replace { pool, drive, with, force, dry_run: true, .. } => {
                Some(DryRun::Drive { pool, drive: with, force: *force, replaces: Some(drive) })
            }
            _ => None,
        }
    }
}

/// Asks, and prints the answer.
pub(super) async fn run(
    client: &Client,
    dry_run: DryRun<'_>,
    output: Output,
) -> anyhow::Result<()> {
    match dry_run {
        DryRun::Pool(new) => {
            let request = pool_to_create(new)?;
            let plan: PoolPlan = client.send_body(Method::POST, "/plan-pool", &request).await?;
            print(output, &plan, tables::pool_plan)
        }
        DryRun::Drive { pool, drive, force, replaces } => {
            let replaces = replaces.map(|old| absolute_member(pool, old)).transpose()?;
            let request = PlanDrive { drive: absolute(drive)?, force, replaces };
            let path = format!("{}/plan-drive", path_of_pool(pool)?);
            let plan: DrivePlan = client.send_body(Method::POST, &path, &request).await?;
            print(output, &plan, tables::drive_plan)
        }
    }
}
