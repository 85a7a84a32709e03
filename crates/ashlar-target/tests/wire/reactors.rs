//! One target on several reactors: who is connected where does not matter.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use ashlar_nvme::status::Status;
use ashlar_reactor::{Config, mailbox, run};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind, Target, TargetConfig};
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::{MemoryDoor, MemoryVolumeOptions};

use crate::support::{Queue, SUBSYSTEM, eventually};

struct Reactor {
    address: SocketAddr,
    stop: mailbox::Sender<()>,
    thread: JoinHandle<()>,
}

fn serve(target: &Target, door: &MemoryDoor) -> Reactor {
    let (stop, mut stopped) = mailbox::channel(1);
    let (tell, told) = mpsc::channel();
    let (target, door) = (target.clone(), door.clone());
    let thread = std::thread::spawn(move || {
        run(Config::default(), async move {
            let service = target.serve(door).unwrap();
            tell.send(service.local_addrs()[0]).unwrap();
            stopped.recv().await;
            service.shutdown().await;
        })
        .unwrap();
    });
    Reactor { address: told.recv().unwrap(), stop, thread }
}

#[test]
fn queues_of_one_host_may_be_on_different_reactors() {
    let door = MemoryDoor::new(SUBSYSTEM);
    door.add(Nsid(1), MemoryVolumeOptions::new(1 << 20));
    let address = ([127, 0, 0, 1], 0).into();
    let portals = vec![Portal { address, kind: PortalKind::Io }];
    let limits = Limits::default();
    let target = Target::new(TargetConfig { portals, limits, several_reactors: true }).unwrap();
    let reactors = [serve(&target, &door), serve(&target, &door)];
    let address = reactors[0].address;
    assert_eq!(address, reactors[1].address, "the second takes the first one's port");
    // The kernel spreads connections by their ports: of so many, some land on either.
    for _ in 0..8 {
        let admin = Queue::admin(address, SUBSYSTEM, crate::support::HOST);
        let mut queues: Vec<Queue> =
            (1..=8).map(|number| Queue::io(address, &admin, number)).collect();
        for (number, queue) in (0..8).zip(&mut queues) {
            assert_eq!(queue.write(number, &[number as u8 + 1; 4096]), Status::SUCCESS);
        }
        assert_eq!(target.connected_hosts()[0].io_queues, 8);
        assert_eq!(queues[7].read(0, 1).1, [1; 4096]);
        drop(admin);
        assert!(
            queues.iter_mut().all(|queue| queue.receive().is_none()),
            "all end with the admin queue"
        );
        eventually("the host is gone", || target.connected_hosts().is_empty());
    }
    for reactor in reactors {
        drop(reactor.stop);
        reactor.thread.join().unwrap();
    }
}

#[test]
fn a_port_in_use_is_named_with_the_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = refused(address);
    assert!(error.contains(&format!("cannot listen on {address}")), "{error}");
    assert!(error.contains("is in use") && error.contains("another port"), "{error}");
}

#[test]
fn an_address_of_another_machine_is_named() {
    let error = refused("192.0.2.1:4420".parse().unwrap());
    assert!(error.contains("192.0.2.1 is not an address of this machine"), "{error}");
}

/// Why the target cannot listen there.
fn refused(address: SocketAddr) -> String {
    let config = TargetConfig {
        portals: vec![Portal { address, kind: PortalKind::Io }],
        limits: Limits::default(),
        several_reactors: false,
    };
    let target = Target::new(config).unwrap();
    let error =
        run(Config::default(), async move { target.serve(MemoryDoor::new(SUBSYSTEM)).err() });
    error.unwrap().expect("it cannot listen").to_string()
}
