//! What the target costs beside an echo server that moves the same bytes: both on a reactor thread of their
//! own, loaded from another.
//!
//! `cargo run --release -p ashlar-bench --example wire_ratio`

use std::error::Error;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use ashlar_bench::cpu::CpuClock;
use ashlar_bench::echo;
use ashlar_bench::initiator::{ConnectOptions, HostIdentity};
use ashlar_bench::wire_bench::{Direction, Figures, Load, measure};
use ashlar_reactor::net::{BindOptions, TcpListener};
use ashlar_reactor::{Config, run};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind, Target, TargetConfig};
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::{MemoryDoor, MemoryVolumeOptions};

const SUBSYSTEM: &str = "nqn.2014-08.org.example:null";

type Server = (SocketAddr, CpuClock);

fn main() -> Result<(), Box<dyn Error>> {
    let (target, echo) = (start(serve_target)?, start(serve_echo)?);
    println!(
        "{:>6} {:>8} {:>6} {:>10} {:>9} {:>9} {:>12} {:>12} {:>6}",
        "", "bytes", "load", "IOPS", "p50 us", "p99 us", "op/CPU-s", "echo's", "ratio"
    );
    for (direction, bytes, connections, depth) in loads() {
        let load = Load {
            direction,
            bytes,
            connections,
            depth,
            warm_up: Duration::from_millis(300),
            duration: Duration::from_secs(2),
        };
        let (target, echo) = (target.clone(), echo.clone());
        let figures = run(Config::default(), async move { both(target, echo, load).await })??;
        print_row(&figures);
    }
    Ok(())
}

fn loads() -> impl Iterator<Item = (Direction, u32, u16, u32)> {
    let shapes = [(4 << 10, 1, 1), (4 << 10, 1, 32), (4 << 10, 4, 32), (128 << 10, 1, 8), (128 << 10, 4, 8)];
    [Direction::Read, Direction::Write].into_iter().flat_map(move |direction| {
        shapes.map(|(bytes, connections, depth)| (direction, bytes, connections, depth))
    })
}

async fn both(target: Server, echo: Server, load: Load) -> Result<(Figures, Figures), Box<dyn Error>> {
    let host = HostIdentity { nqn: "nqn.2014-08.org.example:bench".to_owned(), id: [1; 16] };
    let options =
        ConnectOptions { disable_sq_flow_control: true, ..ConnectOptions::new(target.0, SUBSYSTEM, host) };
    let measured = measure(options, 1, load, Some(&target.1)).await?;
    Ok((measured, echo::measure(echo.0, load, Some(&echo.1)).await?))
}

fn print_row((target, echo): &(Figures, Figures)) {
    let load = target.load;
    let per_cpu = |figures: &Figures| figures.operations_per_cpu_second.unwrap_or(0.0);
    println!(
        "{:>6} {:>8} {:>6} {:>10.0} {:>9.1} {:>9.1} {:>12.0} {:>12.0} {:>6.2}",
        format!("{:?}", load.direction),
        load.bytes,
        format!("{}:{}", load.connections, load.depth),
        target.iops,
        target.latency.p50_us,
        target.latency.p99_us,
        per_cpu(target),
        per_cpu(echo),
        per_cpu(echo) / per_cpu(target),
    );
}

fn start(serve: fn(mpsc::Sender<Server>)) -> Result<Server, mpsc::RecvError> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || serve(tell));
    told.recv()
}

fn serve_target(tell: mpsc::Sender<Server>) {
    let served = run(Config::default(), async move {
        let door = MemoryDoor::new(SUBSYSTEM);
        door.add(Nsid(1), MemoryVolumeOptions::null(1 << 40));
        let portals = vec![Portal { address: ([127, 0, 0, 1], 0).into(), kind: PortalKind::Io }];
        let config = TargetConfig { portals, limits: Limits::default(), several_reactors: false };
        let service = Target::new(config).expect("the limits are valid").serve(door).expect("a port is free");
        let clock = CpuClock::of_this_thread().expect("/proc is mounted");
        let _ = tell.send((service.local_addrs()[0], clock));
        std::future::pending::<()>().await
    });
    served.expect("a reactor runs");
}

fn serve_echo(tell: mpsc::Sender<Server>) {
    let served = run(Config::default(), async move {
        let listener =
            TcpListener::bind(([127, 0, 0, 1], 0).into(), &BindOptions::default()).expect("a port is free");
        let clock = CpuClock::of_this_thread().expect("/proc is mounted");
        let _ = tell.send((listener.local_addr(), clock));
        echo::serve(listener).await
    });
    served.expect("a reactor runs").expect("accepting works");
}
