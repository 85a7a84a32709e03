//! The verbs of policies.

use ashlar_control::types::{
    ChangePolicy, ChooseDefaultPolicy, CreatePolicy, Pool, QosPolicy, SetLimits, Volume,
};
use hyper::Method;

use super::volumes::path_of;
use super::{print, print_done, segment};
use crate::args::{LimitArguments, Output, QosCommand};
use crate::cli::client::Client;
use crate::cli::tables;

/// Does what `command` says.
pub(super) async fn run(
    client: &Client,
    command: QosCommand,
    output: Output,
) -> anyhow::Result<()> {
    match command {
        QosCommand::Create { pool, policy, limits } => {
            create(client, &pool, policy, &limits, output).await
        }
        QosCommand::List { pool } => {
            print(output, &list(client, pool).await?, |all| tables::policies(all))
        }
        QosCommand::Show { pool, policy } => {
            let policy: QosPolicy = client.get(&path(&pool, &policy)?).await?;
            print(output, &policy, tables::policy)
        }
        QosCommand::Set { pool, policy, limits } => {
            let (path, request) = (path(&pool, &policy)?, change_of(&limits));
            let changed: QosPolicy = client.send_body(Method::PATCH, &path, &request).await?;
            print(output, &changed, tables::changed_policy)
        }
        QosCommand::Delete { pool, policy } => {
            client.command(Method::DELETE, &path(&pool, &policy)?).await?;
            let text = format!("policy '{policy}' of pool '{pool}' is deleted");
            print_done(output, "policy", &policy, "deleted", &text)
        }
        QosCommand::Default { pool, policy } => choose_default(client, &pool, policy, output).await,
        QosCommand::Limit { volume, limits } => {
            let path = format!("{}/qos", path_of(&volume)?);
            let limited: Volume =
                client.send_body(Method::PATCH, &path, &change_of(&limits)).await?;
            print(output, &limited, tables::limited)
        }
    }
}

/// All policies, or those of a pool, which is to be there.
async fn list(client: &Client, pool: Option<String>) -> anyhow::Result<Vec<QosPolicy>> {
    let pool = match pool {
        Some(pool) => Some(client.get::<Pool>(&format!("/pools/{}", segment(&pool)?)).await?.name),
        None => None,
    };
    let mut all: Vec<QosPolicy> = client.get("/qos").await?;
    all.retain(|policy| pool.as_ref().is_none_or(|pool| policy.pool == *pool));
    Ok(all)
}

async fn create(
    client: &Client,
    pool: &str,
    name: String,
    limits: &LimitArguments,
    output: Output,
) -> anyhow::Result<()> {
    let ChangePolicy { limits, weight } = change_of(limits);
    let path = format!("/pools/{}/qos", segment(pool)?);
    let request = CreatePolicy { name, limits, weight };
    let made: QosPolicy = client.send_body(Method::POST, &path, &request).await?;
    print(output, &made, tables::created_policy)
}

async fn choose_default(
    client: &Client,
    pool: &str,
    policy: String,
    output: Output,
) -> anyhow::Result<()> {
    let path = format!("/pools/{}/qos-default", segment(pool)?);
    let chosen = Some(policy).filter(|policy| policy != "none");
    let text = match &chosen {
        Some(policy) => format!(
            "policy '{policy}' counts now for volumes of pool '{pool}' of which nothing is said"
        ),
        None => format!("no policy counts for volumes of pool '{pool}' of which nothing is said"),
    };
    let request = ChooseDefaultPolicy { policy: chosen };
    let policies: Vec<QosPolicy> = client.send_body(Method::POST, &path, &request).await?;
    print(output, &policies, |_| text)
}

fn path(pool: &str, policy: &str) -> anyhow::Result<String> {
    Ok(format!("/pools/{}/qos/{}", segment(pool)?, segment(policy)?))
}

fn change_of(said: &LimitArguments) -> ChangePolicy {
    let limits = SetLimits {
        iops_max: said.iops,
        read_iops_max: said.read_iops,
        write_iops_max: said.write_iops,
        bytes_per_second_max: said.bandwidth,
        read_bytes_per_second_max: said.read_bandwidth,
        write_bytes_per_second_max: said.write_bandwidth,
        iops_per_gib: said.iops_per_gib,
        read_iops_per_gib: said.read_iops_per_gib,
        write_iops_per_gib: said.write_iops_per_gib,
        burst_seconds: said.burst_seconds,
    };
    ChangePolicy { limits, weight: said.weight }
}
