//! The endurance group.

use ashlar_nvme::admin::{AdminCommand, GetLogPage, Identify};
use ashlar_nvme::identify::{IndependentNamespace, cns};
use ashlar_nvme::log::{EnduranceGroupLog, SmartLog, page};
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_volume::{DrivesHealth, HealthFigures, SpaceFigures};

use crate::admin::{controller, namespace};
use crate::support::{DISCOVERY, HOST, Queue, Rig};

const GB: u64 = 1_000_000_000;

fn log_of(admin: &mut Queue, group: u16) -> (Status, Vec<u8>) {
    let get = GetLogPage {
        page: page::ENDURANCE_GROUP,
        specific: 0,
        specific_id: group,
        retain_event: false,
        bytes: 512,
        offset: 0,
        offset_is_index: false,
        command_set: 0,
    };
    let (status, _, data) = admin.admin_command(AdminCommand::GetLogPage(get), 0, 512);
    (status, data)
}

fn groups_from(admin: &mut Queue, first: u16) -> Vec<u8> {
    let cns = cns::ENDURANCE_GROUPS;
    let identify = Identify { cns, controller_id: 0, specific_id: first, command_set: 0 };
    let (status, _, data) = admin.admin_command(AdminCommand::Identify(identify), 0, 4096);
    assert_eq!(status, Status::SUCCESS);
    data[..6].to_vec()
}

#[test]
fn all_namespaces_are_in_the_one_group_that_the_controller_has() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let it = controller(&mut admin);
    assert_eq!((it.attributes.get() & 1 << 4, it.endurance_group_max.get()), (1 << 4, 1));
    assert_eq!(namespace(&mut admin, 1).endurance_group.get(), 1);
    let (_, data) = admin.identify(cns::NAMESPACE_INDEPENDENT, 1);
    assert_eq!(IndependentNamespace::read_from_bytes(&data).unwrap().endurance_group.get(), 1);
    assert_eq!(groups_from(&mut admin, 0), [1, 0, 1, 0, 0, 0]);
    assert_eq!(groups_from(&mut admin, 1), [1, 0, 1, 0, 0, 0]);
    assert_eq!(groups_from(&mut admin, 2), [0; 6]);
    let pages = admin.log(page::SUPPORTED, 1024, 0).1;
    assert_eq!(pages[usize::from(page::ENDURANCE_GROUP) * 4], 1);
}

#[test]
fn a_discovery_controller_has_no_group() {
    let rig = Rig::start();
    let mut admin = Queue::admin(rig.discovery, DISCOVERY, HOST);
    let it = controller(&mut admin);
    assert_eq!((it.attributes.get() & 1 << 4, it.endurance_group_max.get()), (0, 0));
    assert_eq!(log_of(&mut admin, 1).0.code(), Status::INVALID_LOG_PAGE);
}

#[test]
fn the_groups_figures_are_those_of_the_smart_log_and_of_the_drives() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert_eq!(io.write(0, &vec![1; 64 << 10]), Status::SUCCESS);
    io.read(0, 1);
    let space = SpaceFigures {
        provisioned: 100 * GB,
        safe_to_write: 30 * GB,
        host_read: GB,
        host_written: GB + 1,
        drives_written: 2 * GB + 1,
        ..SpaceFigures::default()
    };
    rig.door.set_health(HealthFigures {
        spare_percent: 5,
        spare_threshold_percent: 10,
        degraded: true,
        media_errors: 3,
        space,
        drives: DrivesHealth { used_percent: 7, celsius: None },
        ..HealthFigures::default()
    });
    let (status, data) = log_of(&mut admin, 1);
    assert_eq!(status, Status::SUCCESS);
    let log = EnduranceGroupLog::read_from_bytes(&data).unwrap();
    let smart = SmartLog::read_from_bytes(&admin.log(page::SMART, 512, 0).1).unwrap();
    assert_eq!((log.critical_warning, smart.endurance_groups), (0b101, 0b101));
    assert_eq!((log.available_spare, log.spare_threshold, log.percentage_used), (5, 10, 7));
    assert_eq!((log.data_units_read.get(), log.data_units_written.get()), (1, 2), "rounded up");
    assert_eq!(log.media_units_written.get(), 3, "rounded up");
    assert_eq!((log.host_reads, log.host_writes), (smart.host_reads, smart.host_writes));
    assert_eq!(log.media_errors.get(), 3);
    let capacities = [log.total_capacity, log.unallocated_capacity].map(|it| it.get() as u64);
    assert_eq!(capacities, [100 * GB, 30 * GB]);
}

#[test]
fn a_group_that_is_not_there_is_refused() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for group in [0, 2, u16::MAX] {
        assert_eq!(log_of(&mut admin, group).0.code(), Status::INVALID_FIELD, "{group}");
    }
}
