//! What is shown of a pool and of a drive.

use ashlar_control::types::{DriveInfo, NameDrive, Pool, PoolDrive};
use hyper::Method;

use super::super::client::Client;
use super::super::members::in_pool;
use super::super::paths::absolute;
use super::super::tables;
use super::{path_of_pool, print};
use crate::args::Output;

/// `ashlar pool show`.
pub(super) async fn pool(
    client: &Client,
    pool: &str,
    extended: bool,
    output: Output,
) -> anyhow::Result<()> {
    let pool: Pool = client.get(&path_of_pool(pool)?).await?;
    print(
        output,
        &pool,
        |pool| {
            if extended { tables::pool_with_health(pool) } else { tables::pool(pool) }
        },
    )
}

/// `ashlar drive show`.
pub(super) async fn drive(
    client: &Client,
    drive: &str,
    extended: bool,
    output: Output,
) -> anyhow::Result<()> {
    let members: Vec<PoolDrive> = client.get("/drives").await?;
    let place = absolute(drive)?;
    // What a pool has open is locked; the pool knows it already.
    let member = match in_pool(&members, drive)? {
        // Of a pool that is not open it knows nothing more than the drive itself.
        None => members.iter().find(|member| {
            (member.is_at(&place) || member.is_found_by(drive)) && member.states != ["unknown"]
        }),
        member => member,
    };
    if let Some(member) = member {
        return print(output, member, |member| {
            if extended { tables::member_with_health(member) } else { tables::member(member) }
        });
    }
    let request = NameDrive { drive: place, force: false };
    let info: DriveInfo = client.send_body(Method::POST, "/drives/inspect", &request).await?;
    print(output, &info, |info| {
        if extended { tables::drive_info_with_health(info) } else { tables::drive_info(info) }
    })
}
