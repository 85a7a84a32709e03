//! Hosts keep the namespaces of pools that are not open: they are remembered while a pool is open,
//! and shown from the next start on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ashlar_volume::Table;
use uuid::Uuid;

use super::super::apart::apart;
use super::super::namespaces::{self, NamespaceState, Namespaces, pool_uuid};
use super::super::state::{Directory, NodeState, StateDir};
use super::Shared;

/// How long changes are gathered before they are written.
const GATHERED: Duration = Duration::from_secs(1);
/// How long a change may be missed that the table does not tell of: a pool becomes the node's own
/// after it is open. A file that could not be written is tried again by then, too.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// The namespaces that are remembered, and what has come of writing them.
pub struct Remembered {
    node: Uuid,
    written: Namespaces,
    /// The last try has failed, which the log says once.
    has_failed: bool,
    /// Pools are closed for the end of the daemon.
    is_over: bool,
}

impl Remembered {
    /// What the directory says of the node's pools, whose namespaces hosts see from now on.
    pub fn shown(directory: &Path, state: &StateDir, table: &Table) -> Self {
        let node = state.node.uuid;
        let written = namespaces::read(directory, node).unwrap_or_else(|error| {
            tracing::warn!("{error}; hosts see the namespaces of a pool only once it is open");
            Namespaces::new()
        });
        let lasting = lasting(&state.node);
        for (uuid, known) in written.iter().filter(|(uuid, _)| lasting.contains(*uuid)) {
            let namespaces = known.iter().filter_map(NamespaceState::namespace).collect();
            table.expect_pool(pool_uuid(*uuid), namespaces);
        }
        Remembered { node, written, has_failed: false, is_over: false }
    }

    /// Writes what is to be remembered, if that is not what is.
    fn keep(&mut self, directory: &Directory, now: Namespaces) {
        if now == self.written && !self.has_failed {
            return;
        }
        // A directory that has gone is made again with its first file.
        let Some(directory) = directory.path_if_there() else { return self.has_failed = true };
        match namespaces::write(directory, self.node, &now) {
            Ok(()) => (self.written, self.has_failed) = (now, false),
            Err(error) => {
                if !std::mem::replace(&mut self.has_failed, true) {
                    let file = namespaces::file_in(directory);
                    tracing::warn!(
                        "cannot write {}: {error}; after the next start hosts may miss namespaces \
                         until their pool is open",
                        file.display()
                    );
                }
            }
        }
    }
}

/// The pools that a start of the node opens.
fn lasting(node: &NodeState) -> BTreeSet<Uuid> {
    let pools = node.pools.iter().filter(|pool| !pool.volatile);
    pools.filter_map(|pool| pool.uuid.parse().ok()).collect()
}

/// What is to be remembered: of pools that are open what they have, of others of the node what was
/// remembered before.
fn to_remember(table: &Table, node: &NodeState, before: &Namespaces) -> (u64, Namespaces) {
    let (generation, open) = table.open_pools();
    let of_pool = |uuid: Uuid| match open.get(&pool_uuid(uuid)) {
        Some(namespaces) => Some((uuid, namespaces.iter().map(NamespaceState::of).collect())),
        None => Some((uuid, before.get(&uuid)?.clone())),
    };
    (generation, lasting(node).into_iter().filter_map(of_pool).collect())
}

impl Shared {
    /// Remembers the namespaces of open pools whenever they have changed: for as long as it is
    /// polled.
    pub(super) async fn keep_namespaces(self: Arc<Self>) {
        let mut seen = 0;
        loop {
            let shared = self.clone();
            if let Ok(done) = apart("namespaces", move || shared.remember_namespaces()) {
                seen = done.await.unwrap_or(seen);
            }
            let _ = tokio::time::timeout(LOOK_INTERVAL, self.node.table().changed(seen)).await;
            tokio::time::sleep(GATHERED).await;
        }
    }

    /// Remembers what open pools have now. Returns the number of changes that are known by that.
    fn remember_namespaces(&self) -> u64 {
        let mut remembered = self.remembered();
        if remembered.is_over {
            return self.node.table().open_pools().0;
        }
        let (directory, generation, now) = {
            let memory = self.memory();
            let (generation, now) =
                to_remember(self.node.table(), memory.node(), &remembered.written);
            (memory.directory(), generation, now)
        };
        remembered.keep(&directory, now);
        generation
    }

    /// Remembers what open pools have, for the last time: they are about to be closed.
    pub(super) fn remember_namespaces_at_end(&self) {
        self.remember_namespaces();
        self.remembered().is_over = true;
    }

    /// A pool is none of this node any more.
    pub(super) fn forget(&self, uuid: &str) {
        self.memory().forget(uuid);
        if let Ok(uuid) = uuid.parse() {
            self.node.table().remove_pool(pool_uuid(uuid));
        }
    }
}

#[cfg(test)]
mod tests;
