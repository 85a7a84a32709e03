//! A node over memory drives: pools and volumes through its control side, data through its doors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{
    Handles, TestDoor, at_door, drive, drives, faults_here, host, node, pool, volume, with_drive,
    with_faults,
};
use ashlar_block::{Cause, Device, DriveId, DriveUuid, Durability};
use ashlar_drive::Drive;
use ashlar_raid::Level;
use ashlar_reactor::{sleep, spawn_joined};
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{AddError, DriveCondition, NewPool, OpenPolicy, write_superblock};
use ashlar_volume::{
    AccessChange, AccessList, Dispatcher, Door, FormatRequest, KnownPool, NamespaceInfo, NewVolume,
    NodeError, Nsid, ReactorIndex, VolumeIo, read_superblock,
};
use bytes::Bytes;

const MIB: u64 = 1 << 20;
/// A drive that comes to a pool.
const NEW: &str = "mem:128MiB#new";

fn open(door: &TestDoor, nsid: u32) -> <TestDoor as Door>::Volume {
    door.with_namespace(&host("a"), Nsid(nsid), |_, volume| volume.clone())
        .expect("the host may see it")
}

fn pattern(bytes: usize, seed: u8) -> Bytes {
    (0..bytes)
        .map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ seed)
        .collect::<Vec<_>>()
        .into()
}

#[test]
fn data_written_at_any_sector_is_read_back() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        let small_sectors = NewVolume { lba_bytes: 512, ..volume("v0", 8 * MIB) };
        assert_eq!(
            node.create_volume("tank", node.table().claim_new().unwrap(), small_sectors)
                .await
                .unwrap()
                .nsid,
            Nsid(1)
        );
        at_door(&handles, 0, |door| async move {
            let volume = open(&door, 1);
            for (offset, bytes) in [
                (0, 4096),
                (512, 512),
                (4096 - 512, 1024),
                (8192 + 512, 3 * 4096),
                (512, 9000 / 512 * 512),
            ] {
                let data = pattern(bytes, bytes as u8);
                volume.write(offset, data.clone()).await.unwrap();
                assert_eq!(
                    volume.read(offset, bytes).await.unwrap()[..],
                    data[..],
                    "{bytes} bytes at {offset}"
                );
            }
            volume.flush().await.unwrap();
            volume.verify(0, 8 * MIB).await.unwrap();
        })
        .await;
    });
}

#[test]
fn zeroing_takes_exactly_what_was_asked_and_deallocating_whole_blocks_only() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.create_volume(
            "tank",
            node.table().claim_new().unwrap(),
            NewVolume { lba_bytes: 512, ..volume("v0", 8 * MIB) },
        )
        .await
        .unwrap();
        at_door(&handles, 0, |door| async move {
            let volume = open(&door, 1);
            let mut model = pattern(64 << 10, 1).to_vec();
            volume.write(0, model.clone().into()).await.unwrap();
            for (offset, bytes) in
                [(512u64, 512u64), (4096, 4096), (8192 + 512, 8192), (20480 - 512, 1024)]
            {
                volume.write_zeroes(offset, bytes).await.unwrap();
                model[offset as usize..(offset + bytes) as usize].fill(0);
                assert_eq!(
                    volume.read(0, model.len()).await.unwrap()[..],
                    model[..],
                    "{bytes} at {offset}"
                );
            }
            volume.deallocate(32768 - 512..40960 + 512).await.unwrap();
            model[32768..40960].fill(0);
            assert_eq!(volume.read(0, model.len()).await.unwrap()[..], model[..]);
        })
        .await;
    });
}

#[test]
fn writes_to_parts_of_one_block_at_once_lose_nothing() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.create_volume(
            "tank",
            node.table().claim_new().unwrap(),
            NewVolume { lba_bytes: 512, ..volume("v0", MIB) },
        )
        .await
        .unwrap();
        at_door(&handles, 0, |door| async move {
            let volume = open(&door, 1);
            let write = |sector: u64| {
                let volume = volume.clone();
                async move { volume.write(sector * 512, pattern(512, sector as u8)).await }
            };
            futures_util::future::try_join_all((0..64).map(write)).await.unwrap();
            for sector in 0..64u64 {
                let read = volume.read(sector * 512, 512).await.unwrap();
                assert_eq!(read[..], pattern(512, sector as u8)[..], "sector {sector}");
            }
        })
        .await;
    });
}

#[test]
fn of_compare_and_writes_at_once_one_wins() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v0", MIB))
            .await
            .unwrap();
        at_door(&handles, 0, |door| async move {
            let volume = open(&door, 1);
            let zeros = Bytes::from(vec![0; 4096]);
            let swap = |seed: u8| {
                let (volume, zeros) = (volume.clone(), zeros.clone());
                async move { volume.compare_and_write(4096, zeros, pattern(4096, seed)).await }
            };
            let results = futures_util::future::join_all((1..=8).map(swap)).await;
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
            let lost = results.into_iter().filter_map(Result::err);
            assert!(lost.map(|error| error.cause).all(|cause| cause == Cause::Miscompare));
        })
        .await;
    });
}

#[test]
fn a_volume_is_the_same_through_every_reactor() {
    let (node, handles) = node(2);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v0", 8 * MIB))
            .await
            .unwrap();
        at_door(&handles, 1, |door| async move {
            open(&door, 1).write(4096, pattern(8192, 5)).await.unwrap();
            let error = open(&door, 1).write(8 * MIB, pattern(4096, 5)).await.unwrap_err();
            assert_eq!(error.cause, Cause::OutOfRange);
        })
        .await;
        let read =
            at_door(
                &handles,
                0,
                |door| async move { open(&door, 1).read(4096, 8192).await.unwrap() },
            )
            .await;
        assert_eq!(read[..], pattern(8192, 5)[..]);
        at_door(&handles, 1, |door| async move {
            door.format(&host("a"), Nsid(1), FormatRequest { lba_bytes: 512 }).await.unwrap();
            assert_eq!(door.namespaces(&host("a"))[0].lba_bytes, 512);
            assert!(open(&door, 1).read(4096, 8192).await.unwrap().iter().all(|byte| *byte == 0));
            door.set_write_protected(&host("a"), Nsid(1), true).await.unwrap();
            let error = open(&door, 1).write(0, pattern(512, 1)).await.unwrap_err();
            assert_eq!(error.cause, Cause::WriteProtected);
        })
        .await;
    });
}

#[test]
fn atomicity_is_promised_for_what_is_written_as_one() {
    let (node, handles) = node(1);
    drive(async move {
        let small = NewPool { chunk_bytes: Some(64 << 10), ..pool("small") };
        node.create_pool(small, drives("a", 3), false).await.unwrap();
        node.create_pool(pool("tank"), drives("b", 3), false).await.unwrap();
        for (pool, sector) in [("small", 4096), ("tank", 4096), ("tank", 512)] {
            let nsid = node.table().claim_new().unwrap();
            let new = NewVolume { lba_bytes: sector, ..volume(&format!("v{sector}"), MIB) };
            node.create_volume(pool, nsid, new).await.unwrap();
        }
        let atomic = at_door(&handles, 0, |door| async move {
            let of = |info: &NamespaceInfo| info.atomic_write_bytes_max >> 10;
            door.namespaces(&host("a")).iter().map(of).collect::<Vec<_>>()
        });
        assert_eq!(atomic.await, [52, 256, 256]);
    });
}

#[test]
fn hosts_are_told_of_every_change_that_they_can_see() {
    let (node, handles) = node(2);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        let none = NewVolume { access: AccessList::Allow(Default::default()), ..volume("v0", MIB) };
        node.create_volume("tank", node.table().claim_new().unwrap(), none).await.unwrap();
        let door_of = |index| {
            let handles = handles.clone();
            async move {
                at_door(&handles, index, |door| async move {
                    (door.generation(), door.namespaces(&host("a")))
                })
                .await
            }
        };
        let (generation, namespaces) = door_of(1).await;
        assert!(namespaces.is_empty());
        let watcher = handles.clone();
        let changed = ashlar_reactor::spawn_joined(async move {
            at_door(&watcher, 1, move |door| async move {
                door.changed(generation).await;
                door.namespaces(&host("a")).len()
            })
            .await
        });
        node.change_access("tank", "v0".into(), AccessChange::Allow(vec![host("a")]))
            .await
            .unwrap();
        assert_eq!(changed.await, 1);
        node.resize_volume("tank", "v0".into(), 2 * MIB, false).await.unwrap();
        assert_eq!(door_of(0).await.1[0].size_bytes, 2 * MIB);
        node.delete_volume("tank", "v0".into()).await.unwrap();
        assert!(door_of(1).await.1.is_empty());
    });
}

#[test]
fn a_pool_that_comes_back_brings_the_same_volumes() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v0", 8 * MIB))
            .await
            .unwrap();
        let made = node
            .create_volume("tank", node.table().claim_new().unwrap(), volume("v1", 8 * MIB))
            .await
            .unwrap();
        at_door(&handles, 0, |door| async move {
            open(&door, 2).write(0, pattern(MIB as usize, 9)).await.unwrap()
        })
        .await;
        node.close_pool("tank").await.unwrap();
        assert!(node.reports().await.unwrap().is_empty());
        node.open_pool(None, drives("a", 3), OpenPolicy::Most, Vec::new()).await.unwrap();
        let report = node.report("tank").await.unwrap();
        let back = report.volumes.iter().find(|volume| volume.name == "v1").unwrap();
        assert_eq!(
            (back.uuid, back.nsid, back.size_bytes),
            (made.uuid, made.nsid, made.size_bytes)
        );
        let read = at_door(&handles, 0, |door| async move {
            open(&door, 2).read(0, MIB as usize).await.unwrap()
        })
        .await;
        assert_eq!(read[..], pattern(MIB as usize, 9)[..]);
    });
}

#[test]
fn a_pool_is_not_opened_under_the_name_of_one_that_is_closed() {
    let (node, _handles) = node(1);
    drive(async move {
        let uuid =
            node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap().uuid.to_string();
        node.close_pool("tank").await.unwrap();
        let closed = |uuid: &str| {
            vec![KnownPool { uuid: uuid.to_owned(), name: "tank".to_owned(), drives: Vec::new() }]
        };
        let other = closed("00000000-0000-0000-0000-000000000001");
        let refused = node.open_pool(None, drives("a", 3), OpenPolicy::Most, other).await;
        assert!(matches!(refused, Err(NodeError::PoolExists(name)) if name == "tank"));
        node.open_pool(None, drives("a", 3), OpenPolicy::Most, closed(&uuid))
            .await
            .expect("it is that pool");
    });
}

#[test]
fn an_imported_volume_whose_number_is_taken_gets_another_for_good() {
    let (node, _handles) = node(1);
    drive(async move {
        node.create_pool(pool("old"), drives("a", 3), false).await.unwrap();
        let old = node
            .create_volume("old", node.table().claim_new().unwrap(), volume("v0", MIB))
            .await
            .unwrap();
        node.close_pool("old").await.unwrap();
        node.create_pool(pool("new"), drives("b", 3), false).await.unwrap();
        node.create_volume("new", node.table().claim_new().unwrap(), volume("v0", MIB))
            .await
            .unwrap();
        node.open_pool(None, drives("a", 3), OpenPolicy::Most, Vec::new()).await.unwrap();
        let reports = node.reports().await.unwrap();
        let mut nsids: Vec<Nsid> =
            reports.iter().flat_map(|pool| pool.volumes.iter().map(|v| v.nsid)).collect();
        nsids.dedup();
        assert_eq!(nsids.len(), 2);
        assert!(
            reports.iter().flat_map(|pool| &pool.volumes).any(|volume| volume.uuid == old.uuid)
        );
    });
}

#[test]
fn a_drive_that_holds_something_is_not_taken_unasked() {
    let (node, _handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        let taken = node.create_pool(pool("other"), drives("a", 3), false).await.unwrap_err();
        assert!(matches!(taken, NodeError::DriveOfPool { .. }), "{taken}");
        node.close_pool("tank").await.unwrap();
        let held = node.create_pool(pool("other"), drives("a", 3), false).await.unwrap_err();
        assert!(held.to_string().contains("the Ashlar pool 'tank'"), "{held}");
        node.open_pool(None, drives("a", 3), OpenPolicy::Most, Vec::new()).await.unwrap();
        node.destroy_pool("tank").await.unwrap();
        // What is left is not a pool's label any more, but not nothing either.
        node.create_pool(pool("other"), drives("a", 3), true).await.unwrap();
    });
}

/// It was taken for one that was not added, and a file that had been made for it was removed.
#[test]
fn a_drive_that_may_be_a_member_is_kept_although_the_pool_cannot_be_written() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for spec in &drives("a", 2) {
            with_faults(&handles, spec, |faults| faults.fail_writes(0..u64::MAX, 5)).await;
        }
        let error = node.add_drive("tank", NEW.to_owned(), false).await.unwrap_err();
        let is_unsettled = matches!(
            error,
            NodeError::AddDrive { error: AddError::Unsettled { drive: DriveId(3), .. }, .. }
        );
        assert!(is_unsettled, "{error}");
        let shown = node.inspect_drive(NEW.to_owned()).await.unwrap_err();
        assert!(matches!(shown, NodeError::DriveOfPool { .. }), "{shown}");
    });
}

/// Gives a drive the label of another as one that the pool does not know.
async fn label_as_unknown(handles: &Handles, of: &str, spec: &str, drive: u16) {
    let known =
        with_drive(handles, of, |of| async move { read_superblock(&of).await.unwrap() }).await;
    let drive_uuid = DriveUuid([drive as u8; 16]);
    let unknown =
        Superblock { drive: DriveId(drive), drive_uuid, member_count: drive + 1, ..known };
    let label = move |drive| async move { write_superblock(&drive, &unknown).await.unwrap() };
    with_drive(handles, spec, label).await;
}

/// It was kept open and shown nowhere, and refused as one that was in use.
#[test]
fn a_drive_whose_adding_was_interrupted_is_let_go_of_and_can_be_added() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.close_pool("tank").await.unwrap();
        let more = [NEW, "mem:128MiB#other"];
        for (spec, drive) in more.into_iter().zip(3..) {
            label_as_unknown(&handles, &drives("a", 3)[0], spec, drive).await;
        }
        // Of a drive that has had a root, another line of the pool may know more.
        let root = |drive: Drive| async move {
            let written =
                drive.write(Superblock::root_offset(0), pattern(4096, 3), Durability::Stable);
            written.await.unwrap();
        };
        with_drive(&handles, more[1], root).await;
        let all = [drives("a", 3), more.map(str::to_owned).to_vec()].concat();
        let record = node.open_pool(None, all, OpenPolicy::Whole, Vec::new()).await.unwrap();
        assert_eq!(record.drives.len(), 3, "{record:?}");
        let notes = node.report("tank").await.unwrap().notes.join("; ");
        for spec in more {
            assert!(notes.contains(&format!("{spec} carries a label as drive")), "{notes}");
            node.inspect_drive(spec.to_owned()).await.unwrap();
        }
        node.add_drive("tank", NEW.to_owned(), false).await.unwrap();
        assert_eq!(node.report("tank").await.unwrap().drives.len(), 4);
        let held = node.add_drive("tank", more[1].to_owned(), false).await.unwrap_err();
        assert!(matches!(held, NodeError::Holds { .. }), "{held}");
    });
}

/// Waits until each of the drives, which hang, is asked for something at the same time.
async fn wait_until_held(handles: Handles, specs: Vec<String>) {
    let all_are_held = || {
        let specs = specs.clone();
        handles.call(ReactorIndex(0), move |_| async move {
            specs.iter().all(|spec| faults_here(spec).held() > 0)
        })
    };
    while !all_are_held().await.expect("it runs") {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Whatever else was to change in the daemon waited for them.
#[test]
fn drives_that_hang_are_not_waited_for_for_ever_whatever_they_are_wanted_for() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for spec in &drives("h", 7) {
            node.inspect_drive(spec.clone()).await.unwrap();
            with_faults(&handles, spec, |faults| faults.stall()).await;
        }
        let [shown, cleared, spare, added] =
            [3, 4, 5, 6].map(|index| drives("h", 7)[index].clone());
        let side_by_side = spawn_joined(wait_until_held(handles.clone(), drives("h", 7)));
        let told = futures_util::future::join5(
            async { node.create_pool(pool("other"), drives("h", 3), true).await.unwrap_err() },
            async { node.inspect_drive(shown).await.unwrap_err() },
            async { node.clear_label(cleared, true).await.unwrap_err() },
            async { node.prepare_spare("tank", spare, false).await.unwrap_err() },
            async { node.add_drive("tank", added, true).await.unwrap_err() },
        )
        .await;
        for error in [told.0, told.1, told.2, told.3, told.4] {
            let said = error.to_string();
            assert!(said.starts_with("mem:128MiB#h") && said.contains("answered"), "{said}");
        }
        assert!(side_by_side.is_finished(), "they are asked one after the other");
    });
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let (node, _handles) = node(1);
    drive(async move {
        let few = node.create_pool(pool("tank"), drives("a", 2), false).await.unwrap_err();
        assert!(few.to_string().contains("at least 3 drives"), "{few}");
        let twice = ["mem:128MiB#a", "mem:128MiB#a", "mem:128MiB#b"].map(str::to_owned).to_vec();
        let same = node.create_pool(pool("tank"), twice, false).await.unwrap_err();
        assert!(matches!(same, NodeError::SameDrive(..)), "{same}");
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for size in [0, 4095, u64::MAX - 4095] {
            let error = node
                .create_volume("tank", node.table().claim_new().unwrap(), volume("v0", size))
                .await
                .unwrap_err();
            assert!(matches!(error, NodeError::Size(_)), "{size}: {error}");
        }
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v0", 2 * MIB))
            .await
            .unwrap();
        let again = node
            .create_volume("tank", node.table().claim_new().unwrap(), volume("v0", MIB))
            .await
            .unwrap_err();
        assert!(matches!(again, NodeError::VolumeExists { .. }), "{again}");
        let shrunk = node.resize_volume("tank", "v0".into(), MIB, false).await.unwrap_err();
        assert!(matches!(shrunk, NodeError::Shrinks { .. }), "{shrunk}");
        assert_eq!(node.report("tank").await.unwrap().volumes[0].size_bytes, 2 * MIB);
        let missing = node.delete_volume("tank", "v1".into()).await.unwrap_err();
        assert!(matches!(missing, NodeError::NoSuchVolume { .. }), "{missing}");
        let missing = node.delete_volume("tonk", "v1".into()).await.unwrap_err();
        assert!(matches!(missing, NodeError::NoSuchPool(_)), "{missing}");
    });
}

/// Looks at the volume until that is done, and returns how often it did.
async fn look_until(door: TestDoor, done: Arc<AtomicBool>) -> u64 {
    let mut looks = 0;
    while !done.load(Ordering::Relaxed) {
        assert_eq!(door.namespaces(&host("a")).len(), 1, "it stays");
        let read = open(&door, 1).read(0, 4096).await;
        let cause = read.err().map(|error| error.cause);
        assert!(!matches!(cause, Some(Cause::NoSuchVolume)), "{cause:?}");
        looks += 1;
        sleep(Duration::from_micros(100)).await;
    }
    looks
}

/// They were told that it was gone, and took away the disk with all that was made of it.
#[test]
fn hosts_keep_the_namespaces_of_a_pool_that_is_opened_anew() {
    let (node, handles) = node(2);
    drive(async move {
        // No parity: nothing can restore what is lost, so that the pool waits for the drive however
        // slow the test is.
        let striped = NewPool { level: Level::RAID0, ..pool("tank") };
        node.create_pool(striped, drives("a", 4), false).await.unwrap();
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v0", 8 * MIB))
            .await
            .unwrap();
        let data = pattern(4096, 5);
        let written = data.clone();
        at_door(&handles, 0, |door| async move { open(&door, 1).write(0, written).await.unwrap() })
            .await;
        let refused =
            node.fail_drive("tank", "1".to_owned(), false).await.expect_err("none may be lost");
        assert!(refused.to_string().contains("--force"), "{refused}");
        let forced =
            node.fail_drive("tank", "1".to_owned(), true).await.expect("that was asked for");
        assert_eq!(
            forced.read_only().as_deref(),
            Some("1 drive is lost, and the level survives 0")
        );
        let DriveCondition::Failed(why) = &forced.drives[1].status.condition else {
            panic!("it is lost")
        };
        assert_eq!(why.to_string(), "given up by request");
        let done = Arc::new(AtomicBool::new(false));
        let watches: Vec<_> = (0..2)
            .map(|reactor| {
                let (handles, done) = (handles.clone(), done.clone());
                spawn_joined(async move {
                    at_door(&handles, reactor, |door| look_until(door, done)).await
                })
            })
            .collect();
        let refused =
            node.reopen_pool("tank", "0", drives("a", 4)).await.expect_err("that drive works");
        assert!(refused.to_string().contains("It has lost tank/drive-1"), "{refused}");
        node.reopen_pool("tank", "1", drives("a", 4)).await.expect("it has missed nothing");
        done.store(true, Ordering::Relaxed);
        for watch in watches {
            assert!(watch.await > 0);
        }
        for reactor in 0..2 {
            let data = data.clone();
            at_door(&handles, reactor, |door| async move {
                assert!(open(&door, 1).read(0, 4096).await.unwrap()[..] == data[..]);
            })
            .await;
        }
        let closed = node.close_pool("tank").await;
        closed.expect("it works");
        let gone =
            at_door(&handles, 0, |door| async move { door.namespaces(&host("a")).is_empty() })
                .await;
        assert!(gone);
    });
}
