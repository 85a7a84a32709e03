//! Servers measured in turn, in several short rounds: what disturbs the machine disturbs all of
//! them, and a round in which it did not is no better than the others.

use std::time::Duration;

use anyhow::anyhow;
use ashlar_load::echo;
use ashlar_load::initiator::{ConnectOptions, Digests, HostIdentity};
use ashlar_load::load::Load;
use ashlar_load::ratio::{Ratio, median};
use ashlar_load::wire_bench::{self, Figures};
use serde::Serialize;

use super::interrupt;
use super::servers::Server;

/// What speaks to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// The control's: the same bytes without NVMe.
    Echo,
    /// NVMe/TCP, with these digests.
    Nvme(Digests),
}

/// A server under a load.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The server.
    pub server: &'a Server,
    /// What speaks to it.
    pub protocol: Protocol,
    /// The load.
    pub load: Load,
}

/// One subject's figures, round by round.
#[derive(Clone, Debug, Default)]
pub struct Rounds(Vec<Figures>);

/// Medians over all rounds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// The load.
    pub load: Load,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Latency that half of the operations stay below.
    pub p50_us: f64,
    /// Latency that 99 % of the operations stay below.
    pub p99_us: f64,
    /// Latency that 999 of 1,000 operations stay below.
    pub p999_us: f64,
    /// Processor time that the server spends on an operation.
    pub cpu_us_per_operation: f64,
    /// Operations that the server does with a second of processor time.
    pub operations_per_cpu_second: f64,
}

/// Measures every subject once in each of `rounds` rounds.
///
/// # Errors
/// The subject that cannot be measured, or a signal.
pub async fn measure(subjects: &[Subject<'_>], rounds: u32) -> anyhow::Result<Vec<Rounds>> {
    let mut figures = vec![Rounds::default(); subjects.len()];
    for _ in 0..rounds {
        for (subject, figures) in subjects.iter().zip(&mut figures) {
            interrupt::check()?;
            figures.0.push(subject.measure().await?);
        }
    }
    Ok(figures)
}

impl<'a> Subject<'a> {
    /// The control under `load`.
    pub fn echo(server: &'a Server, load: Load) -> Self {
        Subject { server, protocol: Protocol::Echo, load }
    }

    /// A volume under `load`, without digests.
    pub fn volume(server: &'a Server, load: Load) -> Self {
        Subject { server, protocol: Protocol::Nvme(Digests::NONE), load }
    }

    async fn measure(&self) -> anyhow::Result<Figures> {
        let Server { address, nsid, clock, .. } = self.server;
        match self.protocol {
            Protocol::Echo => {
                let figures = echo::measure(*address, self.load, Some(clock)).await;
                figures.map_err(|error| anyhow!("the echo server: {error}"))
            }
            Protocol::Nvme(digests) => {
                let options = ConnectOptions { digests, ..options(self.server, 0) };
                let figures = wire_bench::measure(options, *nsid, self.load, Some(clock)).await;
                figures.map_err(|error| anyhow!("{}: {error}", super::table::load_name(&self.load)))
            }
        }
    }
}

/// How host `number` connects.
pub fn options(server: &Server, number: u8) -> ConnectOptions {
    let nqn =
        format!("nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-0000000000{number:02x}");
    let host = HostIdentity { nqn, id: [number.wrapping_add(1); 16] };
    let options = ConnectOptions::new(server.address, &server.subsystem_nqn, host);
    ConnectOptions { disable_sq_flow_control: true, ..options }
}

/// Processor seconds of an operation.
fn cpu_seconds(figures: &Figures) -> f64 {
    figures.operations_per_cpu_second.map_or(0.0, |rate| 1.0 / rate)
}

impl Extend<Rounds> for Rounds {
    fn extend<I: IntoIterator<Item = Rounds>>(&mut self, more: I) {
        more.into_iter().for_each(|rounds| self.0.extend(rounds.0));
    }
}

impl Rounds {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn each(&self, figure: impl Fn(&Figures) -> f64) -> Vec<f64> {
        self.0.iter().map(figure).collect()
    }

    /// Medians, if there was a round.
    pub fn some_summary(&self) -> Option<Summary> {
        (!self.0.is_empty()).then(|| self.summary())
    }

    /// Medians.
    ///
    /// # Panics
    /// If there was no round.
    pub fn summary(&self) -> Summary {
        let middle = |figure: fn(&Figures) -> f64| median(&self.each(figure));
        Summary {
            load: self.0[0].load,
            iops: middle(|figures| figures.iops),
            bytes_per_second: middle(|figures| figures.bytes_per_second),
            p50_us: middle(|figures| figures.latency.p50_us),
            p99_us: middle(|figures| figures.latency.p99_us),
            p999_us: middle(|figures| figures.latency.p999_us),
            cpu_us_per_operation: middle(cpu_seconds) * 1e6,
            operations_per_cpu_second: middle(|figures| {
                figures.operations_per_cpu_second.unwrap_or(0.0)
            }),
        }
    }

    /// Operations per processor second, beside `control`'s in the same round.
    pub fn rate_ratio(&self, control: &Rounds) -> Option<Ratio> {
        Ratio::of_rounds(&control.each(cpu_seconds), &self.each(cpu_seconds))
    }

    /// Operations per second, beside `control`'s in the same round.
    pub fn iops_ratio(&self, control: &Rounds) -> Option<Ratio> {
        let iops = |figures: &Figures| figures.iops;
        Ratio::of_rounds(&self.each(iops), &control.each(iops))
    }

    /// Processor time of an operation, beside `control`'s in the same round.
    pub fn cost_ratio(&self, control: &Rounds) -> Option<Ratio> {
        Ratio::of_rounds(&self.each(cpu_seconds), &control.each(cpu_seconds))
    }

    /// The same beside `control`'s and what was measured on top of it in each round.
    pub fn cost_ratio_with(&self, control: &Rounds, more: &[Duration]) -> Option<Ratio> {
        let control = control.each(cpu_seconds).into_iter();
        let floor: Vec<f64> =
            control.zip(more).map(|(seconds, more)| seconds + more.as_secs_f64()).collect();
        Ratio::of_rounds(&self.each(cpu_seconds), &floor)
    }

    /// Latency that half of the operations stay below, beside `control`'s in the same round.
    pub fn p50_ratio(&self, control: &Rounds) -> Option<Ratio> {
        let p50 = |figures: &Figures| figures.latency.p50_us;
        Ratio::of_rounds(&self.each(p50), &control.each(p50))
    }

    /// Latency that 99 % of the operations stay below, beside `control`'s in the same round.
    pub fn p99_ratio(&self, control: &Rounds) -> Option<Ratio> {
        let p99 = |figures: &Figures| figures.latency.p99_us;
        Ratio::of_rounds(&self.each(p99), &control.each(p99))
    }
}
