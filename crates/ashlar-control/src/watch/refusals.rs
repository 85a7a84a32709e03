//! How many refusals the audit log takes one by one: whoever may change nothing cannot push out of
//! it what was done. Beyond that they are counted by caller, and told once their interval is over.
//! Pure.

use std::collections::BTreeMap;
use std::mem::take;
use std::time::{Duration, Instant};

use crate::types::Deed;

const INTERVAL: Duration = Duration::from_secs(3600);
/// Refusals of one interval, and those of one caller: some weeks of them fit into the log.
const REFUSALS_MAX: u32 = 256;
const OF_CALLER_MAX: u32 = 32;
/// Callers that are counted by their names; others are counted together.
const CALLERS_MAX: usize = 256;

/// The refusals of this interval.
#[derive(Default)]
pub struct Refusals {
    begun: Option<Instant>,
    told: u32,
    callers: BTreeMap<String, OfCaller>,
    others: OfCaller,
}

#[derive(Default)]
struct OfCaller {
    told: u32,
    untold: u64,
    last: Deed,
}

impl Refusals {
    /// That refusal, if it may be told by itself. Otherwise it is counted.
    pub fn admit(&mut self, now: Instant, caller: &str, deed: Deed) -> Option<Deed> {
        self.begun.get_or_insert(now);
        let is_named = self.callers.len() < CALLERS_MAX || self.callers.contains_key(caller);
        let of_caller = match is_named {
            true => self.callers.entry(caller.to_owned()).or_default(),
            false => &mut self.others,
        };
        if self.told < REFUSALS_MAX && of_caller.told < OF_CALLER_MAX {
            self.told += 1;
            of_caller.told += 1;
            return Some(deed);
        }
        of_caller.untold += 1;
        of_caller.last = deed;
        None
    }

    /// What is to be told of those that were counted, once their interval is over. Another one
    /// begins.
    pub fn take_untold(&mut self, now: Instant) -> Vec<Deed> {
        if self.begun.is_none_or(|begun| now.duration_since(begun) < INTERVAL) {
            return Vec::new();
        }
        self.end()
    }

    /// The same of those of which there will be no more.
    pub fn end(&mut self) -> Vec<Deed> {
        let Refusals { callers, others, .. } = take(self);
        let all = callers.into_values().chain([others]);
        all.filter(|of_caller| of_caller.untold > 0).map(summary).collect()
    }
}

fn summary(OfCaller { untold, last, .. }: OfCaller) -> Deed {
    let problem = last.problem.unwrap_or_default();
    let problem =
        format!("{untold} more were refused within an hour, of which this was the last: {problem}");
    Deed { problem: Some(problem), ..last }
}

#[cfg(test)]
mod tests;
