//! Asynchronous events, the discovery log, and who sees what.

use ashlar_nvme::admin::{AdminCommand, FeatureSelect, GetLogPage};
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::feature::{event_bits, id};
use ashlar_nvme::identify::{cns, namespaces_of_list};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::log::{DISCOVERY_ENTRY_BYTES, DiscoveryEntry, page};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Cid;
use ashlar_nvme::status::Status;
use ashlar_nvme::text::{ascii_trimmed, nqn_of_field};
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_volume::memory_door::MemoryVolumeOptions;
use ashlar_volume::{AccessList, HealthFigures, HostNqn, Nsid};

use crate::support::{DISCOVERY, HOST, Queue, Rig, SUBSYSTEM};

const STRANGER: &str = "nqn.2014-08.org.example:stranger";

fn only(host: &str) -> AccessList {
    AccessList::Allow([HostNqn::new(host).unwrap()].into())
}

/// Asks for events of these kinds, and gives one request.
fn await_event(admin: &mut Queue, configuration: u32) -> Cid {
    let set = AdminCommand::SetFeatures {
        feature: id::ASYNC_EVENT_CONFIGURATION,
        save: false,
        parameter: configuration,
    };
    assert_eq!(admin.admin_command(set, 0, 0).0, Status::SUCCESS);
    request_event(admin)
}

fn request_event(admin: &mut Queue) -> Cid {
    let sqe = AdminCommand::AsyncEventRequest.to_sqe(admin.cid(), 0);
    admin.send_command(sqe, &[]);
    sqe.cid()
}

/// The event that comes.
fn event(admin: &mut Queue) -> AsyncEvent {
    let (cqe, _) = admin.finish(&[]);
    assert_eq!(cqe.status(), Status::SUCCESS);
    AsyncEvent::from_result(cqe.result.get() as u32).unwrap()
}

fn changed_namespaces(admin: &mut Queue) -> Vec<u32> {
    namespaces_of_list(&admin.log(page::CHANGED_NAMESPACES, 4096, 0).1).collect()
}

// blktests 016, 017, 051, 052: namespaces that come and go.
#[test]
fn namespaces_added_resized_and_removed_are_told_at_once() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    await_event(&mut admin, event_bits::NAMESPACE_ATTRIBUTE);
    rig.door.add(Nsid(5), MemoryVolumeOptions::new(1 << 20));
    assert_eq!(event(&mut admin), AsyncEvent::NAMESPACE_CHANGED);
    assert_eq!(changed_namespaces(&mut admin), [5]);
    assert!(changed_namespaces(&mut admin).is_empty(), "reading empties the list");
    request_event(&mut admin);
    rig.door.change(Nsid(5), |info| info.size_bytes = 2 << 20).unwrap();
    assert_eq!(event(&mut admin), AsyncEvent::NAMESPACE_CHANGED);
    assert_eq!(changed_namespaces(&mut admin), [5]);
    request_event(&mut admin);
    rig.door.remove(Nsid(1));
    assert_eq!(event(&mut admin), AsyncEvent::NAMESPACE_CHANGED);
    assert_eq!(changed_namespaces(&mut admin), [1]);
}

#[test]
fn an_event_that_nobody_awaited_is_kept_and_told_once() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    await_event(&mut admin, event_bits::NAMESPACE_ATTRIBUTE);
    rig.door.add(Nsid(5), MemoryVolumeOptions::new(1 << 20));
    assert_eq!(event(&mut admin), AsyncEvent::NAMESPACE_CHANGED);
    rig.door.add(Nsid(6), MemoryVolumeOptions::new(1 << 20));
    rig.door.add(Nsid(7), MemoryVolumeOptions::new(1 << 20));
    // The page is not read: the next event of the kind waits, however many changes there are.
    let waiting = request_event(&mut admin);
    assert_eq!(admin.admin_command(AdminCommand::KeepAlive, 0, 0).0, Status::SUCCESS);
    let retained = GetLogPage {
        page: page::CHANGED_NAMESPACES,
        specific: 0,
        specific_id: 0,
        retain_event: true,
        bytes: 4096,
        offset: 0,
        offset_is_index: false,
        command_set: 0,
    };
    assert_eq!(admin.admin_command(AdminCommand::GetLogPage(retained), 0, 4096).0, Status::SUCCESS);
    let abort = AdminCommand::Abort { queue_id: 0, cid: waiting };
    let sqe = abort.to_sqe(admin.cid(), 0);
    admin.send_command(sqe, &[]);
    let (first, second) = (admin.finish(&[]).0, admin.finish(&[]).0);
    assert_eq!((first.cid(), first.status()), (waiting, Status::ABORT_REQUESTED));
    assert_eq!((second.cid(), second.result.get()), (sqe.cid(), 0), "aborted");
}

#[test]
fn what_is_not_configured_is_not_told() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let request = await_event(&mut admin, event_bits::SPARE);
    rig.door.add(Nsid(5), MemoryVolumeOptions::new(1 << 20));
    let health =
        HealthFigures { spare_percent: 3, spare_threshold_percent: 10, ..HealthFigures::default() };
    rig.door.set_health(health);
    let (cqe, _) = admin.finish(&[]);
    assert_eq!(cqe.cid(), request);
    assert_eq!(cqe.result.get() as u32, AsyncEvent::SPARE_LOW.result());
}

#[test]
fn requests_beyond_their_number_are_refused() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for _ in 0..4 {
        request_event(&mut admin);
    }
    let fifth = request_event(&mut admin);
    let (cqe, _) = admin.finish(&[]);
    assert_eq!((cqe.cid(), cqe.status().code()), (fifth, Status::EVENT_REQUEST_LIMIT_EXCEEDED));
}

#[test]
fn an_abort_of_what_runs_or_is_not_there_says_so() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let abort = AdminCommand::Abort { queue_id: 1, cid: Cid(3) };
    assert_eq!(admin.admin_command(abort, 0, 0), (Status::SUCCESS, 1, Vec::new()));
}

fn discovery_entries(queue: &mut Queue) -> (u64, Vec<DiscoveryEntry>) {
    let header = queue.log(page::DISCOVERY, 1024, 0).1;
    let generation = u64::from_le_bytes(header[..8].try_into().unwrap());
    let count = u64::from_le_bytes(header[8..16].try_into().unwrap());
    let whole = queue.log(page::DISCOVERY, (count + 1) * 1024, 0).1;
    let entries = whole[1024..].chunks_exact(DISCOVERY_ENTRY_BYTES);
    (generation, entries.map(|entry| DiscoveryEntry::read_from_bytes(entry).unwrap()).collect())
}

fn names(queue: &mut Queue) -> Vec<(String, String)> {
    let entries = discovery_entries(queue).1;
    let name = |entry: &DiscoveryEntry| {
        (nqn_of_field(&entry.subsystem_nqn).unwrap().to_owned(), ascii_trimmed(&entry.service))
    };
    entries.iter().map(name).collect()
}

#[test]
fn both_portals_tell_of_the_subsystem_and_of_the_discovery_service() {
    let rig = Rig::start();
    let (io, discovery) = (rig.io.port().to_string(), rig.discovery.port().to_string());
    let want = [
        (SUBSYSTEM.to_owned(), io.clone()),
        (DISCOVERY.to_owned(), io),
        (DISCOVERY.to_owned(), discovery),
    ];
    for address in [rig.io, rig.discovery] {
        let mut queue = Queue::admin(address, DISCOVERY, HOST);
        assert_eq!(names(&mut queue), want);
        let entries = discovery_entries(&mut queue).1;
        assert!(entries.iter().all(|entry| ascii_trimmed(&entry.address) == "127.0.0.1"));
    }
}

// blktests 030: the discovery log's generation counter.
#[test]
fn a_persistent_discovery_controller_is_told_of_changes() {
    let rig = Rig::start();
    let mut queue = Queue::admin(rig.discovery, DISCOVERY, STRANGER);
    rig.door.change(Nsid(1), |info| info.access = only(HOST).into()).unwrap();
    let before = discovery_entries(&mut queue).0;
    assert!(names(&mut queue).iter().all(|(name, _)| name == DISCOVERY), "nothing for a stranger");
    await_event(&mut queue, event_bits::DISCOVERY_LOG);
    rig.door.change(Nsid(1), |info| info.access = only(STRANGER).into()).unwrap();
    assert_eq!(event(&mut queue), AsyncEvent::DISCOVERY_CHANGED);
    assert!(discovery_entries(&mut queue).0 > before);
    assert_eq!(names(&mut queue)[0].0, SUBSYSTEM);
}

#[test]
fn a_host_sees_only_what_allows_it() {
    let rig = Rig::start();
    rig.door.add(
        Nsid(2),
        MemoryVolumeOptions { access: only(STRANGER), ..MemoryVolumeOptions::new(1 << 20) },
    );
    let (mut admin, mut io) = rig.host();
    let list = admin.identify(cns::ACTIVE_NAMESPACES, 0).1;
    assert_eq!(namespaces_of_list(&list).collect::<Vec<_>>(), [1]);
    assert!(admin.identify(cns::NAMESPACE, 2).1.iter().all(|byte| *byte == 0));
    assert_eq!(admin.identify(cns::NAMESPACE_DESCRIPTORS, 2).0.code(), Status::INVALID_NAMESPACE);
    for feature in [id::WRITE_PROTECTION, id::ERROR_RECOVERY] {
        for select in [FeatureSelect::Current, FeatureSelect::Default, FeatureSelect::Supported] {
            let get = AdminCommand::GetFeatures { feature, select, parameter: 0 };
            assert_eq!(admin.admin_command(get, 1, 0).0, Status::SUCCESS);
            assert_eq!(
                admin.admin_command(get, 2, 0).0.code(),
                Status::INVALID_NAMESPACE,
                "{feature:#x}"
            );
        }
    }
    let mut sqe = IoCommand::Read(BlockRange { start: 0, count: 1 }).to_sqe(io.cid(), 2);
    sqe.sgl = SglDescriptor::transport(4096);
    assert_eq!(io.exchange(sqe, &[]).0.status().code(), Status::INVALID_NAMESPACE);
}

#[test]
fn an_allowance_that_is_taken_away_holds_at_once() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    await_event(&mut admin, event_bits::NAMESPACE_ATTRIBUTE);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    rig.door.change(Nsid(1), |info| info.access = only(STRANGER).into()).unwrap();
    assert_eq!(io.write(0, &[2; 4096]).code(), Status::INVALID_NAMESPACE);
    assert_eq!(event(&mut admin), AsyncEvent::NAMESPACE_CHANGED);
    assert_eq!(changed_namespaces(&mut admin), [1]);
    rig.door.change(Nsid(1), |info| info.access = AccessList::AllowAny.into()).unwrap();
    assert_eq!(io.read(0, 1).1, [1; 4096]);
}
