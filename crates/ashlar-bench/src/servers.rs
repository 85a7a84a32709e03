//! What the pool's volume is compared with: servers on threads of their own in this process.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use anyhow::Context;
use ashlar_load::cpu::CpuClock;
use ashlar_load::echo;
use ashlar_reactor::net::{BindOptions, TcpListener};
use ashlar_reactor::{Config, run};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind, Service, Target, TargetConfig};
use ashlar_volume::VolumeIo;
use ashlar_volume::plain_door::{NullVolume, PlainDoor};

/// The subsystem of volumes without a pool.
const PLAIN_SUBSYSTEM: &str =
    "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-00000000ffff";
/// The size of the volume that keeps nothing.
const NULL_BYTES: u64 = 1 << 40;

/// Something to measure.
#[derive(Clone, Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// What to connect to, if it is a target.
    pub subsystem_nqn: String,
    /// The volume, if it is a target.
    pub nsid: u32,
    /// The processor time of what serves.
    pub clock: CpuClock,
}

type Started = Sender<anyhow::Result<Server>>;

/// Starts the server that only moves the same bytes, and that looks for work as long as `spin`
/// before it sleeps.
///
/// # Errors
/// Why it cannot serve.
pub fn start_echo(spin: Duration) -> anyhow::Result<Server> {
    start("echo", move |started| {
        run(Config { spin, ..Config::default() }, async move {
            match TcpListener::bind(loopback(), &BindOptions::default()) {
                Ok(listener) => {
                    let _ = started.send(server(listener.local_addr()));
                    if let Err(error) = echo::serve(listener).await {
                        tracing::error!(%error, "the echo server has ended");
                    }
                }
                Err(error) => drop(started.send(Err(error.into()))),
            }
        })
    })
}

/// Starts a target with a volume that keeps nothing. It looks for work as long as `spin` before it
/// sleeps.
///
/// # Errors
/// Why it cannot serve.
pub fn start_null(spin: Duration, limits: Limits) -> anyhow::Result<Server> {
    start_plain("null", spin, limits, NULL_BYTES, || Ok(NullVolume))
}

/// Starts a target with one volume of `bytes` that `open` makes on the target's thread. It looks
/// for work as long as `spin` before it sleeps.
///
/// # Errors
/// Why it cannot serve.
pub fn start_plain<V: VolumeIo>(
    name: &str,
    spin: Duration,
    limits: Limits,
    bytes: u64,
    open: impl FnOnce() -> anyhow::Result<V> + Send + 'static,
) -> anyhow::Result<Server> {
    start(name, move |started| {
        run(Config { spin, ..Config::default() }, async move {
            // The service ends when it is dropped.
            let service = match open().and_then(|volume| serve_plain(volume, bytes, limits)) {
                Ok(service) => service,
                Err(error) => return drop(started.send(Err(error))),
            };
            let _ = started.send(server(service.local_addrs()[0]));
            std::future::pending::<()>().await;
        })
    })
}

fn serve_plain<V: VolumeIo>(
    volume: V,
    bytes: u64,
    limits: Limits,
) -> anyhow::Result<Service<PlainDoor<V>>> {
    let portals = vec![Portal { address: loopback(), kind: PortalKind::Io }];
    let config = TargetConfig { portals, limits, several_reactors: false };
    let target = Target::new(config).expect("the usual limits are valid");
    Ok(target.serve(PlainDoor::new(PLAIN_SUBSYSTEM, bytes, volume))?)
}

/// Starts a thread and waits until it serves. It ends with the process.
fn start<E: std::error::Error + Send + Sync + 'static>(
    name: &str,
    serve: impl FnOnce(Started) -> Result<(), E> + Send + 'static,
) -> anyhow::Result<Server> {
    let (started, begun) = channel();
    let serve = move || {
        let failed = started.clone();
        if let Err(error) = serve(started) {
            let _ = failed.send(Err(error.into()));
        }
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(serve)?;
    begun.recv().context("the server ended while it started")?
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// A server on this thread.
fn server(address: SocketAddr) -> anyhow::Result<Server> {
    let clock = CpuClock::of_this_thread()?;
    Ok(Server { address, subsystem_nqn: PLAIN_SUBSYSTEM.to_owned(), nsid: 1, clock })
}
