//! Pools that a fault in Ashlar itself has stopped. They stay closed until an operator opens them.

use std::sync::Arc;
use std::time::Duration;

use ashlar_volume::StoppedPool;

use super::super::Config;
use super::super::deaths::Deaths;
use super::super::memory::{Memory, NotOpen};
use super::super::state::PoolState;
use super::Shared;
use super::opening::LOOK_INTERVAL;
use crate::logging;

/// How long a change waits for a pool that has been stopped to let go of its drives.
const LET_GO_MAX: Duration = Duration::from_secs(10);
/// How long the end of the daemon waits to be noted.
const NOTE_MAX: Duration = Duration::from_secs(5);

/// What is known of pools whose work has ended the daemon; nothing, if all are to be opened.
pub(super) fn deaths(config: &Config) -> Deaths {
    let deaths = Deaths::of(&config.state);
    deaths.note_cut_openings();
    if config.open_all {
        deaths.forget_all()
    } else {
        deaths.write()
    }
    let last_words = deaths.clone();
    logging::tell_of_the_end(move |pool| {
        if let Err(error) = last_words.note_within(pool, NOTE_MAX) {
            let file = last_words.path().display();
            logging::print(&format!(
                "pool {pool} ends the daemon, and that cannot be noted in {file}: {error}. The \
                 next start opens the pool as if nothing had happened"
            ));
        }
    });
    deaths
}

/// Keeps pools from being opened by themselves whose work has ended the daemon again and again.
pub(super) fn keep_closed(deaths: &Deaths, memory: &mut Memory) {
    for uuid in deaths.suspects() {
        let Some(pool) = memory.pool(&uuid).map(|pool| pool.name.clone()) else { continue };
        let why = format!(
            "its work or its opening has ended the daemon twice within a minute, so it stays \
             closed: `ashlar pool import {pool}` opens it, `ashlar serve --open-all` all such \
             pools. Please report what the log says of the end"
        );
        tracing::error!(pool, "the pool is not opened: {why}");
        memory.is_not_open(&uuid, NotOpen::Stopped(why));
    }
}

impl Shared {
    /// Notes which pools have been stopped: for as long as it is polled.
    pub(super) async fn keep_stopped(self: Arc<Self>) {
        loop {
            self.stops.next().await;
            let Ok(_changing) = self.changing.next().await else { return };
            self.note_stops().await;
        }
    }

    /// Takes note of all that have been stopped by now. The caller changes the pools.
    pub(super) async fn note_stops(&self) {
        while !self.stops.is_empty() {
            let stopped = tokio::time::timeout(LET_GO_MAX, self.stops.next()).await;
            let Ok(stopped) = stopped else { return };
            self.note_stopped(&stopped).await;
            self.stops.forget(&stopped);
        }
    }

    /// Why the pool is out of service, if it has just been stopped.
    pub(super) fn why_stopped(&self, pool: &PoolState) -> Option<NotOpen> {
        self.stops
            .get(&pool.uuid)
            .map(|stopped| NotOpen::Stopped(why_stopped(&stopped, pool.volatile)))
    }

    /// Once whoever has opened the pool has noted that it is open.
    async fn note_stopped(&self, stopped: &StoppedPool) {
        let uuid = stopped.uuid.to_string();
        while matches!(self.memory().not_open(&uuid), Some(NotOpen::Opening(_))) {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        // Somebody may have opened it again meanwhile.
        if self.node.report(&uuid).await.is_ok() {
            return;
        }
        let is_volatile = self.memory().pool(&uuid).is_some_and(|pool| pool.volatile);
        if is_volatile {
            // There is nothing to come back to.
            self.node.table().remove_pool(stopped.uuid);
        }
        self.memory().was_closed(uuid, NotOpen::Stopped(why_stopped(stopped, is_volatile)));
    }
}

/// `is_volatile`: its drives were memory.
fn why_stopped(StoppedPool { name, why, .. }: &StoppedPool, is_volatile: bool) -> String {
    let left = if is_volatile {
        "its drives were in memory, and what they held is gone: `ashlar pool export` makes this \
         node forget the pool"
            .to_owned()
    } else {
        format!(
            "what was acknowledged is on its drives, and `ashlar pool import {name}` opens it again"
        )
    };
    format!(
        "a fault in Ashlar itself has taken it out of service: {why}; {left}; please report this"
    )
}
