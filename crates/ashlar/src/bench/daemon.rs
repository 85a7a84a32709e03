//! A daemon of its own process with a pool on memory: its processor time and memory are those of serving.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ashlar_bench::cpu::CpuClock;
use ashlar_control::types::{CreatePool, CreateVolume, Pool, Status, Volume};
use hyper::Method;

use super::servers::Server;
use crate::cli::Client;

/// Drives of the pool.
const DRIVES: usize = 5;
/// The smallest drive: smaller pools are made of reserves.
const DRIVE_BYTES_MIN: u64 = 512 << 20;
/// How long the daemon may take to answer.
const START_WAIT: Duration = Duration::from_secs(30);
/// Pause between two looks whether it does.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The daemon. It ends, and leaves nothing, when dropped.
pub struct Daemon {
    /// Its volume. The clock is that of the whole process.
    pub server: Server,
    child: Kept,
    /// Memory that its drives are.
    drives_bytes: u64,
}

/// The process and its directory.
struct Kept {
    child: Child,
    state: PathBuf,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.state);
    }
}

impl Daemon {
    /// Starts it with a pool of level 5 on memory, and a volume that takes a fourth of the pool or less.
    ///
    /// # Errors
    /// What it said, or that it said nothing.
    pub fn start(volume_bytes: u64) -> anyhow::Result<Self> {
        let state = std::env::temp_dir().join(format!("ashlar-bench-{}", std::process::id()));
        fs::create_dir_all(&state).with_context(|| state.display().to_string())?;
        let mut child = Kept { child: spawn(&state)?, state };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let server = runtime.block_on(prepare(&mut child, volume_bytes))?;
        Ok(Daemon { server, child, drives_bytes: DRIVES as u64 * drive_bytes(volume_bytes) })
    }

    /// Memory that the process has, without its drives.
    ///
    /// # Errors
    /// It has ended.
    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).context("the daemon has ended")?;
        Ok((kib.trim().parse::<u64>()? << 10).saturating_sub(self.drives_bytes))
    }
}

fn drive_bytes(volume_bytes: u64) -> u64 {
    volume_bytes.max(DRIVE_BYTES_MIN)
}

fn spawn(state: &Path) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe().context("where is this binary?")?);
    command.arg("serve").arg("--state").arg(state);
    command.args(["--listen", "127.0.0.1:0", "--discovery", "none", "--reactors", "1"]);
    command.env_remove("ASHLAR_SOCKET").env_remove("NOTIFY_SOCKET").env("RUST_LOG", "warn");
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("starting a daemon")
}

async fn prepare(kept: &mut Kept, volume_bytes: u64) -> anyhow::Result<Server> {
    let client = Client::new(Some(kept.state.join("ashlar.sock")))?;
    let status = await_answer(&client, kept).await?;
    let drive = format!("mem:{},touched=on", drive_bytes(volume_bytes));
    let pool = CreatePool {
        name: "bench".to_owned(),
        level: "5".to_owned(),
        drives: vec![drive; DRIVES],
        force: false,
        chunk_bytes: None,
    };
    client.send_body::<Pool>(Method::POST, "/pools", &pool).await?;
    let volume = CreateVolume {
        pool: pool.name,
        name: "v0".to_owned(),
        size_bytes: volume_bytes,
        lba_bytes: 4096,
        compression: true,
        allow: vec!["any".to_owned()],
    };
    let volume: Volume = client.send_body(Method::POST, "/volumes", &volume).await?;
    Ok(Server {
        address: address_of(&status)?,
        subsystem_nqn: status.subsystem_nqn,
        nsid: volume.nsid,
        clock: CpuClock::Process(kept.child.id()),
    })
}

async fn await_answer(client: &Client, kept: &mut Kept) -> anyhow::Result<Status> {
    let start = Instant::now();
    loop {
        let error = match client.get("/status").await {
            Ok(status) => return Ok(status),
            Err(error) => error,
        };
        if let Some(status) = kept.child.try_wait()? {
            bail!("the daemon ended with {status}");
        }
        if start.elapsed() > START_WAIT {
            return Err(error.context("the daemon does not answer"));
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

fn address_of(status: &Status) -> anyhow::Result<SocketAddr> {
    let portal = status.portals.first().context("the daemon listens nowhere")?;
    Ok(SocketAddr::new(portal.address.parse()?, portal.port))
}
