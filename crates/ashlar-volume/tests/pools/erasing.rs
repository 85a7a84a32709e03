//! Volumes that are erased: by Format, by an operator, by Sanitize.

use std::rc::Rc;
use std::time::Duration;

use ashlar_block::latency::OpKind;
use ashlar_block::{AlignedBuf, Cause, Device, Nanos, PoolUuid, VolumeId};
use ashlar_reactor::sleep;
use ashlar_store::OpenPolicy;
use ashlar_volume::{
    AccessList, AtomicWrites, Dispatcher, Door, EraseOutcome, FormatRequest, NamespaceInfo,
    NewVolume, NodeError, Nsid, Place, ReactorIndex, ReactorPools, SanitizeState, VolumeChange,
    VolumeIo,
};

use crate::support::{
    Handles, MemoryBay, TestNode, at_door, data, drive, drives, host, node, open, pool, renamed,
    volume, with_drive,
};

const MIB: u64 = 1 << 20;

/// A pool with a volume of host a alone, which holds something and has counted a write.
async fn tank(node: &TestNode, handles: &Handles) -> PoolUuid {
    let made = node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
    add_volume(node, "v0").await;
    write_to(handles, 1).await;
    made.uuid
}

fn protected(is_protected: bool) -> VolumeChange {
    VolumeChange { write_protected: Some(is_protected), ..Default::default() }
}

fn told(atomic: AtomicWrites) -> VolumeChange {
    VolumeChange { atomic: Some(atomic), ..Default::default() }
}

async fn add_volume(node: &TestNode, name: &str) {
    let access = AccessList::Allow([host("a")].into());
    let new = NewVolume { access, ..volume(name, 8 * MIB) };
    node.create_volume("tank", node.table().claim_new().unwrap(), new).await.unwrap();
}

async fn write_to(handles: &Handles, nsid: u32) {
    at_door(handles, 0, move |door| async move {
        let volume = open(&door, nsid);
        let meter = volume.meter().expect("it counts").clone();
        meter.begin(OpKind::Write, 4096, Nanos(0)).ended(Nanos(1000));
        volume.write(0, data()).await.unwrap();
        volume.write(4 * MIB, data()).await.unwrap();
    })
    .await;
}

/// What is known of a namespace, and what its first block reads as.
async fn seen(handles: &Handles, nsid: u32) -> (NamespaceInfo, Result<Vec<u8>, Cause>) {
    at_door(handles, 0, move |door| async move {
        let read = open(&door, nsid).read(0, 4096).await;
        let info = door.with_namespace(&host("a"), Nsid(nsid), |info, _| info.clone());
        let read = read.map(|buf| buf.to_vec()).map_err(|error| error.cause);
        (info.expect("the host may see it"), read)
    })
    .await
}

async fn writes_counted(node: &TestNode) -> u64 {
    let report = node.report("tank").await.unwrap();
    let measured = node.volume_measured(report.volumes[0].uuid).await.unwrap();
    measured.ended.of_kind(OpKind::Write).took.count()
}

async fn reopen(node: &TestNode) {
    node.close_pool("tank").await.unwrap();
    node.open_pool(None, drives("a", 3), OpenPolicy::Whole, Vec::new()).await.unwrap();
}

#[test]
fn a_wipe_leaves_nothing_to_read_or_to_count_and_the_volume_stays() {
    let (node, handles) = node(1);
    drive(async move {
        tank(&node, &handles).await;
        assert_eq!(writes_counted(&node).await, 1);
        let wiped = node.wipe_volume("tank", "v0".to_owned()).await.unwrap();
        assert_eq!((wiped.usage.blocks, wiped.size_bytes), (0, 8 * MIB));
        assert_eq!(writes_counted(&node).await, 0);
        for _ in 0..2 {
            let (info, read) = seen(&handles, 1).await;
            assert_eq!(read, Ok(vec![0; 4096]));
            assert_eq!(info.sanitize, SanitizeState::Never);
            reopen(&node).await;
        }
        write_to(&handles, 1).await;
        assert_eq!(seen(&handles, 1).await.1, Ok(data().to_vec()));
    });
}

#[test]
fn a_format_that_erases_resets_what_was_counted_and_one_that_does_not_keeps_it() {
    let (node, handles) = node(1);
    drive(async move {
        tank(&node, &handles).await;
        for (is_erase, counted) in [(false, 1), (true, 0)] {
            at_door(&handles, 0, move |door| async move {
                let request = FormatRequest { lba_bytes: 512, is_erase };
                door.format(&host("a"), Nsid(1), request).await.unwrap();
            })
            .await;
            let (info, read) = seen(&handles, 1).await;
            assert_eq!((info.lba_bytes, read), (512, Ok(vec![0; 4096])));
            assert_eq!(writes_counted(&node).await, counted, "erase: {is_erase}");
        }
    });
}

#[test]
fn an_erase_that_a_stop_has_come_between_goes_on_at_the_next_start_and_nobody_reads_before() {
    let (node, handles) = node(1);
    drive(async move {
        let pool = tank(&node, &handles).await;
        let begin = move |home: Rc<ReactorPools<MemoryBay>>| async move {
            // The pool's only volume.
            let place = Place { home: ReactorIndex(0), pool, volume: VolumeId(0) };
            home.begin_sanitize(place, host("a")).await
        };
        handles.call(ReactorIndex(0), begin).await.expect("it runs").unwrap();
        let (info, read) = seen(&handles, 1).await;
        assert_eq!((info.sanitize, read), (SanitizeState::UnderWay, Err(Cause::Sanitizing)));
        reopen(&node).await;
        loop {
            let (info, read) = seen(&handles, 1).await;
            if let Ok(read) = read {
                assert_eq!((info.sanitize, read), (SanitizeState::Done, vec![0; 4096]));
                break;
            }
            assert_eq!(read, Err(Cause::Sanitizing), "what it held is never read");
            sleep(Duration::from_millis(1)).await;
        }
        reopen(&node).await;
        let (info, read) = seen(&handles, 1).await;
        assert_eq!((info.sanitize, read), (SanitizeState::Done, Ok(vec![0; 4096])));
    });
}

#[test]
fn a_sanitize_erases_all_that_a_host_sees_and_tells_how_far_it_is() {
    let (node, handles) = node(2);
    drive(async move {
        tank(&node, &handles).await;
        add_volume(&node, "v1").await;
        write_to(&handles, 2).await;
        at_door(&handles, 1, |door| async move {
            let mut told = Vec::new();
            door.sanitize(&host("a"), |done| told.push(done)).await.unwrap();
            assert_eq!(told, [0, u16::MAX / 2, u16::MAX]);
        })
        .await;
        for nsid in [1, 2] {
            let (info, read) = seen(&handles, nsid).await;
            assert_eq!((info.sanitize, read), (SanitizeState::Done, Ok(vec![0; 4096])));
        }
        assert_eq!(writes_counted(&node).await, 0);
    });
}

#[test]
fn where_one_volume_cannot_be_sanitized_none_is() {
    let (node, handles) = node(1);
    drive(async move {
        tank(&node, &handles).await;
        add_volume(&node, "v1").await;
        node.change_volume("tank", "v1".to_owned(), protected(true)).await.unwrap();
        at_door(&handles, 0, |door| async move {
            let mut told = 0;
            let refused = door.sanitize(&host("a"), |_| told += 1).await;
            assert_eq!(refused.map_err(|error| error.cause), Err(Cause::WriteProtected));
            assert_eq!(told, 0, "it has not begun");
        })
        .await;
        let (info, read) = seen(&handles, 1).await;
        assert_eq!((info.sanitize, read), (SanitizeState::Never, Ok(data().to_vec())));
        node.change_volume("tank", "v0".to_owned(), renamed("v2")).await.unwrap();
    });
}

#[test]
fn what_cannot_be_written_is_not_wiped() {
    let (node, handles) = node(1);
    drive(async move {
        tank(&node, &handles).await;
        let wipe = || node.wipe_volume("tank", "v0".to_owned());
        node.change_volume("tank", "v0".to_owned(), protected(true)).await.unwrap();
        assert!(matches!(wipe().await, Err(NodeError::WipesProtected { .. })));
        node.change_volume("tank", "v0".to_owned(), protected(false)).await.unwrap();
        let missing = node.wipe_volume("tank", "v7".to_owned()).await;
        assert!(matches!(missing, Err(NodeError::NoSuchVolume { .. })));
        // Two drives of three are lost: the pool only reads, or not even that.
        for name in ["drive-0", "drive-1"] {
            node.fail_drive("tank", name.to_owned(), true).await.unwrap();
        }
        assert!(matches!(wipe().await, Err(NodeError::ReadOnly { .. })));
        let atomic = node.change_volume("tank", "v0".to_owned(), told(AtomicWrites::Off)).await;
        assert!(matches!(atomic, Err(NodeError::ReadOnly { .. })), "{atomic:?}");
    });
}

#[test]
fn a_degraded_pool_wipes_and_changes_what_hosts_are_told() {
    let (node, handles) = node(1);
    drive(async move {
        tank(&node, &handles).await;
        node.fail_drive("tank", "drive-0".to_owned(), false).await.unwrap();
        let set =
            node.change_volume("tank", "v0".to_owned(), told(AtomicWrites::UpTo(16 << 10))).await;
        assert_eq!(set.unwrap().atomic_write_bytes, 16 << 10);
        node.wipe_volume("tank", "v0".to_owned()).await.unwrap();
        let (info, read) = seen(&handles, 1).await;
        assert_eq!((info.atomic_announced_bytes, read), (16 << 10, Ok(vec![0; 4096])));
    });
}

#[test]
fn hosts_are_never_told_more_than_the_pool_writes_as_one() {
    let (node, handles) = node(1);
    drive(async move {
        let small = ashlar_store::NewPool { chunk_bytes: Some(64 << 10), ..pool("tank") };
        node.create_pool(small, drives("a", 3), false).await.unwrap();
        add_volume(&node, "v0").await;
        let most = seen(&handles, 1).await.0.atomic_write_bytes_max;
        assert!(most < 64 << 10, "{most}");
        let above =
            node.change_volume("tank", "v0".to_owned(), told(AtomicWrites::UpTo(64 << 10))).await;
        let error = above.expect_err("it is not true").to_string();
        assert!(error.contains("64KiB was asked for"), "{error}");
        for (atomic, announced) in [
            (AtomicWrites::UpTo(4 << 10), 4096),
            (AtomicWrites::Off, 4096),
            (AtomicWrites::Most, most),
        ] {
            node.change_volume("tank", "v0".to_owned(), told(atomic)).await.unwrap();
            assert_eq!(seen(&handles, 1).await.0.atomic_announced_bytes, announced);
        }
    });
}

#[test]
fn the_drives_of_a_pool_that_is_destroyed_are_erased_from_end_to_end() {
    let (node, handles) = node(1);
    drive(async move {
        let uuid = tank(&node, &handles).await;
        assert_eq!(node.destroy_and_erase_pool("tank").await.unwrap(), uuid);
        let erases = loop {
            let erases = node.drive_erases().await.unwrap();
            if erases.iter().all(|erase| erase.outcome.is_some()) {
                break erases;
            }
            sleep(Duration::from_millis(1)).await;
        };
        assert_eq!(erases.len(), 3);
        for erase in &erases {
            assert_eq!((erase.pool_uuid, &erase.outcome), (uuid, &Some(EraseOutcome::Erased)));
            assert_eq!(Some(erase.done_bytes), erase.size_bytes);
            assert!(is_zero(&handles, &erase.spec).await, "{}", erase.spec);
        }
        node.create_pool(pool("new"), drives("a", 3), false).await.unwrap();
    });
}

/// Whether nothing is on a drive.
async fn is_zero(handles: &Handles, spec: &str) -> bool {
    const STEP: u64 = 1 << 20;
    with_drive(handles, spec, |drive| async move {
        for offset in (0..drive.size_bytes()).step_by(STEP as usize) {
            let (read, held) = drive.read(offset, AlignedBuf::stale(STEP as usize)).await;
            read.expect("it works");
            if held.iter().any(|byte| *byte != 0) {
                return false;
            }
        }
        true
    })
    .await
}
