//! What tools of ScaleFlux's drives send: the log pages and features of the plugin `nvme sfx`.

use ashlar_nvme::admin::{AdminCommand, GetLogPage};
use ashlar_nvme::log::scaleflux::{
    ADDITIONAL_SMART, EXTENDED_HEALTH, FEATURE_ATOMIC_WRITE, READ_LATENCY, WRITE_LATENCY,
};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{NSID_ALL, Sqe};
use ashlar_nvme::status::Status;
use ashlar_volume::{HealthFigures, SpaceFigures};

use crate::support::Rig;

#[test]
fn additional_smart_is_read_as_the_plugin_reads_it() {
    let rig = Rig::start();
    let space = SpaceFigures { provisioned: 200, live: 100, ..SpaceFigures::default() };
    rig.door.set_health(HealthFigures { space, ..HealthFigures::default() });
    let mut admin = rig.admin();
    let (status, page) = admin.log(ADDITIONAL_SMART, 276, 0);
    assert_eq!(status, Status::SUCCESS);
    assert_eq!(page[21 * 12 + 5], 50, "half of it is used");
    // A fork of the plugin reads three items more.
    let (status, page) = admin.log(ADDITIONAL_SMART, 312, 0);
    assert_eq!((status, &page[276..]), (Status::SUCCESS, &[0; 36][..]));
}

#[test]
fn extended_health_is_there_for_scripts_that_read_it_by_number() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for bytes in [128, 152, 512] {
        let (status, page) = admin.log(EXTENDED_HEALTH, bytes, 0);
        assert_eq!((status, page.len()), (Status::SUCCESS, bytes as usize));
        assert_eq!(page[100], 100, "nothing is stored: 1.00");
    }
}

#[test]
fn writes_are_atomic_by_the_vendors_feature_and_nobody_switches_that_off() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let get = AdminCommand::GetScaleFluxFeature { feature: FEATURE_ATOMIC_WRITE };
    let sqe = get.to_sqe(admin.cid(), 0);
    let (cqe, _) = admin.exchange(sqe, &[]);
    assert_eq!((cqe.status(), cqe.result.get() as u32), (Status::SUCCESS, 1));
    let set = |value| AdminCommand::SetScaleFluxFeature { feature: FEATURE_ATOMIC_WRITE, value };
    let mut ask = |command: AdminCommand, nsid| {
        let sqe = command.to_sqe(admin.cid(), nsid);
        admin.exchange(sqe, &[]).0.status()
    };
    assert_eq!(ask(set(1), 1), Status::SUCCESS);
    assert_eq!(ask(set(1), NSID_ALL), Status::SUCCESS);
    assert_eq!(ask(set(0), 1), Status::FEATURE_NOT_CHANGEABLE.dnr().more());
    for feature in [0, 2, 0xac, 0xdc, u32::MAX] {
        let refused = ask(AdminCommand::SetScaleFluxFeature { feature, value: 1 }, 1);
        assert_eq!(refused.code(), Status::INVALID_FIELD, "{feature:#x}");
        let refused = ask(AdminCommand::GetScaleFluxFeature { feature }, 0);
        assert_eq!(refused.code(), Status::INVALID_FIELD, "{feature:#x}");
    }
}

// What came in the capsule of a command that takes none must be consumed, or the stream is lost.
#[test]
fn data_in_the_capsule_of_a_vendors_command_does_not_lose_the_stream() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for (opcode, answer) in [(0xd5, Status::INVALID_FIELD), (0xd3, Status::INVALID_OPCODE)] {
        let mut sqe = Sqe::new(opcode, admin.cid(), NSID_ALL);
        sqe.sgl = SglDescriptor::in_capsule(88);
        assert_eq!(admin.exchange(sqe, &[0; 88]).0.status().code(), answer, "{opcode:#x}");
    }
    assert_eq!(admin.log(EXTENDED_HEALTH, 152, 0).0, Status::SUCCESS);
}

// The plugin asks for the page in two commands.
#[test]
fn latencies_are_read_as_the_plugin_reads_them() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for page in [READ_LATENCY, WRITE_LATENCY] {
        let (status, first) = admin.log(page, 4096, 0);
        assert_eq!((status, &first[..4]), (Status::SUCCESS, &[4, 0, 1, 0][..]), "version 4.1");
        let (status, rest) = admin.log(page, 780, 4096);
        assert_eq!((status, rest.len()), (Status::SUCCESS, 780));
        let (status, whole) = admin.log(page, 4876, 0);
        assert_eq!((status, whole.len()), (Status::SUCCESS, 4876));
    }
}

#[test]
fn latencies_of_a_namespace_that_the_host_does_not_see_are_refused() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let mut of = |nsid| {
        let get = GetLogPage {
            page: READ_LATENCY,
            specific: 0,
            specific_id: 0,
            retain_event: false,
            bytes: 4096,
            offset: 0,
            offset_is_index: false,
            command_set: 0,
        };
        admin.admin_command(AdminCommand::GetLogPage(get), nsid, 4096).0.code()
    };
    assert_eq!([of(1), of(u32::MAX)], [Status::SUCCESS; 2]);
    assert_eq!(of(99), Status::INVALID_NAMESPACE);
}
