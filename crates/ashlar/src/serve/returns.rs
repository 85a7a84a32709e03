//! Which drives come back to their pools by themselves. Pure.
//!
//! A drive that was away comes back when it is there again, under whatever name. One that somebody
//! has failed, or that Ashlar has given up for its faults, comes back only when somebody asks for
//! that.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use ashlar_drive::DriveMark;
use ashlar_store::DriveCondition;
use ashlar_volume::{DriveReport, PoolRecord, PoolReport};

use super::finder::FoundPlace;

/// Drives that come and go so often within [`FLAPPING_WINDOW`] are left alone.
const RETURNS_MAX: usize = 3;
const FLAPPING_WINDOW: Duration = Duration::from_secs(600);
/// When a drive is tried again that was refused for a reason that may pass: first, and at most.
const RETRY_MIN: Duration = Duration::from_secs(60);
const RETRY_MAX: Duration = Duration::from_secs(3600);

/// A drive that a pool has lost, and that may come back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Its name in the pool.
    pub name: String,
    /// Its identity.
    pub uuid: String,
    /// All that lived on it is on others.
    pub is_released: bool,
}

/// A drive that is to come back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Return {
    /// The member that it is.
    pub lost: Lost,
    /// Where it is.
    pub at: FoundPlace,
}

/// Why a drive was not taken back.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Refusal {
    mark: DriveMark,
    was_released: bool,
    why: String,
    /// When it is tried again although nothing has changed, and how long after this refusal that
    /// is.
    retry: Option<(Instant, Duration)>,
}

/// What is known of drives that were to come back.
#[derive(Debug, Default)]
pub struct Returns {
    /// By the drives' identities.
    refused: BTreeMap<String, Refusal>,
    /// When drives have come back, by where they are.
    came_back: BTreeMap<String, VecDeque<Instant>>,
}

/// The members of the pool that may come back by themselves.
pub fn lost(report: &PoolReport) -> Vec<Lost> {
    let is_lost = |drive: &&DriveReport| {
        let is_away = matches!(
            drive.status.condition,
            DriveCondition::Failed(_) | DriveCondition::Absent | DriveCondition::Released
        );
        is_away && !drive.status.is_given_up
    };
    let lost = |drive: &DriveReport| Lost {
        name: drive.name(),
        uuid: drive.status.uuid.to_string(),
        is_released: drive.status.condition == DriveCondition::Released,
    };
    report.drives.iter().filter(is_lost).map(lost).collect()
}

impl Returns {
    /// The drive that is to come back now, if one is.
    pub fn next(&self, lost: &[Lost], found: &[FoundPlace], now: Instant) -> Option<Return> {
        let place_of = |lost: &Lost| found.iter().find(|found| found.uuid.to_string() == lost.uuid);
        // One that came back has several records, of which the newest comes last.
        let all = lost
            .iter()
            .rev()
            .filter_map(|lost| Some(Return { lost: lost.clone(), at: place_of(lost)?.clone() }));
        all.into_iter().find(|it| !self.is_refused(it, now) && !self.is_flapping(&it.at.spec, now))
    }

    fn is_refused(&self, it: &Return, now: Instant) -> bool {
        self.refused.get(&it.lost.uuid).is_some_and(|refusal| {
            let is_same = refusal.mark == it.at.mark && refusal.was_released == it.lost.is_released;
            is_same && refusal.retry.is_none_or(|(retry, _)| now < retry)
        })
    }

    fn is_flapping(&self, spec: &str, now: Instant) -> bool {
        self.came_back.get(spec).is_some_and(|times| {
            times.iter().filter(|time| now.duration_since(**time) < FLAPPING_WINDOW).count()
                >= RETURNS_MAX
        })
    }

    /// A drive has come back. True: it is left alone the next time, because it comes and goes.
    pub fn came_back(&mut self, it: &Return, now: Instant) -> bool {
        self.refused.remove(&it.lost.uuid);
        let times = self.came_back.entry(it.at.spec.clone()).or_default();
        times.push_back(now);
        while times.len() > RETURNS_MAX {
            times.pop_front();
        }
        self.is_flapping(&it.at.spec, now)
    }

    /// A drive was refused; `may_pass`: for a reason that has nothing to do with the drive. True:
    /// that is news.
    pub fn was_refused(&mut self, it: &Return, why: String, may_pass: bool, now: Instant) -> bool {
        let (mark, was_released) = (it.at.mark.clone(), it.lost.is_released);
        let before = self.refused.get(&it.lost.uuid).filter(|before| before.why == why);
        let waited = before.and_then(|before| before.retry).map(|(_, waited)| waited);
        let wait = waited.map_or(RETRY_MIN, |waited| (waited * 2).min(RETRY_MAX));
        let is_news = before.is_none();
        let retry = may_pass.then_some((now + wait, wait));
        self.refused.insert(it.lost.uuid.clone(), Refusal { mark, was_released, why, retry });
        is_news
    }

    /// Why a drive that is there, at `found`, is not taken back.
    pub fn refusal(&self, uuid: &str, found: &FoundPlace, now: Instant) -> Option<String> {
        let refused = self.refused.get(uuid).filter(|refusal| refusal.mark == found.mark);
        let flapping = || {
            let minutes = FLAPPING_WINDOW.as_secs() / 60;
            let why = format!("it has come and gone {RETURNS_MAX} times within {minutes} minutes");
            self.is_flapping(&found.spec, now).then_some(why)
        };
        refused.map(|refusal| refusal.why.clone()).or_else(flapping)
    }

    /// Somebody has brought a drive back by hand: nothing stands against drives that the pool has
    /// by now.
    pub fn forget_pool(&mut self, pool: &PoolRecord) {
        let are_there = |uuid: &str| pool.drives.iter().any(|(_, there)| there.to_string() == uuid);
        self.refused.retain(|uuid, _| !are_there(uuid));
        self.came_back.retain(|place, _| pool.drives.iter().all(|(spec, _)| spec != place));
    }
}

#[cfg(test)]
mod tests;
