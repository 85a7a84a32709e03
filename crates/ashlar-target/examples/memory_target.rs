//! Serves volumes in memory over NVMe/TCP: for trying hosts against the target without a store.
//!
//! `cargo run -p ashlar-target --example memory_target -- 127.0.0.1:4420 64` listens on that
//! address, with two volumes of 64 MiB, of 4096 and 512 bytes per sector, that every host may see.
//! Lines on the standard input change the volumes while hosts are connected: `add NSID MIB`,
//! `resize NSID MIB`, `remove NSID`.

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
    let door = MemoryDoor::new("nqn.2014-08.org.example:memory-target");
    door.add(Nsid(1), MemoryVolumeOptions::new(size_mib << 20));
    door.add(
        Nsid(2),
        MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(size_mib << 20) },
    );
    let controlled = door.clone();
    std::thread::spawn(move || control(&controlled));
    run(Config::default(), serve(door, address))?
}

async fn serve(door: MemoryDoor, address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let target = Target::new(TargetConfig {
        portals: vec![Portal { address, kind: PortalKind::Io }],
        limits: Limits::default(),
        several_reactors: false,
    })?;
    let service = target.serve(door)?;
    println!("listening on {:?}", service.local_addrs());
    std::future::pending().await
}

fn control(door: &MemoryDoor) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        if change(door, &line).is_none() {
            eprintln!("'{line}' is not one of: add NSID MIB, resize NSID MIB, remove NSID");
        }
    }
}

fn change(door: &MemoryDoor, line: &str) -> Option<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let nsid = Nsid(words.get(1)?.parse().ok()?);
    let size_bytes = || Some(words.get(2)?.parse::<u64>().ok()? << 20);
    match *words.first()? {
        "add" => drop(door.add(nsid, MemoryVolumeOptions::new(size_bytes()?))),
        "resize" => {
            let size_bytes = size_bytes()?;
            door.change(nsid, |info| info.size_bytes = size_bytes).ok()?;
        }
        "remove" => door.remove(nsid),
        _ => return None,
    }
    Some(())
}
