//! Latencies, and what people want to know of them.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies from 1 µs to 1 minute, to three digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

const LOWEST_NANOS: u64 = 1_000;
const HIGHEST_NANOS: u64 = 60_000_000_000;

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(LOWEST_NANOS, HIGHEST_NANOS, 3);
        Latencies(histogram.expect("the bounds are valid"))
    }
}

/// A distribution in a few figures, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LatencySummary {
    /// Operations.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// Half are faster.
    pub p50_us: f64,
    /// 90 % are faster.
    pub p90_us: f64,
    /// 99 % are faster.
    pub p99_us: f64,
    /// 99.9 % are faster.
    pub p999_us: f64,
    /// The slowest.
    pub max_us: f64,
}

impl Latencies {
    /// Counts one operation. What is out of range counts as the nearest that is in it.
    pub fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanos.clamp(LOWEST_NANOS, HIGHEST_NANOS));
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Latencies) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    /// The figures.
    pub fn summary(&self) -> LatencySummary {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let quantile = |quantile| micros(self.0.value_at_quantile(quantile));
        LatencySummary {
            count: self.0.len(),
            mean_us: self.0.mean() / 1e3,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: micros(self.0.max()),
        }
    }
}

#[cfg(test)]
mod tests;
