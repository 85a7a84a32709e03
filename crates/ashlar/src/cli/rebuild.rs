//! `ashlar pool rebuild --wait`, and what else waits for data to be moved.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use ashlar_control::types::{Obstacle, Pool, Progress};

use super::client::Client;
use super::progress::{self, Shown, check_open};

/// How long a degraded pool may have nothing to rebuild: a loss is first made known to the other
/// drives.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// How long something may stand in the way: hosts delete and trim, and collection makes room.
const OBSTACLE_MAX: Duration = Duration::from_secs(60);

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// What lived on lost drives is restored on others.
    Rebuild,
    /// What lives on a drive that is to be removed goes to others.
    Evacuation,
    /// What lives is spread over all drives.
    Rebalance,
}

impl Work {
    /// The state that a pool is in until it is done.
    fn state(self) -> &'static str {
        match self {
            Work::Rebuild => "degraded",
            Work::Evacuation => "evacuating",
            Work::Rebalance => "rebalancing",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Work::Rebuild => "rebuild",
            Work::Evacuation => "evacuation",
            Work::Rebalance => "rebalance",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Work::Rebuild => "rebuild",
            Work::Evacuation => "move what lives on a drive",
            Work::Rebalance => "rebalance",
        }
    }

    fn progress(self, pool: &Pool) -> Option<Progress> {
        match self {
            Work::Rebuild | Work::Evacuation => pool.rebuild(),
            Work::Rebalance => pool.rebalance(),
        }
    }
}

/// Since when it has not gone on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standstill {
    /// There is nothing that could be done.
    Idle(Instant),
    Obstacle(Obstacle, Instant),
}

impl Standstill {
    /// What is known of it after a look at the pool. `None`: it goes on.
    fn after(
        before: Option<Standstill>,
        progress: Option<&Progress>,
        now: Instant,
    ) -> Option<Standstill> {
        match (progress.map(|progress| progress.obstacle), before) {
            (Some(None), _) => None,
            (None, Some(Standstill::Idle(since))) => Some(Standstill::Idle(since)),
            (None, _) => Some(Standstill::Idle(now)),
            (Some(Some(met)), Some(Standstill::Obstacle(same, since))) if met == same => {
                Some(Standstill::Obstacle(met, since))
            }
            (Some(Some(met)), _) => Some(Standstill::Obstacle(met, now)),
        }
    }

    /// Why it is not waited for any longer.
    fn gives_up(self, work: Work, pool: &str, now: Instant) -> Option<String> {
        let (since, max) = match self {
            Standstill::Idle(since) => (since, IDLE_MAX),
            Standstill::Obstacle(_, since) => (since, OBSTACLE_MAX),
        };
        let why = match self {
            Standstill::Idle(_) if work == Work::Evacuation => format!(
                "pool '{pool}' moves nothing off the drive that is being removed: `ashlar pool \
                 show {pool}` shows its state"
            ),
            Standstill::Idle(_) => format!(
                "pool '{pool}' lacks drives, so Ashlar can rebuild nothing of it: `ashlar pool \
                 show {pool}` shows which are missing"
            ),
            Standstill::Obstacle(obstacle, _) => met(obstacle, work, pool),
        };
        (now.duration_since(since) > max).then_some(why)
    }
}

/// What is said of what stands in the way, with the way out.
fn met(obstacle: Obstacle, work: Work, pool: &str) -> String {
    let work = work.name();
    match obstacle {
        Obstacle::NoRoom => format!(
            "the {work} of pool '{pool}' waits for room: it goes on by itself once you delete or \
             trim data, or add a drive"
        ),
        Obstacle::Unreadable => format!(
            "the {work} of pool '{pool}' cannot read the remaining data: more of it is lost than \
             the level survives. Ashlar tries again each minute. Bring lost drives back (`ashlar \
             drive return`), or run `ashlar pool scrub {pool}`, which says how much is lost"
        ),
    }
}

/// Whether the work on the pool is done. A pool that is not open has none of the states that tell
/// of work, and says nothing of what is left of it.
///
/// # Errors
/// When nothing can be done, with the reason and the way out.
fn is_done(pool: &Pool, work: Work) -> anyhow::Result<bool> {
    check_open(pool)?;
    let is_done = !pool.states.iter().any(|is| is == work.state());
    if !is_done {
        check_able(pool, work)?;
    }
    Ok(is_done)
}

/// Whoever only looks is told how far the work is, unless it does not go on.
///
/// # Errors
/// Why it does not, with the way out.
pub fn check_goes_on(pool: &Pool, work: Work) -> anyhow::Result<()> {
    if is_done(pool, work)? {
        return Ok(());
    }
    let obstacle = work.progress(pool).and_then(|progress| progress.obstacle);
    obstacle.map_or(Ok(()), |obstacle| Err(anyhow!(met(obstacle, work, &pool.name))))
}

/// Nothing is moved in a pool that takes no writes.
pub(super) fn check_able(pool: &Pool, work: Work) -> anyhow::Result<()> {
    let Some(why) = &pool.problem else { return Ok(()) };
    bail!(
        "pool '{name}' cannot {}: {why}. `ashlar pool show {name}` shows which drives it lacks: \
         `ashlar drive return` brings one back, `ashlar pool add-drive` adds another",
        work.verb(),
        name = pool.name
    )
}

/// Work that somebody waits for.
pub(super) struct Watched {
    work: Work,
    standstill: Option<Standstill>,
}

impl Watched {
    pub(super) fn new(work: Work) -> Self {
        Watched { work, standstill: None }
    }

    /// How far the work is after a look at the pool, if that is known.
    ///
    /// # Errors
    /// When the work has not gone on for too long, with the reason.
    pub(super) fn shown(&mut self, pool: &Pool) -> anyhow::Result<Option<Shown>> {
        let (progress, now) = (self.work.progress(pool), Instant::now());
        self.standstill = Standstill::after(self.standstill, progress.as_ref(), now);
        if let Some(why) =
            self.standstill.and_then(|stands| stands.gives_up(self.work, &pool.name, now))
        {
            bail!(why);
        }
        Ok(progress.map(|progress| Shown::new(progress.done_percent, &progress)))
    }
}

/// Returns the pool at `path` once the work is done, and whether there was any.
///
/// # Errors
/// When the pool cannot move what it would have to, with the reason.
pub async fn wait(client: &Client, path: &str, work: Work) -> anyhow::Result<(Pool, bool)> {
    let (mut watched, mut has_waited) = (Watched::new(work), false);
    let shown = |pool: &Pool| {
        has_waited = true;
        watched.shown(pool)
    };
    let pool = progress::wait(client, path, work.name(), |pool| is_done(pool, work), shown).await?;
    Ok((pool, has_waited))
}

#[cfg(test)]
mod tests;
