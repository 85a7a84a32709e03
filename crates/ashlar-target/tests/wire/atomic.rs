//! What hosts are told of the atomicity of writes, with sectors of 512 and of 4096 bytes.

use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::feature::{event_bits, id};
use ashlar_nvme::identify::{IdentifyNamespace, namespace_bits};
use ashlar_nvme::log::scaleflux::FEATURE_ATOMIC_WRITE;
use ashlar_nvme::sqe::NSID_ALL;
use ashlar_nvme::status::Status;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use crate::admin::{controller, namespace};
use crate::support::{Queue, Rig, VOLUME_BYTES};

/// What Linux and others compute from a field that counts blocks from 0, in bytes.
fn bytes(field: u16, lba_bytes: u32) -> u32 {
    (u32::from(field) + 1) * lba_bytes
}

/// A target with a namespace of each sector size.
fn rig() -> Rig {
    let rig = Rig::start();
    let small = MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(VOLUME_BYTES) };
    rig.door.add(Nsid(2), small);
    rig
}

fn announce(rig: &Rig, nsid: u32, bytes: u32) {
    rig.door.change(Nsid(nsid), |info| info.atomic_announced_bytes = bytes).unwrap();
}

fn feature_is_on(admin: &mut Queue, nsid: u32) -> bool {
    let get = AdminCommand::GetScaleFluxFeature { feature: FEATURE_ATOMIC_WRITE };
    let sqe = get.to_sqe(admin.cid(), nsid);
    let (cqe, _) = admin.exchange(sqe, &[]);
    assert_eq!(cqe.status(), Status::SUCCESS);
    cqe.result.get() == 1
}

fn set_feature(admin: &mut Queue, nsid: u32, value: u32) -> Status {
    let set = AdminCommand::SetScaleFluxFeature { feature: FEATURE_ATOMIC_WRITE, value };
    let sqe = set.to_sqe(admin.cid(), nsid);
    admin.exchange(sqe, &[]).0.status().code()
}

/// All that does not depend on what an operator has hosts told.
fn check_constants(data: &IdentifyNamespace, lba_bytes: u32) {
    let features = namespace_bits::ATOMICS | namespace_bits::PREFERENCES;
    assert_eq!(data.features & features, features, "the namespace's own fields count");
    assert_eq!(data.atomic_boundary_offset.get(), 0, "NABO");
    for boundary in [data.atomic_boundary_normal, data.atomic_boundary_power_fail] {
        assert_eq!(bytes(boundary.get(), lba_bytes), 1 << 20, "NABSN and NABSPF");
    }
    assert_eq!(bytes(data.atomic_compare_write.get(), lba_bytes), 256 << 10, "NACWU");
    for granularity in [
        data.write_granularity,
        data.write_alignment,
        data.deallocate_granularity,
        data.deallocate_alignment,
    ] {
        assert_eq!(bytes(granularity.get(), lba_bytes), 4096, "NPWG, NPWA, NPDG, NPDA");
    }
    let optimal = bytes(data.optimal_write_size.get(), lba_bytes);
    assert_eq!(optimal, 256 << 10, "NOWS: what the store writes as one");
    assert_eq!(u32::from(data.optimal_io_boundary.get()) * lba_bytes, 1 << 20, "NOIOB");
}

#[test]
fn the_atomic_fields_are_true_for_both_sector_sizes_and_whatever_is_announced() {
    let rig = rig();
    let mut admin = rig.admin();
    for announced in [256 << 10, 16 << 10, 4 << 10] {
        for (nsid, lba_bytes) in [(1, 4096), (2, 512)] {
            announce(&rig, nsid, announced);
            let data = namespace(&mut admin, nsid);
            assert_eq!(bytes(data.atomic_write_normal.get(), lba_bytes), announced, "NAWUN");
            assert_eq!(bytes(data.atomic_write_power_fail.get(), lba_bytes), announced, "NAWUPF");
            check_constants(&data, lba_bytes);
        }
    }
}

// Linux takes AWUPF where NAWUPF is 0: it must not say more than NAWUPF.
#[test]
fn what_is_off_is_one_block_by_the_namespace_and_by_the_controller() {
    let rig = rig();
    let mut admin = rig.admin();
    for (nsid, lba_bytes) in [(1, 4096), (2, 512)] {
        announce(&rig, nsid, lba_bytes);
        let data = namespace(&mut admin, nsid);
        assert_eq!((data.atomic_write_normal.get(), data.atomic_write_power_fail.get()), (0, 0));
        check_constants(&data, lba_bytes);
    }
    let data = controller(&mut admin);
    let fields =
        [data.atomic_write_normal, data.atomic_write_power_fail, data.atomic_compare_write];
    assert!(fields.iter().all(|field| field.get() == 0), "AWUN, AWUPF, ACWU: one block");
}

#[test]
fn the_controllers_atomic_fields_do_not_follow_the_volumes() {
    let rig = rig();
    let before = controller(&mut rig.admin());
    announce(&rig, 1, 4096);
    rig.door.remove(Nsid(2));
    let after = controller(&mut rig.admin());
    assert_eq!(before.atomic_write_power_fail, after.atomic_write_power_fail);
    assert_eq!(before.atomic_write_normal, after.atomic_write_normal);
}

#[test]
fn hosts_hear_of_another_atomic_write_size() {
    let rig = rig();
    let mut admin = rig.admin();
    let set = AdminCommand::SetFeatures {
        feature: id::ASYNC_EVENT_CONFIGURATION,
        save: false,
        parameter: event_bits::NAMESPACE_ATTRIBUTE,
    };
    assert_eq!(admin.admin_command(set, 0, 0).0, Status::SUCCESS);
    let request = AdminCommand::AsyncEventRequest.to_sqe(admin.cid(), 0);
    admin.send_command(request, &[]);
    announce(&rig, 2, 16 << 10);
    let (cqe, _) = admin.finish(&[]);
    let event = AsyncEvent::from_result(cqe.result.get() as u32);
    assert_eq!(event, Some(AsyncEvent::NAMESPACE_CHANGED));
}

#[test]
fn the_vendors_feature_tells_of_each_namespace_and_of_all() {
    let rig = rig();
    let mut admin = rig.admin();
    assert!([0, 1, 2, NSID_ALL].map(|nsid| feature_is_on(&mut admin, nsid)).iter().all(|on| *on));
    announce(&rig, 2, 512);
    assert!(feature_is_on(&mut admin, 1));
    assert!(![2, 0, NSID_ALL].map(|nsid| feature_is_on(&mut admin, nsid)).iter().any(|on| *on));
    assert_eq!(set_feature(&mut admin, 2, 0), Status::SUCCESS, "it is so already");
    assert_eq!(set_feature(&mut admin, 2, 1), Status::FEATURE_NOT_CHANGEABLE);
    assert_eq!(set_feature(&mut admin, 1, 1), Status::SUCCESS);
    assert_eq!(set_feature(&mut admin, 77, 1), Status::INVALID_NAMESPACE);
    let get = AdminCommand::GetScaleFluxFeature { feature: FEATURE_ATOMIC_WRITE };
    let sqe = get.to_sqe(admin.cid(), 77);
    let (cqe, _) = admin.exchange(sqe, &[]);
    assert_eq!(cqe.status().code(), Status::INVALID_NAMESPACE);
}
