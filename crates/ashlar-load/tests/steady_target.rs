//! A target that is warm allocates nothing for a read, and for a write only what shares its data:
//! counted by the allocator itself. Alone in its process, whose other threads would be counted,
//! too.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity};
use ashlar_load::load::Content;
use ashlar_reactor::allocations::{Counting, of_all_threads, of_this_thread};
use ashlar_reactor::{Config, run};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind, Target, TargetConfig};
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::{MemoryDoor, MemoryVolumeOptions};

#[global_allocator]
static COUNTING: Counting = Counting;

const SUBSYSTEM: &str = "nqn.2014-08.org.example:steady";
const WARM_UP_OPERATIONS: u64 = 500;
const OPERATIONS: u64 = 2000;
/// What timers and keep alives may allocate meanwhile, in all.
const OTHERS_MAX: u64 = OPERATIONS / 50;

fn serve(started: &Sender<SocketAddr>) {
    let started = started.clone();
    let served = run(Config::default(), async move {
        let door = MemoryDoor::new(SUBSYSTEM);
        door.add(Nsid(1), MemoryVolumeOptions::null(1 << 30));
        let portals = vec![Portal { address: ([127, 0, 0, 1], 0).into(), kind: PortalKind::Io }];
        let config = TargetConfig { portals, limits: Limits::default(), several_reactors: false };
        let service = Target::new(config).unwrap().serve(door).unwrap();
        started.send(service.local_addrs()[0]).unwrap();
        std::future::pending::<()>().await
    });
    served.unwrap();
}

/// Allocations of all other threads while `operation` is done over and over.
async fn count(operation: impl AsyncFn(u64)) -> u64 {
    for number in 0..WARM_UP_OPERATIONS {
        operation(number).await;
    }
    let others = || of_all_threads() - of_this_thread();
    let before = others();
    for number in 0..OPERATIONS {
        operation(number).await;
    }
    others() - before
}

#[test]
fn a_read_allocates_nothing_and_a_write_once() {
    let (started, begun) = channel();
    std::thread::spawn(move || serve(&started));
    let address = begun.recv().unwrap();
    let counts = run(Config::default(), async move {
        let host = HostIdentity { nqn: "nqn.2014-08.org.example:host".to_owned(), id: [1; 16] };
        let options = ConnectOptions::new(address, SUBSYSTEM, host);
        let controller = Controller::connect(options).await.unwrap();
        let namespace = controller.namespace(1).await.unwrap();
        let data = Content::Incompressible.bytes(4096);
        let reads = count(async |number| drop(namespace.read(number, 1).await.unwrap())).await;
        let writes =
            count(async |number| namespace.write(number, data.clone()).await.unwrap()).await;
        controller.disconnect().await;
        (reads, writes)
    });
    let (reads, writes) = counts.unwrap();
    assert!(reads <= OTHERS_MAX, "{reads} allocations for {OPERATIONS} reads");
    assert!(writes <= OPERATIONS + OTHERS_MAX, "{writes} allocations for {OPERATIONS} writes");
}
