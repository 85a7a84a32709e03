//! Get Features and Set Features.

use ashlar_nvme::admin::{AdminCommand, FeatureSelect};
use ashlar_nvme::feature::{QueueCounts, id};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::status::Status;
use ashlar_volume::Door;

use crate::admin::{controller, namespace};
use crate::support::{DISCOVERY, HOST, Queue, Rig};

fn get(admin: &mut Queue, feature: u8, select: FeatureSelect, parameter: u32) -> (Status, u32) {
    let command = AdminCommand::GetFeatures { feature, select, parameter };
    let (status, value, _) = admin.admin_command(command, 0, 0);
    (status, value)
}

fn set(admin: &mut Queue, feature: u8, nsid: u32, parameter: u32) -> (Status, u32) {
    let command = AdminCommand::SetFeatures { feature, save: false, parameter };
    let (status, value, _) = admin.admin_command(command, nsid, 0);
    (status, value)
}

#[test]
fn features_keep_what_was_set_and_forget_it_at_a_reset() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for (feature, value) in [
        (id::ARBITRATION, 0x0303_0302),
        (id::ERROR_RECOVERY, 10),
        (id::WRITE_ATOMICITY, 1),
        (id::ASYNC_EVENT_CONFIGURATION, 0x13f),
    ] {
        assert_eq!(set(&mut admin, feature, 0, value), (Status::SUCCESS, 0), "{feature:#x}");
        assert_eq!(get(&mut admin, feature, FeatureSelect::Current, 0), (Status::SUCCESS, value));
        assert_eq!(get(&mut admin, feature, FeatureSelect::Default, 0), (Status::SUCCESS, 0));
        assert_eq!(get(&mut admin, feature, FeatureSelect::Supported, 0), (Status::SUCCESS, 0b100));
    }
    assert_eq!(set(&mut admin, id::TEMPERATURE_THRESHOLD, 0, 350).0, Status::SUCCESS);
    assert_eq!(get(&mut admin, id::TEMPERATURE_THRESHOLD, FeatureSelect::Current, 0).1, 350);
    assert_eq!(
        get(&mut admin, id::TEMPERATURE_THRESHOLD, FeatureSelect::Current, 1 << 20).1,
        0xffff
    );
    admin.set_cc(ashlar_nvme::property::Configuration(0x0046_0000));
    while admin.property(0x1c) & 1 != 0 {}
    admin.enable();
    assert_eq!(get(&mut admin, id::ARBITRATION, FeatureSelect::Current, 0).1, 0);
}

#[test]
fn features_that_do_not_exist_are_refused() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for feature in [
        0x00,
        0x03,
        id::VOLATILE_WRITE_CACHE,
        id::INTERRUPT_COALESCING,
        id::INTERRUPT_VECTOR,
        0x0d,
        0xff,
    ] {
        let (status, _) = get(&mut admin, feature, FeatureSelect::Current, 0);
        assert_eq!(status, Status::INVALID_FIELD.dnr().more(), "{feature:#x}");
        assert_eq!(set(&mut admin, feature, 0, 0).0.code(), Status::INVALID_FIELD);
    }
}

#[test]
fn values_that_features_cannot_have_are_refused() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    assert_eq!(set(&mut admin, id::POWER_MANAGEMENT, 0, 1).0.code(), Status::INVALID_FIELD);
    assert_eq!(set(&mut admin, id::ERROR_RECOVERY, 0, 1 << 16).0.code(), Status::INVALID_FIELD);
    assert_eq!(
        set(&mut admin, id::ASYNC_EVENT_CONFIGURATION, 0, 1 << 31).0.code(),
        Status::INVALID_FIELD
    );
    assert_eq!(
        set(&mut admin, id::NUMBER_OF_QUEUES, 0, 0xffff_0000).0.code(),
        Status::INVALID_FIELD
    );
    assert_eq!(set(&mut admin, id::HOST_IDENTIFIER, 0, 1).0.code(), Status::COMMAND_SEQUENCE_ERROR);
    let one = set(&mut admin, id::ARBITRATION, 1, 0).0;
    assert_eq!(one.code(), Status::FEATURE_NOT_NAMESPACE_SPECIFIC);
    let save = AdminCommand::SetFeatures { feature: id::ARBITRATION, save: true, parameter: 0 };
    assert_eq!(admin.admin_command(save, 0, 0).0.code(), Status::FEATURE_NOT_SAVEABLE);
}

#[test]
fn queues_are_granted_up_to_the_limit_and_only_before_there_are_any() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let ask = |count| QueueCounts { submission: count, completion: count }.bits();
    assert_eq!(set(&mut admin, id::NUMBER_OF_QUEUES, 0, ask(1000)), (Status::SUCCESS, ask(64)));
    assert_eq!(set(&mut admin, id::NUMBER_OF_QUEUES, 0, ask(2)), (Status::SUCCESS, ask(2)));
    assert_eq!(get(&mut admin, id::NUMBER_OF_QUEUES, FeatureSelect::Current, 0).1, ask(2));
    let _io = Queue::io(rig.io, &admin, 2);
    assert_eq!(
        set(&mut admin, id::NUMBER_OF_QUEUES, 0, ask(4)).0.code(),
        Status::COMMAND_SEQUENCE_ERROR
    );
}

#[test]
fn the_keep_alive_timeout_can_be_read_and_changed() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    assert_eq!(get(&mut admin, id::KEEP_ALIVE_TIMER, FeatureSelect::Current, 0).1, 0);
    assert_eq!(set(&mut admin, id::KEEP_ALIVE_TIMER, 0, 15_000).0, Status::SUCCESS);
    assert_eq!(get(&mut admin, id::KEEP_ALIVE_TIMER, FeatureSelect::Current, 0).1, 15_000);
    assert_eq!(
        set(&mut admin, id::KEEP_ALIVE_TIMER, 0, u32::MAX).0.code(),
        Status::KEEP_ALIVE_INVALID
    );
}

#[test]
fn the_host_identifier_is_that_of_connect() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let command = |parameter| AdminCommand::GetFeatures {
        feature: id::HOST_IDENTIFIER,
        select: FeatureSelect::Current,
        parameter,
    };
    assert_eq!(admin.admin_command(command(1), 0, 16).2, crate::support::HOST_ID);
    assert_eq!(admin.admin_command(command(0), 0, 8).0.code(), Status::HOST_ID_INCONSISTENT);
}

#[test]
fn a_host_that_honours_retry_delays_is_given_them() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    rig.volume.fail_with(Some(ashlar_block::Cause::NotReady));
    assert_eq!(io.read(0, 1).0, Status::NAMESPACE_NOT_READY.more());
    let mut behavior = [0; 512];
    behavior[0] = 1;
    let command =
        AdminCommand::SetFeatures { feature: id::HOST_BEHAVIOR, save: false, parameter: 0 };
    let mut sqe = command.to_sqe(admin.cid(), 0);
    sqe.sgl = SglDescriptor::in_capsule(512);
    assert_eq!(admin.exchange(sqe, &behavior).0.status(), Status::SUCCESS);
    assert_eq!(io.read(0, 1).0.retry_delay_index(), 1);
    assert_eq!(controller(&mut admin).retry_delays_100ms[0].get(), 10);
}

#[test]
fn a_namespace_can_be_write_protected_and_is_told_to_be() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert_eq!(set(&mut admin, id::WRITE_PROTECTION, 1, 1).0, Status::SUCCESS);
    assert_eq!(namespace(&mut admin, 1).attributes, 1);
    let command = AdminCommand::GetFeatures {
        feature: id::WRITE_PROTECTION,
        select: FeatureSelect::Current,
        parameter: 0,
    };
    assert_eq!(admin.admin_command(command, 1, 0).1, 1);
    assert_eq!(io.write(0, &[1; 4096]), Status::WRITE_PROTECTED.dnr().more());
    assert_eq!(io.read(0, 1).0, Status::SUCCESS);
    assert_eq!(set(&mut admin, id::WRITE_PROTECTION, 1, 2).0.code(), Status::INVALID_FIELD);
    assert_eq!(set(&mut admin, id::WRITE_PROTECTION, 9, 1).0.code(), Status::INVALID_NAMESPACE);
    assert_eq!(set(&mut admin, id::WRITE_PROTECTION, 1, 0).0, Status::SUCCESS);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

// Each change is a checkpoint, and other hosts are told of it.
#[test]
fn write_protection_that_is_as_it_was_changes_nothing() {
    let rig = Rig::start();
    let (mut admin, _io) = rig.host();
    assert_eq!(set(&mut admin, id::WRITE_PROTECTION, 1, 1).0, Status::SUCCESS);
    let before = rig.door.generation();
    (0..10)
        .for_each(|_| assert_eq!(set(&mut admin, id::WRITE_PROTECTION, 1, 1).0, Status::SUCCESS));
    assert_eq!(rig.door.generation(), before);
    assert_eq!(set(&mut admin, id::WRITE_PROTECTION, 1, 0).0, Status::SUCCESS);
    assert_ne!(rig.door.generation(), before);
}

#[test]
fn discovery_controllers_take_their_own_features_alone() {
    let rig = Rig::start();
    let mut admin = Queue::admin(rig.discovery, DISCOVERY, HOST);
    assert_eq!(set(&mut admin, id::ASYNC_EVENT_CONFIGURATION, 0, 1 << 31).0, Status::SUCCESS);
    assert_eq!(set(&mut admin, id::KEEP_ALIVE_TIMER, 0, 5000).0, Status::SUCCESS);
    assert_eq!(set(&mut admin, id::NUMBER_OF_QUEUES, 0, 0).0.code(), Status::INVALID_FIELD);
}
