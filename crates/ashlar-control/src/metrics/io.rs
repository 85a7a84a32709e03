//! Operations, bytes and latencies of whatever has them.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};

use super::{Family, In, Labels, Value};
use crate::types::IoCounts;

/// Upper bounds of the buckets, in microseconds: classic ones, so that every version of Prometheus
/// and each of its heirs understands them. NVMe drives answer within 100 µs, and not all alike. A
/// command waits for a drive that hangs, or a pool that is not certain to be this machine's, for a
/// minute and more: that is not to be one with what took a second.
const BOUNDS_US: [u64; 14] = [
    50,
    100,
    200,
    500,
    1_000,
    5_000,
    20_000,
    100_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    100_000_000,
];

/// The families of one kind of thing.
pub(super) struct IoFamilies {
    pub operations: Family,
    pub bytes: Family,
    pub latency: Family,
}

/// Something with what it has done: reads, writes and trims.
pub(super) struct Done<'a> {
    /// Whose.
    pub labels: Labels,
    pub counts: [(&'static str, &'a IoCounts); 3],
}

impl IoFamilies {
    pub const fn new(
        [operations, bytes, latency]: [&'static str; 3],
        labels: &'static [&'static str],
        [of_operations, of_bytes, of_latency]: [&'static str; 3],
    ) -> Self {
        IoFamilies {
            operations: Family::counter(operations, In::Nothing, labels, of_operations),
            bytes: Family::counter(bytes, In::Bytes, labels, of_bytes),
            latency: Family::histogram(latency, labels, of_latency),
        }
    }

    pub fn all(&self) -> [Family; 3] {
        [self.operations, self.bytes, self.latency]
    }

    /// All series of all of them.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>, all: &[Done<'_>]) -> fmt::Result {
        let each = |count: fn(&IoCounts) -> u64| {
            all.iter().flat_map(move |done| {
                done.counts.iter().map(move |(kind, counts)| {
                    (with_kind(&done.labels, kind), Value::Count(count(counts)))
                })
            })
        };
        self.operations.encode(encoder, each(|counts| counts.operations))?;
        self.bytes.encode(encoder, each(|counts| counts.transferred_bytes))?;
        let mut metric = self.latency.begin(encoder)?;
        // What trims take is of account to nobody, and would be a third of all series.
        for (done, (kind, counts)) in
            all.iter().flat_map(|done| done.counts[..2].iter().map(move |of| (done, of)))
        {
            let labels = with_kind(&done.labels, kind);
            let seconds = counts.total_us as f64 / 1e6;
            metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                seconds,
                counts.operations,
                &buckets(counts),
                None,
            )?;
        }
        Ok(())
    }
}

fn with_kind(labels: &Labels, kind: &str) -> Labels {
    labels.iter().cloned().chain([("operation", kind.to_owned())]).collect()
}

/// The fine buckets in the coarse ones. One of the fine that a bound lies in counts as below it: it
/// is wrong by a 64th at most.
pub(super) fn buckets(counts: &IoCounts) -> Vec<(f64, u64)> {
    let bounds = BOUNDS_US.iter().map(|bound| *bound as f64 / 1e6).chain([f64::INFINITY]);
    let mut buckets: Vec<(f64, u64)> = bounds.map(|bound| (bound, 0)).collect();
    for [from_us, operations] in &counts.buckets {
        let at = BOUNDS_US.partition_point(|bound| bound <= from_us);
        buckets[at].1 += operations;
    }
    buckets
}
