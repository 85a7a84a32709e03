//! A node over memory drives: pools and volumes through its control side, data through its doors.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{TestDoor, at_door, drive, drives, host, node, pool, resized, volume};
use ashlar_block::Cause;
use ashlar_raid::Level;
use ashlar_reactor::{sleep, spawn_joined};
use ashlar_store::{DriveCondition, NewPool, OpenPolicy};
use ashlar_volume::{
    AccessChange, AccessList, Door, FormatRequest, KnownPool, NamespaceInfo, NewVolume, NodeError,
    Nsid, Opening, VolumeIo,
};
use bytes::Bytes;

const MIB: u64 = 1 << 20;

fn open(door: &TestDoor, nsid: u32) -> <TestDoor as Door>::Volume {
    door.with_namespace(&host("a"), Nsid(nsid), |_, volume| volume.clone())
        .expect("the host may see it")
}

pub(crate) fn pattern(bytes: usize, seed: u8) -> Bytes {
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
            door.format(&host("a"), Nsid(1), FormatRequest { lba_bytes: 512, is_erase: false })
                .await
                .unwrap();
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
        node.change_volume("tank", "v0".into(), resized(2 * MIB)).await.unwrap();
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

/// A mark that a pool was being opened stayed until after it was seen to be open: a kill of the
/// daemon right then counted as an end by its opening.
#[test]
fn an_opening_tells_when_it_reads_and_when_the_pool_can_be_served() {
    let (node, _handles) = node(1);
    drive(async move {
        let uuid =
            node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap().uuid.to_string();
        node.close_pool("tank").await.unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = |what| {
            let told = told.clone();
            move || told.lock().unwrap().push(what)
        };
        let opening = Opening::telling(tell("reads"), tell("opened"));
        let known = [KnownPool { uuid, name: "tank".to_owned(), drives: Vec::new() }];
        node.open_known(&known, 0, Duration::ZERO, opening).await.unwrap();
        assert_eq!(*told.lock().unwrap(), ["reads", "opened"]);
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
        let shrunk = node.change_volume("tank", "v0".into(), resized(MIB)).await.unwrap_err();
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
