//! Lost updates: a client that sends `If-Match` changes a pool, a volume or a policy only as it has
//! seen it.
//!
//! 1. Between the look and the change nobody else changes anything of that pool: a change with
//!    `If-Match` has the pool for itself, all others share it.
//! 2. Who holds a pool up holds up nobody of another pool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::etag::ETag;
use crate::error::{ApiError, ErrorCode};
use crate::node_api::NodeApi;
use crate::types::{Pool, QosPolicy, Volume};

#[cfg(test)]
mod tests;

/// Whose turn it is in each pool, by its UUID.
#[derive(Default)]
pub(crate) struct PoolTurns(Mutex<HashMap<String, Arc<RwLock<()>>>>);

/// A change may be made for as long as this is held.
#[derive(Debug)]
pub(super) enum Turn {
    /// Nothing was asked of it.
    Free,
    Shared {
        _held: OwnedRwLockReadGuard<()>,
    },
    Alone {
        _held: OwnedRwLockWriteGuard<()>,
    },
}

impl PoolTurns {
    /// Waits for a turn, with the pool as the header asks for it. `named`: the parameters of the
    /// path.
    ///
    /// # Errors
    /// When it is another version by now.
    pub async fn turn(
        &self,
        node: &dyn NodeApi,
        named: &[(String, String)],
        headers: &HeaderMap,
    ) -> Result<Turn, ApiError> {
        let value = |name: &str| {
            named.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
        };
        let Some(pool_name) = value("pool") else { return Ok(Turn::Free) };
        let Some(pool) = find_pool(node, pool_name).await? else { return Ok(Turn::Free) };
        let lock = self.lock(&pool.uuid);
        let Some(if_match) = if_match(headers) else {
            return Ok(Turn::Shared { _held: lock.read_owned().await });
        };
        let held = lock.write_owned().await;
        let now = match (value("volume"), value("policy")) {
            (Some(volume), _) => tag_of_volume(node, pool_name, volume).await?,
            (None, Some(policy)) => tag_of_policy(node, &pool.name, policy).await?,
            (None, None) => tag_of_pool(node, pool_name).await?,
        };
        // What is not there is for the change itself to say.
        match now.filter(|now| !now.is_in(&if_match)) {
            Some(_) => Err(changed_meanwhile()),
            None => Ok(Turn::Alone { _held: held }),
        }
    }

    fn lock(&self, pool_uuid: &str) -> Arc<RwLock<()>> {
        let mut locks = self.0.lock().expect("no holder of the lock panics");
        locks.retain(|uuid, lock| uuid == pool_uuid || Arc::strong_count(lock) > 1);
        locks.entry(pool_uuid.to_owned()).or_default().clone()
    }
}

/// The header, whose lines are one list.
fn if_match(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(IF_MATCH).iter().map(|line| line.to_str().unwrap_or_default());
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

async fn find_pool(node: &dyn NodeApi, name: &str) -> Result<Option<Pool>, ApiError> {
    let is_it = |pool: &Pool| pool.name == name || pool.uuid == name;
    Ok(node.pools().await?.into_iter().find(is_it))
}

async fn tag_of_pool(node: &dyn NodeApi, name: &str) -> Result<Option<ETag>, ApiError> {
    let Some(pool) = find_pool(node, name).await? else { return Ok(None) };
    Ok(Some(ETag::of_pool(&pool, &node.policies().await?)))
}

async fn tag_of_volume(
    node: &dyn NodeApi,
    pool: &str,
    volume: &str,
) -> Result<Option<ETag>, ApiError> {
    let Some(pool) = find_pool(node, pool).await? else { return Ok(None) };
    let is_it = |it: &&Volume| it.pool == pool.name && it.name == volume;
    Ok(node.volumes().await?.iter().find(is_it).map(ETag::of_volume))
}

async fn tag_of_policy(
    node: &dyn NodeApi,
    pool: &str,
    policy: &str,
) -> Result<Option<ETag>, ApiError> {
    let policies = node.policies().await?;
    let is_it = |it: &&QosPolicy| it.pool == pool && it.name == policy;
    Ok(policies.iter().find(is_it).map(ETag::of_policy))
}

fn changed_meanwhile() -> ApiError {
    let why = "it is not as the client has seen it: somebody has changed it meanwhile";
    ApiError::new(ErrorCode::PreconditionFailed, why)
        .with_hint("get it anew, look what has changed, and send its new ETag as If-Match")
}
