//! When a pool will be full, if it goes on as in the last hour.
//!
//! Owns what lived in each pool of late, a sample a minute. It must not know how a pool counts.
//!
//! The slope is Theil and Sen's: the median of the slopes between all pairs of samples, which a
//! burst or a delete of less than a quarter of the hour does not move. Sen's interval around it
//! says how sure it is (P. K. Sen, *Estimates of the regression coefficient based on Kendall's
//! tau*, 1968). Where its ends are far from each other, a forecast would be a guess, and there is
//! none.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ashlar_block::PoolUuid;

/// How often what lives is noted.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(60);
/// Samples that are kept: those of an hour.
const SAMPLES_MAX: usize = 60;
/// Fewer samples, or samples over a shorter time, say nothing.
const SAMPLES_MIN: usize = 10;
const SPAN_MIN: Duration = Duration::from_secs(10 * 60);
/// The ends of the interval are at most so many times each other.
const ENDS_RATIO_MAX: f64 = 2.0;
/// The interval has the true slope in 95 of 100 cases.
const NORMAL_QUANTILE: f64 = 1.96;
/// What is further away is none of today's worries.
const FORECAST_MAX: Duration = Duration::from_secs(90 * 86_400);

/// What lived at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sample {
    /// Since any moment.
    at: Duration,
    live_bytes: u64,
}

/// What lived in one pool of late.
#[derive(Default)]
struct History {
    samples: VecDeque<Sample>,
    /// Bytes per second, if that is known.
    rate: Option<f64>,
}

impl History {
    fn note(&mut self, sample: Sample) {
        let is_due = |last: &Sample| sample.at.saturating_sub(last.at) >= SAMPLE_INTERVAL;
        if self.samples.back().is_none_or(is_due) {
            if self.samples.len() == SAMPLES_MAX {
                self.samples.pop_front();
            }
            self.samples.push_back(sample);
            self.rate = rate(self.samples.make_contiguous());
        }
    }
}

/// What lived in pools of late.
#[derive(Default)]
pub struct Forecast {
    pools: BTreeMap<PoolUuid, History>,
}

impl Forecast {
    /// So much lives in the pool now, and `room_bytes` more may. Returns how long until that is
    /// used up, if anybody can say.
    pub fn time_to_full(
        &mut self,
        pool: PoolUuid,
        now: Duration,
        live_bytes: u64,
        room_bytes: u64,
    ) -> Option<Duration> {
        let history = self.pools.entry(pool).or_default();
        history.note(Sample { at: now, live_bytes });
        let seconds = room_bytes as f64 / history.rate?;
        (seconds <= FORECAST_MAX.as_secs_f64()).then(|| Duration::from_secs_f64(seconds))
    }

    /// Pools that are not among these are forgotten.
    pub fn keep(&mut self, is_there: impl Fn(PoolUuid) -> bool) {
        self.pools.retain(|pool, _| is_there(*pool));
    }
}

/// How fast what lives grows, in bytes per second. `samples` are in order of time. None: it does
/// not, or nobody can say.
fn rate(samples: &[Sample]) -> Option<f64> {
    let [first, .., last] = samples else { return None };
    if samples.len() < SAMPLES_MIN || last.at.saturating_sub(first.at) < SPAN_MIN {
        return None;
    }
    let mut slopes = slopes(samples);
    slopes.sort_by(f64::total_cmp);
    let (low, slope, high) = interval(&slopes, samples.len());
    (low > 0.0 && high <= low * ENDS_RATIO_MAX).then_some(slope)
}

/// Bytes per second between each two samples.
fn slopes(samples: &[Sample]) -> Vec<f64> {
    let later = |at: usize| samples[at + 1..].iter();
    let pairs = samples
        .iter()
        .enumerate()
        .flat_map(|(at, first)| later(at).map(move |later| (first, later)));
    let slope = |(first, later): (&Sample, &Sample)| {
        let bytes = later.live_bytes as f64 - first.live_bytes as f64;
        bytes / (later.at - first.at).as_secs_f64()
    };
    pairs.map(slope).collect()
}

/// The median of `slopes`, which are sorted, and the ends of Sen's interval around it.
fn interval(slopes: &[f64], samples: usize) -> (f64, f64, f64) {
    let n = samples as f64;
    let spread = NORMAL_QUANTILE * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let last = slopes.len() - 1;
    let rank = |rank: f64| slopes[(rank.max(0.0) as usize).min(last)];
    let all = slopes.len() as f64;
    (rank((all - spread) / 2.0), rank(all / 2.0), rank((all + spread) / 2.0 + 1.0))
}

#[cfg(test)]
mod tests;
