//! The initiator and its workloads against the target, over loopback.

use std::cell::RefCell;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ashlar_load::cpu::CpuClock;
use ashlar_load::initiator::{
    CommandError, ConnectError, ConnectOptions, Controller, HostIdentity, Namespace,
    ReconnectPolicy, discover,
};
use ashlar_load::load::{Direction, Load};
use ashlar_load::verify::{self, Model, Sources};
use ashlar_load::wire_bench;
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::feature::{event_bits, id};
use ashlar_nvme::pdu::Digests;
use ashlar_nvme::status::Status;
use ashlar_reactor::{Config, run, spawn_joined, timeout, yield_now};
use ashlar_target::nvme_tcp::{
    BindError, Limits, Portal, PortalKind, Service, Target, TargetConfig,
};
use ashlar_volume::memory_door::{MemoryDoor, MemoryVolume, MemoryVolumeOptions};
use ashlar_volume::{AccessList, Nsid};
use bytes::Bytes;

const SUBSYSTEM: &str = "nqn.2014-08.org.example:target";

struct Rig {
    door: MemoryDoor,
    volume: MemoryVolume,
    address: SocketAddr,
    service: Service<MemoryDoor>,
}

fn try_serve(door: &MemoryDoor, address: SocketAddr) -> Result<Service<MemoryDoor>, BindError> {
    let portals = vec![Portal { address, kind: PortalKind::Io }];
    let target =
        Target::new(TargetConfig { portals, limits: Limits::default(), several_reactors: false })
            .unwrap();
    target.serve(door.clone())
}

/// Serves where a service was that is just ending: its socket goes with the reactor's next turn.
async fn serve_again(door: &MemoryDoor, address: SocketAddr) -> Service<MemoryDoor> {
    loop {
        match try_serve(door, address) {
            Ok(service) => return service,
            Err(error) => assert_eq!(error.source.kind(), std::io::ErrorKind::AddrInUse),
        }
        yield_now().await;
    }
}

/// Runs a test on a reactor that serves a volume of 64 MiB.
fn with_rig<F: Future<Output = ()>>(test: impl FnOnce(Rig) -> F + 'static) {
    run(Config::default(), async {
        let door = MemoryDoor::new(SUBSYSTEM);
        let volume = door.add(Nsid(1), MemoryVolumeOptions::new(64 << 20));
        let service = try_serve(&door, ([127, 0, 0, 1], 0).into()).unwrap();
        let address = service.local_addrs()[0];
        test(Rig { door, volume, address, service }).await;
    })
    .unwrap();
}

fn identity() -> HostIdentity {
    HostIdentity { nqn: "nqn.2014-08.org.example:host".to_owned(), id: [5; 16] }
}

fn options(rig: &Rig) -> ConnectOptions {
    ConnectOptions::new(rig.address, SUBSYSTEM, identity())
}

async fn namespace(options: ConnectOptions) -> Namespace {
    Controller::connect(options).await.unwrap().namespace(1).await.unwrap()
}

fn block(byte: u8) -> Bytes {
    vec![byte; 4096].into()
}

async fn until(probe: impl Fn() -> bool) {
    while !probe() {
        yield_now().await;
    }
}

#[test]
fn discovery_names_the_portal_that_was_asked() {
    with_rig(|rig| async move {
        let rig = &rig;
        let found = discover(rig.address, identity()).await.unwrap();
        let io: Vec<_> = found.iter().filter(|entry| !entry.is_discovery).collect();
        assert_eq!(io.len(), 1);
        assert_eq!((io[0].nqn.as_str(), io[0].address), (SUBSYSTEM, rig.address));
    });
}

#[test]
fn every_io_command_does_what_it_says() {
    with_rig(|rig| async move {
        let namespace = namespace(options(&rig)).await;
        namespace.write(0, block(1)).await.unwrap();
        assert_eq!(*namespace.read(0, 1).await.unwrap(), [1; 4096]);
        namespace.compare(0, block(1)).await.unwrap();
        let other = namespace.compare(0, block(2)).await.unwrap_err();
        assert_eq!(other.status().unwrap().code(), Status::COMPARE_FAILURE);
        namespace.compare_and_write(0, block(1), block(3)).await.unwrap();
        let late = namespace.compare_and_write(0, block(1), block(4)).await.unwrap_err();
        assert_eq!(late.status().unwrap().code(), Status::COMPARE_FAILURE);
        assert_eq!(*namespace.read(0, 1).await.unwrap(), [3; 4096]);
        namespace.write_zeroes(0, 1, true).await.unwrap();
        assert_eq!(*namespace.read(0, 1).await.unwrap(), [0; 4096]);
        namespace.write(8, vec![7; 64 << 10].into()).await.unwrap();
        namespace.deallocate(&[8..9, 20..24]).await.unwrap();
        let read = namespace.read(8, 16).await.unwrap();
        assert_eq!((read[0], read[4096], read[12 << 12]), (0, 7, 0));
        namespace.verify(0, 100).await.unwrap();
        namespace.flush().await.unwrap();
    });
}

#[test]
fn all_digests_and_large_transfers_over_several_queues() {
    with_rig(|rig| async move {
        let digests = Digests { header: true, data: true };
        let options = ConnectOptions {
            digests,
            io_queues: 4,
            disable_sq_flow_control: true,
            ..options(&rig)
        };
        let namespace = namespace(options).await;
        let data: Bytes = (0..1_u32 << 18).flat_map(u32::to_le_bytes).collect::<Vec<_>>().into();
        let writes: Vec<_> = (0..8)
            .map(|number| {
                let (namespace, data) = (namespace.clone(), data.clone());
                spawn_joined(async move { namespace.write(number * 256, data).await })
            })
            .collect();
        for write in writes {
            write.await.unwrap();
        }
        for number in 0..8 {
            assert_eq!(*namespace.read(number * 256, 256).await.unwrap(), data[..]);
        }
    });
}

#[test]
fn what_stands_in_the_way_of_a_connection_is_named() {
    with_rig(|rig| async move {
        let wrong = ConnectOptions::new(rig.address, "nqn.2014-08.org.example:other", identity());
        let refused = Controller::connect(wrong).await.err().unwrap();
        assert!(matches!(refused, ConnectError::Refused { result: 0x1_0100, .. }), "{refused}");
        let nobody = ConnectOptions { address: ([127, 0, 0, 1], 1).into(), ..options(&rig) };
        let unreachable = Controller::connect(nobody).await.err().unwrap();
        assert!(unreachable.to_string().contains("127.0.0.1:1"), "{unreachable}");
    });
}

#[test]
fn commands_that_do_not_fit_are_refused_before_they_are_sent() {
    with_rig(|rig| async move {
        let namespace = namespace(options(&rig)).await;
        assert!(matches!(namespace.read(0, 0).await, Err(CommandError::Invalid(_))));
        assert!(matches!(namespace.read(0, 257).await, Err(CommandError::Invalid(_))));
        assert!(matches!(
            namespace.write(0, vec![0; 100].into()).await,
            Err(CommandError::Invalid(_))
        ));
        let beyond = namespace.read(namespace.blocks(), 1).await.unwrap_err();
        assert_eq!(beyond.status().unwrap().code(), Status::LBA_OUT_OF_RANGE);
    });
}

#[test]
fn a_change_of_namespaces_is_told() {
    with_rig(|rig| async move {
        let controller = Controller::connect(options(&rig)).await.unwrap();
        let configuration = event_bits::NAMESPACE_ATTRIBUTE;
        controller.set_feature(id::ASYNC_EVENT_CONFIGURATION, 0, configuration).await.unwrap();
        let waiting = controller.clone();
        let event = spawn_joined(async move { waiting.next_event().await });
        rig.door.add(Nsid(7), MemoryVolumeOptions::new(1 << 20));
        assert_eq!(event.await.unwrap(), Some(AsyncEvent::NAMESPACE_CHANGED));
        assert_eq!(controller.namespaces().await.unwrap(), [1, 7]);
        assert_eq!(controller.log_page(4, 0, 4096).await.unwrap()[..8], [7, 0, 0, 0, 0, 0, 0, 0]);
    });
}

#[test]
fn after_a_restart_of_the_target_unanswered_commands_are_sent_again() {
    with_rig(|rig| async move {
        let policy = ReconnectPolicy {
            delay: Duration::from_millis(10),
            give_up_after: Duration::from_secs(60),
        };
        let namespace =
            namespace(ConnectOptions { reconnect: Some(policy), ..options(&rig) }).await;
        rig.volume.hold(true);
        let writer = namespace.clone();
        let write = spawn_joined(async move { writer.write(3, block(9)).await });
        let volume = rig.volume.clone();
        until(|| volume.held_count() == 1).await;
        drop(rig.service);
        rig.volume.hold(false);
        rig.volume.fail_with(None);
        let service = serve_again(&rig.door, rig.address).await;
        write.await.unwrap();
        assert_eq!(*namespace.read(3, 1).await.unwrap(), [9; 4096]);
        assert_eq!(namespace.controller().reconnections(), 1);
        service.shutdown().await;
    });
}

#[test]
fn as_many_pairs_as_there_are_identifiers_all_end() {
    const IDENTIFIERS: u32 = 4;
    with_rig(|rig| async move {
        let first =
            namespace(ConnectOptions { queue_entries: IDENTIFIERS + 1, ..options(&rig) }).await;
        let mut held = Vec::new();
        for nsid in 2..2 + IDENTIFIERS {
            let volume = rig.door.add(Nsid(nsid), MemoryVolumeOptions::new(1 << 20));
            volume.hold(true);
            let namespace = first.controller().namespace(nsid).await.unwrap();
            let read = spawn_joined(async move { namespace.read(0, 1).await.map(drop) });
            until(|| volume.held_count() == 1).await;
            held.push((volume, read));
        }
        let pairs: Vec<_> = (0..IDENTIFIERS)
            .map(|lba| {
                let namespace = first.clone();
                spawn_joined(async move {
                    namespace.compare_and_write(lba.into(), block(0), block(7)).await
                })
            })
            .collect();
        yield_now().await;
        // The identifiers become free one by one.
        for (volume, read) in held {
            volume.hold(false);
            read.await.unwrap();
            yield_now().await;
        }
        for pair in pairs {
            timeout(Duration::from_secs(10), pair).await.expect("it ends").unwrap();
        }
        rig.service.shutdown().await;
    });
}

#[test]
fn without_reconnection_a_lost_connection_is_told() {
    with_rig(|rig| async move {
        let namespace = namespace(options(&rig)).await;
        rig.service.shutdown().await;
        let lost = namespace.read(0, 1).await.unwrap_err();
        assert!(lost.is_unknown_outcome(), "{lost}");
    });
}

#[test]
fn a_host_that_is_not_allowed_sees_nothing() {
    with_rig(|rig| async move {
        rig.door.change(Nsid(1), |info| info.access = AccessList::Allow([].into()).into()).unwrap();
        let controller = Controller::connect(options(&rig)).await.unwrap();
        assert!(controller.namespaces().await.unwrap().is_empty());
        assert!(controller.namespace(1).await.is_err());
        assert!(
            discover(rig.address, identity()).await.unwrap().iter().all(|entry| entry.is_discovery)
        );
    });
}

fn model(blocks: u64) -> Rc<RefCell<Model>> {
    let this_test = std::env::current_exe().unwrap();
    let sources = Sources::sample(&[this_test], 64, 1).unwrap();
    Rc::new(RefCell::new(Model::new(42, blocks, sources)))
}

fn verify_options(operations: u64) -> verify::Options {
    verify::Options {
        duration: None,
        operations_max: Some(operations),
        progress_interval: Duration::from_millis(5),
        ..verify::Options::default()
    }
}

#[test]
fn a_verified_workload_finds_everything_as_it_was_written() {
    with_rig(|rig| async move {
        let namespace = namespace(options(&rig)).await;
        let model = model(2000);
        let report = verify::run(&namespace, &model, verify_options(3000), |_| ()).await.unwrap();
        assert_eq!(report.read.count + report.write.count + report.trim.count, 3000);
        assert!(report.blocks_checked > 0 && report.blocks_trimmed > 0);
        assert_eq!(verify::read_back(&namespace, &model, 8, |_| ()).await.unwrap(), 2000);
        assert_eq!(model.borrow().open_blocks(), 0);
    });
}

#[test]
fn a_verified_workload_at_a_rate_does_no_more_than_that_and_tells_what_each_moment_was_like() {
    with_rig(|rig| async move {
        let namespace = namespace(options(&rig)).await;
        let model = model(2000);
        let paced = verify::Options { per_second: Some(1000), ..verify_options(200) };
        let began = ashlar_reactor::now();
        let recent = RefCell::new(Vec::new());
        let tell =
            |progress: verify::Progress| recent.borrow_mut().push(progress.recent.summary().count);
        verify::run(&namespace, &model, paced, tell).await.unwrap();
        // The first operations begin at once, one for each that may be outstanding.
        assert!(ashlar_reactor::now().since(began) >= Duration::from_millis(160));
        assert_eq!(recent.borrow().iter().sum::<u64>(), 200);
        assert!(recent.borrow().len() > 1, "{recent:?}");
    });
}

#[test]
fn a_verified_workload_works_with_sectors_of_512_bytes() {
    with_rig(|rig| async move {
        rig.door.add(
            Nsid(1),
            MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(8 << 20) },
        );
        let namespace = namespace(options(&rig)).await;
        let model = model(1000);
        verify::run(&namespace, &model, verify_options(1000), |_| ()).await.unwrap();
        verify::read_back(&namespace, &model, 8, |_| ()).await.unwrap();
    });
}

#[test]
fn a_verified_workload_survives_restarts_of_the_target() {
    with_rig(|rig| async move {
        let policy = ReconnectPolicy {
            delay: Duration::from_millis(5),
            give_up_after: Duration::from_secs(60),
        };
        let namespace =
            namespace(ConnectOptions { reconnect: Some(policy), ..options(&rig) }).await;
        let model = model(2000);
        let (worker, its_model) = (namespace.clone(), model.clone());
        let workload = spawn_joined(async move {
            verify::run(&worker, &its_model, verify_options(20_000), |_| ()).await
        });
        let mut service = rig.service;
        for _ in 0..3 {
            let before = namespace.controller().reconnections();
            drop(service);
            service = serve_again(&rig.door, rig.address).await;
            until(|| workload.is_finished() || namespace.controller().reconnections() > before)
                .await;
        }
        let report = workload.await.unwrap();
        assert!(report.reconnections > 0);
        verify::read_back(&namespace, &model, 8, |_| ()).await.unwrap();
        service.shutdown().await;
    });
}

#[test]
fn wrong_data_are_found_and_named() {
    with_rig(|rig| async move {
        let namespace = namespace(options(&rig)).await;
        let model = model(500);
        let mix = verify::Mix { read: 0, write: 1, trim: 0, ..verify::Mix::default() };
        let fill = verify::Options { mix, ..verify_options(2000) };
        verify::run(&namespace, &model, fill, |_| ()).await.unwrap();
        let misplaced = namespace.read(100, 1).await.unwrap();
        namespace.write(101, misplaced.freeze()).await.unwrap();
        let found = verify::read_back(&namespace, &model, 1, |_| ()).await.unwrap_err().to_string();
        assert!(found.contains("block 101") && found.contains("of block 100"), "{found}");
    });
}

#[test]
fn a_workload_that_does_not_fit_is_refused() {
    with_rig(|rig| async move {
        let namespace = namespace(options(&rig)).await;
        let error =
            verify::run(&namespace, &model(1 << 20), verify_options(1), |_| ()).await.unwrap_err();
        assert!(error.to_string().contains("16384 blocks"), "{error}");
    });
}

#[test]
fn the_wire_bench_measures_all_loads() {
    with_rig(|rig| async move {
        rig.door.add(Nsid(2), MemoryVolumeOptions::null(1 << 30));
        let clock = CpuClock::of_this_thread().unwrap();
        for direction in [Direction::Read, Direction::Write] {
            for bytes in [4 << 10, 128 << 10] {
                let load = Load {
                    warm_up: Duration::from_millis(5),
                    duration: Duration::from_millis(50),
                    ..Load::new(direction, bytes, 2, 8)
                };
                let figures =
                    wire_bench::measure(options(&rig), 2, load, Some(&clock)).await.unwrap();
                assert!(figures.iops > 0.0 && figures.operations_per_cpu_second.is_some());
            }
        }
    });
}
