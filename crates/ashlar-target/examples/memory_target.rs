//! Serves volumes in memory over NVMe/TCP: for trying hosts against the target without a store.
//!
//! `cargo run -p ashlar-target --example memory_target -- 127.0.0.1:4420 64` listens on that address, with
//! two volumes of 64 MiB, of 4096 and 512 bytes per sector, that every host may see.

use std::error::Error;
use std::net::SocketAddr;

use ashlar_reactor::{Config, run};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind, Target, TargetConfig};
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::{MemoryDoor, MemoryVolumeOptions};

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let mut arguments = std::env::args().skip(1);
    let address: SocketAddr = arguments.next().as_deref().unwrap_or("127.0.0.1:4420").parse()?;
    let size_mib: u64 = arguments.next().as_deref().unwrap_or("64").parse()?;
    run(Config::default(), serve(address, size_mib << 20))?
}

async fn serve(address: SocketAddr, size_bytes: u64) -> Result<(), Box<dyn Error>> {
    let door = MemoryDoor::new("nqn.2014-08.org.example:memory-target");
    door.add(Nsid(1), MemoryVolumeOptions::new(size_bytes));
    door.add(Nsid(2), MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(size_bytes) });
    let target = Target::new(TargetConfig {
        portals: vec![Portal { address, kind: PortalKind::Io }],
        limits: Limits::default(),
        several_reactors: false,
    })?;
    let service = target.serve(door)?;
    println!("listening on {:?}", service.local_addrs());
    std::future::pending().await
}
