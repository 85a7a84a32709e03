//! Plain reads and writes against a target, measured.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use ashlar_reactor::{now, sleep, spawn_joined};
use bytes::Bytes;
use serde::Serialize;

use crate::cpu::CpuClock;
use crate::initiator::{CommandError, ConnectError, ConnectOptions, Controller, Namespace};
use crate::latency::{Latencies, LatencySummary};
use crate::load::{Direction, Load, Places};
use crate::pace::Pace;

/// What was measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Figures {
    /// The load.
    pub load: Load,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Latency.
    pub latency: LatencySummary,
    /// Processor seconds that the observed thread or process has spent.
    pub cpu_seconds: Option<f64>,
    /// Operations per such second.
    pub operations_per_cpu_second: Option<f64>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The target cannot be reached or refuses.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A command failed.
    #[error("a command failed: {0}")]
    Command(#[from] CommandError),
    /// Processor time cannot be read.
    #[error("processor time cannot be read: {0}")]
    Cpu(#[from] io::Error),
    /// The load does not fit the namespace.
    #[error("{0}")]
    Unfit(String),
}

/// Counts of one measurement, from the end of the warm-up on.
#[derive(Default)]
pub(crate) struct Meter {
    measuring: Cell<bool>,
    stopped: Cell<bool>,
    latencies: RefCell<Latencies>,
}

impl Meter {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get()
    }

    pub(crate) fn count(&self, latency: Duration) {
        if self.measuring.get() {
            self.latencies.borrow_mut().record(latency);
        }
    }

    /// Lets the load warm up, then measures it, and tells it to stop.
    pub(crate) async fn measure(
        &self,
        load: Load,
        clock: Option<&CpuClock>,
    ) -> io::Result<Figures> {
        sleep(load.warm_up).await;
        let spent = || clock.map(CpuClock::spent).transpose();
        let (start, cpu_start) = (now(), spent()?);
        self.measuring.set(true);
        sleep(load.duration).await;
        self.measuring.set(false);
        let (seconds, cpu_end) = (now().since(start).as_secs_f64(), spent()?);
        self.stopped.set(true);
        let cpu =
            cpu_end.zip(cpu_start).map(|(end, start)| end.saturating_sub(start).as_secs_f64());
        Ok(self.figures(load, seconds, cpu))
    }

    fn figures(&self, load: Load, seconds: f64, cpu_seconds: Option<f64>) -> Figures {
        let latency = self.latencies.borrow().summary();
        let iops = latency.count as f64 / seconds;
        Figures {
            load,
            iops,
            bytes_per_second: iops * f64::from(load.bytes),
            latency,
            cpu_seconds,
            operations_per_cpu_second: cpu_seconds
                .filter(|cpu| *cpu > 0.0)
                .map(|cpu| latency.count as f64 / cpu),
        }
    }
}

/// Runs `load` on a namespace, and measures it; of the target's processor time what `clock`
/// observes.
///
/// # Errors
/// See [`BenchError`].
pub async fn measure(
    options: ConnectOptions,
    nsid: u32,
    load: Load,
    clock: Option<&CpuClock>,
) -> Result<Figures, BenchError> {
    let queue_entries = options.queue_entries.max(load.depth + 1);
    let controller = Controller::connect(ConnectOptions {
        io_queues: load.connections,
        queue_entries,
        ..options
    })
    .await?;
    let namespace = controller.namespace(nsid).await?;
    check_fit(&namespace, &load)?;
    let meter = Rc::new(Meter::default());
    let places = Places::new(
        load.pattern,
        namespace.blocks() * u64::from(namespace.lba_bytes()) / u64::from(load.bytes),
    );
    let data = load.content.bytes(load.bytes as usize);
    let work = Rc::new(Work { namespace, load, data, places, meter: meter.clone() });
    let workers: Vec<_> = (0..load.operations_outstanding())
        .map(|worker| {
            let work = work.clone();
            spawn_joined(async move { work.run(worker).await })
        })
        .collect();
    let figures = meter.measure(load, clock).await?;
    for worker in workers {
        worker.await?;
    }
    controller.disconnect().await;
    Ok(figures)
}

fn check_fit(namespace: &Namespace, load: &Load) -> Result<(), BenchError> {
    let blocks = load.bytes / namespace.lba_bytes();
    let fits = load.bytes.is_multiple_of(namespace.lba_bytes())
        && (1..=namespace.transfer_blocks_max()).contains(&blocks)
        && u64::from(blocks) <= namespace.blocks();
    if fits {
        return Ok(());
    }
    let (lba_bytes, blocks) = (namespace.lba_bytes(), namespace.blocks());
    Err(BenchError::Unfit(format!(
        "operations of {} bytes do not fit a namespace of {blocks} blocks of {lba_bytes} bytes",
        load.bytes
    )))
}

/// What the operations of a load have in common.
struct Work {
    namespace: Namespace,
    load: Load,
    data: Bytes,
    places: Places,
    meter: Rc<Meter>,
}

impl Work {
    /// One operation after the other until the end. `worker`: which of those outstanding.
    async fn run(&self, worker: u32) -> Result<(), CommandError> {
        let blocks = self.load.bytes / self.namespace.lba_bytes();
        let mut pace = Pace::new(self.load.per_second, worker, self.load.operations_outstanding());
        loop {
            let start = pace.next().await;
            if self.meter.is_stopped() {
                return Ok(());
            }
            let lba = self.places.draw() * u64::from(blocks);
            match self.load.direction {
                Direction::Read => drop(self.namespace.read(lba, blocks).await?),
                Direction::Write => self.namespace.write(lba, self.data.clone()).await?,
            }
            self.meter.count(now().since(start));
        }
    }
}
