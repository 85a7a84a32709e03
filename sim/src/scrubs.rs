//! Scrubs of which the simulation waits for the end.

use std::time::Duration;

use ashlar_block::Clock;
use ashlar_store::{DriveCondition, Findings, ScrubReport, ScrubState};

use crate::drives::Watched;
use crate::hosts::Run;
use crate::start::Pool;

impl Run {
    /// Scrubs the whole pool, and once more: then nothing may be found, and nothing may be wrong
    /// where anything lives. The drives corrupt nothing any more.
    pub async fn scrub_twice(&self, pool: &Pool, watched: &Watched) -> Result<(), String> {
        self.choose_settings(pool).await?;
        let alive = watched.corrupt_within(&pool.scrubbed_places());
        self.end_scrub_of_before(pool).await?;
        let first = self.scrub(pool).await?;
        let second = self.scrub(pool).await?;
        tracing::debug!(?first, ?second, "scrubbed");
        if second.findings != Findings::default() {
            return Err(format!(
                "a scrub finds what the one before has left: {first:?}, {second:?}"
            ));
        }
        let left = watched.corrupt_within(&pool.scrubbed_places());
        if left > 0 {
            return Err(format!(
                "sectors that drives have corrupted are wrong after two scrubs: {left}"
            ));
        }
        self.known.count(|outcome| {
            outcome.scrubbed += 1;
            outcome.corrupt_alive += alive;
        });
        let drives = pool.status().drives;
        self.is_pristine.set(drives.iter().all(|drive| drive.condition == DriveCondition::Online));
        Ok(())
    }

    /// A scrub that the start has taken up does not look again at what it had passed, and a power
    /// cut may have lost writes there.
    async fn end_scrub_of_before(&self, pool: &Pool) -> Result<(), String> {
        if pool.status().scrub.is_some_and(|scrub| scrub.state == ScrubState::Running) {
            self.scrub(pool).await?;
        }
        Ok(())
    }

    async fn scrub(&self, pool: &Pool) -> Result<ScrubReport, String> {
        pool.start_scrub().map_err(|error| format!("scrub: {error}"))?;
        loop {
            let report = pool.status().scrub.filter(|scrub| scrub.state != ScrubState::Running);
            match report {
                Some(report) => return Ok(report),
                None => self.world.sleep(Duration::from_millis(10)).await,
            }
        }
    }
}
