//! What a monitor scrapes: the figures of the node as OpenMetrics.
//!
//! 1. It is made of what the API answers anyway, at the moment somebody asks: between two scrapes
//!    it costs nothing, and nothing of it is on the way of data.
//! 2. How many series there are is bounded by what an operator has made: pools, volumes, drives,
//!    threads, receivers of events, hosts in access lists; by the words for what is not well; and
//!    by [`hosts::OTHERS_MAX`] other hosts. Nothing that a host may choose makes more.
//! 3. A name that has been given out does not change. Names and units are as Prometheus asks for
//!    them: base units, `_total` for what only grows.
//!
//! Every family is a line of a table: its name, its unit, what it means, and where it is read. The
//! same tables are the reference.

use std::fmt;
use std::sync::LazyLock;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use serde::Serialize;

use crate::types::{Host, HostFigures, IoStat, Job, ProcessFigures, Receiver, Status};

mod classic;
mod drives;
mod hosts;
mod io;
mod node;
mod pools;
mod receivers;
mod volumes;

#[cfg(test)]
mod tests;

/// What is told of.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub status: Status,
    pub iostat: IoStat,
    pub hosts: Vec<Host>,
    pub host_figures: Vec<HostFigures>,
    pub jobs: Vec<Job>,
    pub receivers: Vec<Receiver>,
    pub process: ProcessFigures,
}

impl Snapshot {
    /// The text of a scrape.
    pub fn text(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        encode(&mut text, &registry).expect("a text takes everything");
        text
    }

    /// The same in the format before OpenMetrics.
    pub fn classic_text(self) -> String {
        classic::of(&self.text())
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        node::encode(self, &mut encoder)?;
        hosts::encode(self, &mut encoder)?;
        receivers::encode(self, &mut encoder)?;
        pools::encode(self, &mut encoder)?;
        volumes::encode(self, &mut encoder)?;
        drives::encode(self, &mut encoder)
    }
}

/// The labels of a series.
type Labels = Vec<(&'static str, String)>;

/// What a value is measured in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum In {
    /// Nothing: it is a count, or yes or no.
    Nothing,
    Bytes,
    Seconds,
    Ratio,
    Celsius,
}

static BYTES: Unit = Unit::Bytes;
static SECONDS: Unit = Unit::Seconds;
// Prometheus writes it in the singular.
static RATIO: LazyLock<Unit> = LazyLock::new(|| Unit::Other("ratio".to_owned()));
static CELSIUS: Unit = Unit::Celsius;

impl In {
    fn unit(self) -> Option<&'static Unit> {
        match self {
            In::Nothing => None,
            In::Bytes => Some(&BYTES),
            In::Seconds => Some(&SECONDS),
            In::Ratio => Some(&RATIO),
            In::Celsius => Some(&CELSIUS),
        }
    }
}

/// What a family is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// It goes up and down.
    Gauge,
    /// It only grows, until it begins anew.
    Counter,
    /// How many took how long.
    Histogram,
}

/// What there is to know of a family: a line of the reference.
#[derive(Clone, Copy, Debug)]
struct Family {
    /// Its name, without its unit and `_total`.
    name: &'static str,
    unit: In,
    kind: Kind,
    /// The names of its labels.
    labels: &'static [&'static str],
    help: &'static str,
}

/// Where a value is read. None: it is not known, and so there is no series.
enum Read<T: 'static> {
    Count(fn(&T) -> u64),
    Maybe(fn(&T) -> Option<u64>),
    Real(fn(&T) -> Option<f64>),
    Is(fn(&T) -> bool),
}

/// A value.
#[derive(Clone, Copy, Debug)]
enum Value {
    Count(u64),
    Real(f64),
}

impl<T> Read<T> {
    fn value(&self, of: &T) -> Option<Value> {
        match self {
            Read::Count(read) => Some(Value::Count(read(of))),
            Read::Maybe(read) => read(of).map(Value::Count),
            Read::Real(read) => read(of).map(Value::Real),
            Read::Is(read) => Some(Value::Count(u64::from(read(of)))),
        }
    }
}

/// A family whose series are one for each `T`.
struct Figure<T: 'static> {
    family: Family,
    read: Read<T>,
}

/// A line of a table.
const fn figure<T>(family: Family, read: Read<T>) -> Figure<T> {
    Figure { family, read }
}

impl Family {
    const fn gauge(
        name: &'static str,
        unit: In,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Family { name, unit, kind: Kind::Gauge, labels, help }
    }

    const fn counter(
        name: &'static str,
        unit: In,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Family { name, unit, kind: Kind::Counter, labels, help }
    }

    const fn histogram(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Family { name, unit: In::Seconds, kind: Kind::Histogram, labels, help }
    }

    fn begin<'a>(
        &'a self,
        encoder: &'a mut DescriptorEncoder<'_>,
    ) -> Result<MetricEncoder<'a>, fmt::Error> {
        let kind = match self.kind {
            Kind::Gauge => MetricType::Gauge,
            Kind::Counter => MetricType::Counter,
            Kind::Histogram => MetricType::Histogram,
        };
        encoder.encode_descriptor(self.name, self.help, self.unit.unit(), kind)
    }

    /// All its series.
    fn encode(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        series: impl IntoIterator<Item = (Labels, Value)>,
    ) -> fmt::Result {
        let mut metric = self.begin(encoder)?;
        for (labels, value) in series {
            let mut one = metric.encode_family(&labels)?;
            match (self.kind, value) {
                (Kind::Counter, Value::Count(count)) => {
                    one.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
                }
                (Kind::Counter, Value::Real(real)) => {
                    one.encode_counter::<NoLabelSet, _, f64>(&real, None)?;
                }
                (_, Value::Count(count)) => one.encode_gauge(&count)?,
                (_, Value::Real(real)) => one.encode_gauge(&real)?,
            }
        }
        Ok(())
    }
}

/// The families of a table, each with a series for each of `all`.
fn encode_figures<T>(
    encoder: &mut DescriptorEncoder<'_>,
    figures: &[Figure<T>],
    all: &[(Labels, &T)],
) -> fmt::Result {
    for Figure { family, read } in figures {
        let series = all.iter().filter_map(|(labels, of)| Some((labels.clone(), read.value(of)?)));
        family.encode(encoder, series)?;
    }
    Ok(())
}

/// A metric, for people and for those who make rules of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MetricMeaning {
    /// Its name, as it is scraped.
    pub name: String,
    /// `gauge`, `counter` or `histogram`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
}

impl From<&Family> for MetricMeaning {
    fn from(family: &Family) -> Self {
        let unit = family.unit.unit().map(|unit| format!("_{}", unit.as_str())).unwrap_or_default();
        let (kind, total) = match family.kind {
            Kind::Gauge => ("gauge", ""),
            Kind::Counter => ("counter", "_total"),
            Kind::Histogram => ("histogram", ""),
        };
        let name = format!("{}{unit}{total}", family.name);
        MetricMeaning { name, kind, labels: family.labels, help: family.help }
    }
}

/// Every metric that there is.
pub fn metrics() -> Vec<MetricMeaning> {
    let all = node::families().into_iter().chain(hosts::families());
    let all = all.chain(receivers::families());
    let all = all.chain(pools::families()).chain(volumes::families()).chain(drives::families());
    all.map(|family| MetricMeaning::from(&family)).collect()
}
