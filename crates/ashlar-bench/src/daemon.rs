//! A daemon of its own process: its processor time and memory are those of serving.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use ashlar::stdio::note;
use ashlar::{Client, Patience};
use ashlar_block::ByteSize;
use ashlar_control::types::{
    ChangePolicy, ChangePool, CreatePool, CreateVolume, FailDrive, IoStat, Pool, PoolCounters,
    SetLimits, Status, Volume,
};
use ashlar_load::cpu::CpuClock;
use hyper::Method;
use tokio::runtime::Runtime;

use super::memory;
use super::program::Program;
use super::servers::Server;

/// A share of the time for rebuilds that is as good as none, in percent: so it is seen what a loss
/// itself costs.
pub const RECON_PRIO_LEAST: u8 = 1;

/// Drives of every pool that is measured.
pub const DRIVES: usize = 5;

/// How long the daemon may take to answer.
const START_WAIT: Duration = Duration::from_secs(60);
/// Pause between two looks whether it does.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The daemon. It ends, and leaves nothing, when dropped.
pub struct Daemon {
    runtime: Runtime,
    client: Client,
    process: Process,
}

/// The process and its directory.
struct Process {
    program: Program,
    child: Child,
    state: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Err(error) = fs::remove_dir_all(&self.state) {
            note(format_args!("{} is left: {error}", self.state.display()));
        }
    }
}

/// A pool to be made.
#[derive(Clone, Debug)]
pub struct PoolPlan<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its level.
    pub level: &'a str,
    /// Its drives.
    pub drives: Vec<String>,
    /// Bytes of a chunk; chosen by the drives' size if not given.
    pub chunk_bytes: Option<u32>,
}

/// A volume to be made.
#[derive(Clone, Copy, Debug)]
pub struct VolumePlan<'a> {
    /// Its pool.
    pub pool: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its size.
    pub size: ByteSize,
    /// How its blocks are stored.
    pub compression: &'a str,
}

/// Drives in memory that is all taken at once: the kernel clears memory that is touched for the
/// first time, which no load is to pay for.
pub fn memory_drives(bytes: u64) -> Vec<String> {
    vec![format!("mem:{bytes},touched=on"); DRIVES]
}

impl Daemon {
    /// Starts a daemon of `program` with one reactor and these further arguments of `ashlar serve`.
    ///
    /// # Errors
    /// What it said, or that it said nothing.
    pub fn start(program: &Program, arguments: &[String]) -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let state =
            std::env::temp_dir().join(format!("ashlar-bench-{}-{number}", std::process::id()));
        fs::create_dir_all(&state).with_context(|| state.display().to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = Client::new(Some(state.join("ashlar.sock")), Patience::of(None))?;
        let process =
            Process { child: program.serve(&state, arguments)?, program: program.clone(), state };
        let mut daemon = Daemon { runtime, client, process };
        daemon.await_pools()?;
        Ok(daemon)
    }

    /// Kills the process, and starts another one with these arguments. Returns how long it took
    /// until that answered, with its pools open and its volumes served.
    ///
    /// # Errors
    /// As of [`Self::start`].
    pub fn kill_and_restart(&mut self, arguments: &[String]) -> anyhow::Result<Duration> {
        self.kill()?;
        self.restart(arguments)
    }

    /// Kills the process: its drives are free.
    ///
    /// # Errors
    /// The system refuses.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.child.kill()?;
        self.process.child.wait()?;
        Ok(())
    }

    /// Starts another process with these arguments instead of one that was killed. Returns how long
    /// it took until that answered, with its pools open and its volumes served.
    ///
    /// # Errors
    /// As of [`Self::start`].
    pub fn restart(&mut self, arguments: &[String]) -> anyhow::Result<Duration> {
        let start = Instant::now();
        self.process.child = self.process.program.serve(&self.process.state, arguments)?;
        self.await_pools()?;
        Ok(start.elapsed())
    }

    /// Returns once the daemon answers and has opened its pools: it answers before that. A pool
    /// that another daemon has had is watched for a while before it is taken.
    fn await_pools(&mut self) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            let waits_for = match self.status() {
                Ok(status) => match status.pools.into_iter().find(is_opening) {
                    Some(pool) => anyhow!("the pool {} is still being opened", pool.name),
                    None => return Ok(()),
                },
                Err(error) => error.context("the daemon does not answer"),
            };
            if let Some(status) = self.process.child.try_wait()? {
                bail!("the daemon ended with {status}");
            }
            if start.elapsed() > START_WAIT {
                return Err(waits_for);
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Everything at a glance.
    ///
    /// # Errors
    /// It does not answer.
    pub fn status(&self) -> anyhow::Result<Status> {
        self.runtime.block_on(self.client.get("/status"))
    }

    /// One of its pools.
    ///
    /// # Errors
    /// It does not answer, or has no such pool.
    pub fn pool(&self, name: &str) -> anyhow::Result<Pool> {
        self.runtime.block_on(self.client.get(&format!("/pools/{name}")))
    }

    /// What one of its pools has counted.
    ///
    /// # Errors
    /// As of [`Self::pool`], or it is not open.
    pub fn counters(&self, name: &str) -> anyhow::Result<PoolCounters> {
        self.pool(name)?.counters.context("the pool is not open")
    }

    /// Makes a pool.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn create_pool(&self, plan: PoolPlan<'_>) -> anyhow::Result<Pool> {
        let pool = CreatePool {
            name: plan.name.to_owned(),
            level: plan.level.to_owned(),
            drives: plan.drives,
            force: false,
            chunk_bytes: plan.chunk_bytes,
            overcommit: true,
        };
        self.runtime.block_on(self.client.send_body(Method::POST, "/pools", &pool))
    }

    /// Sets the part of the time that a pool's rebuilds may have, in percent.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn set_recon_prio(&self, pool: &str, percent: u8) -> anyhow::Result<()> {
        self.change_pool(
            pool,
            &ChangePool { recon_prio_percent: Some(percent), ..ChangePool::default() },
        )
    }

    /// Sets the latency of hosts that a pool's rebuilds are held to, in microseconds.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn set_recon_p99(&self, pool: &str, micros: u64) -> anyhow::Result<()> {
        self.change_pool(pool, &ChangePool { recon_p99_us: Some(micros), ..ChangePool::default() })
    }

    fn change_pool(&self, pool: &str, change: &ChangePool) -> anyhow::Result<()> {
        let path = format!("/pools/{pool}");
        let changed = self.client.send_body(Method::PATCH, &path, change);
        self.runtime.block_on(changed).map(|_: Pool| ())
    }

    /// Has a pool give up the first drive that it uses as if that had been pulled.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn lose_a_drive(&self, pool: &str) -> anyhow::Result<()> {
        let drives = self.pool(pool)?.drives;
        let used =
            drives.into_iter().find(|drive| drive.states.iter().any(|state| state == "online"));
        let drive = used.context("the pool has no drives")?.name;
        let path = format!("/pools/{pool}/fail-drive?confirm=true");
        let request = FailDrive { drive, force: false };
        let failed = self.client.send_body(Method::POST, &path, &request);
        self.runtime.block_on(failed).map(|_: Pool| ())
    }

    /// Makes a compressed volume that every host may use.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn create_volume(&self, pool: &str, name: &str, size: ByteSize) -> anyhow::Result<Server> {
        self.create_volume_of(VolumePlan { pool, name, size, compression: "lz4" })
    }

    /// Makes a volume that every host may use.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn create_volume_of(&self, plan: VolumePlan<'_>) -> anyhow::Result<Server> {
        let volume = CreateVolume {
            pool: plan.pool.to_owned(),
            name: plan.name.to_owned(),
            size_bytes: plan.size.0,
            lba_bytes: 4096,
            compression: plan.compression.to_owned(),
            allow: vec!["any".to_owned()],
        };
        let volume: Volume =
            self.runtime.block_on(self.client.send_body(Method::POST, "/volumes", &volume))?;
        self.server(volume.nsid)
    }

    /// Gives a volume these limits.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn limit(&self, pool: &str, volume: &str, limits: SetLimits) -> anyhow::Result<()> {
        self.change_qos(pool, volume, ChangePolicy { limits, weight: None })
    }

    /// Changes the weight of a volume.
    ///
    /// # Errors
    /// The daemon refuses.
    pub fn weigh(&self, pool: &str, volume: &str, weight: u16) -> anyhow::Result<()> {
        let limits = SetLimits::default();
        self.change_qos(pool, volume, ChangePolicy { limits, weight: Some(weight) })
    }

    fn change_qos(&self, pool: &str, volume: &str, change: ChangePolicy) -> anyhow::Result<()> {
        let path = format!("/volumes/{pool}/{volume}/qos");
        let limited = self.client.send_body(Method::PATCH, &path, &change);
        self.runtime.block_on(limited).map(|_: Volume| ())
    }

    /// Reads and writes of a volume so far, and when that was counted, in seconds.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub fn operations(&self, pool: &str, volume: &str) -> anyhow::Result<(u64, f64)> {
        let path = format!("/iostat?of={pool}/{volume}");
        let told: IoStat = self.runtime.block_on(self.client.get(&path))?;
        let counted = told.volumes.first().context("the volume is not there")?;
        Ok((counted.reads.operations + counted.writes.operations, told.uptime_seconds))
    }

    /// How a volume is reached. The clock is that of the whole process.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub fn server(&self, nsid: u32) -> anyhow::Result<Server> {
        let status = self.status()?;
        let address = address_of(&status)?;
        Ok(Server { address, subsystem_nqn: status.subsystem_nqn, nsid, clock: self.clock() })
    }

    /// The processor time of the whole process.
    pub fn clock(&self) -> CpuClock {
        CpuClock::Process(self.process.child.id())
    }

    /// The processor time of each reactor, in order.
    ///
    /// # Errors
    /// The process has ended.
    pub fn reactor_clocks(&self) -> anyhow::Result<Vec<CpuClock>> {
        let process = self.process.child.id();
        let mut named = Vec::new();
        for task in fs::read_dir(format!("/proc/{process}/task"))? {
            let task = task?;
            let name = fs::read_to_string(task.path().join("comm"))?;
            if name.starts_with("reactor-") {
                let thread = task.file_name().to_string_lossy().parse()?;
                named.push((name, CpuClock::ThreadOf { process, thread }));
            }
        }
        named.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(named.into_iter().map(|(_, clock)| clock).collect())
    }

    /// Memory that the process has.
    ///
    /// # Errors
    /// It has ended.
    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        memory::resident_bytes_of(self.process.child.id())
    }

    /// The most that it has had.
    ///
    /// # Errors
    /// It has ended.
    pub fn resident_most_bytes(&self) -> anyhow::Result<u64> {
        memory::resident_most_bytes_of(self.process.child.id())
    }
}

fn is_opening(pool: &Pool) -> bool {
    pool.states.iter().any(|state| state == "opening")
}

fn address_of(status: &Status) -> anyhow::Result<SocketAddr> {
    let portal = status.portals.first().context("the daemon listens nowhere")?;
    Ok(SocketAddr::new(portal.address.parse()?, portal.port))
}
