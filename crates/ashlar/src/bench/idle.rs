//! A daemon with connected hosts that ask for nothing.

use std::time::Duration;

use anyhow::anyhow;
use ashlar_bench::initiator::{ConnectOptions, Controller};
use ashlar_block::ByteSize;
use ashlar_reactor::sleep;
use serde::Serialize;

use super::daemon::{DRIVES, Daemon, PoolPlan};
use super::rounds::options;
use super::servers::Server;

/// Hosts that are connected, each with some I/O queues.
const HOSTS: u8 = 8;
const IO_QUEUES: u16 = 4;
/// How long nothing is counted.
const SETTLE: Duration = Duration::from_millis(500);
/// How long is measured.
const DURATION: Duration = Duration::from_secs(5);
/// Its drives take memory only as they are written, which is next to nothing.
const DRIVE: &str = "mem:512MiB";
const VOLUME: ByteSize = ByteSize(1 << 30);

/// What a daemon takes that has nothing to do.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Report {
    /// Hosts.
    pub hosts: u8,
    /// I/O queues of all of them, a connection each.
    pub io_queues: u32,
    /// How much of one processor it takes.
    pub cpu_percent: f64,
    /// Memory that it has, its map's included.
    pub resident_bytes: u64,
}

/// Measures a daemon with nothing to do.
///
/// # Errors
/// What cannot be measured.
pub fn measure() -> anyhow::Result<Report> {
    let daemon = Daemon::start(&[])?;
    let drives = vec![DRIVE.to_owned(); DRIVES];
    daemon.create_pool(PoolPlan { name: "idle", level: "5", drives, chunk_bytes: None })?;
    let server = daemon.create_volume("idle", "v0", VOLUME)?;
    let cpu_percent = ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let hosts = connect_all(&server).await?;
        sleep(SETTLE).await;
        let before = server.clock.spent()?;
        sleep(DURATION).await;
        let spent = server.clock.spent()?.saturating_sub(before);
        drop(hosts);
        anyhow::Ok(100.0 * spent.as_secs_f64() / DURATION.as_secs_f64())
    })??;
    let io_queues = u32::from(HOSTS) * u32::from(IO_QUEUES);
    Ok(Report { hosts: HOSTS, io_queues, cpu_percent, resident_bytes: daemon.resident_bytes()? })
}

async fn connect_all(server: &Server) -> anyhow::Result<Vec<Controller>> {
    let mut hosts = Vec::new();
    for number in 0..HOSTS {
        let options = ConnectOptions { io_queues: IO_QUEUES, ..options(server, number) };
        hosts.push(Controller::connect(options).await.map_err(|error| anyhow!("connecting: {error}"))?);
    }
    Ok(hosts)
}

impl Report {
    /// The figures for people.
    pub fn table(&self) -> String {
        format!(
            "Idle, with {} hosts and {} I/O queues connected: {:.2} % of a processor, {} of memory.",
            self.hosts,
            self.io_queues,
            self.cpu_percent,
            ByteSize(self.resident_bytes >> 20 << 20)
        )
    }
}
