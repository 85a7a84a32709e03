//! What happens in pools is put down when it does, for whoever looks later.

use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{DriveId, PoolUuid, VolumeId};
use ashlar_reactor::sleep;
use ashlar_store::{Failure, Loss, OpenPolicy};
use ashlar_volume::{
    AccessList, Dispatcher, Door, ErasedBy, FormatRequest, NewVolume, Nsid, Occurred, Occurrence,
    Place, ReactorIndex, ReactorPools, VolumeErase,
};

use crate::support::{
    Handles, MemoryBay, TestNode, at_door, drive, drives, host, node, pool, volume,
};

/// A pool with a volume of host a alone.
async fn tank(node: &TestNode) -> PoolUuid {
    let made = node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
    let access = AccessList::Allow([host("a")].into());
    let new = NewVolume { access, ..volume("v0", 8 << 20) };
    node.create_volume("tank", node.table().claim_new().unwrap(), new).await.unwrap();
    made.uuid
}

fn taken(node: &TestNode) -> Vec<Occurrence> {
    let taken = node.table().occurrences().take();
    assert_eq!(taken.lost, 0);
    taken.all
}

fn whats(node: &TestNode) -> Vec<Occurred> {
    taken(node).into_iter().map(|occurrence| occurrence.what).collect()
}

async fn format(handles: &Handles, is_erase: bool) -> bool {
    at_door(handles, 0, move |door| async move {
        let request = FormatRequest { lba_bytes: 512, is_erase };
        door.format(&host("a"), Nsid(1), request).await.is_ok()
    })
    .await
}

fn erased(by: ErasedBy) -> Occurred {
    let (pool, volume) = ("tank".to_owned(), "v0".parse().unwrap());
    Occurred::Erased(VolumeErase { pool, volume, by, failed: None })
}

/// The loss was never told of: by the next look all was well.
#[test]
fn a_drive_that_is_lost_and_back_at_once_was_lost_and_a_report_says_that_it_knows() {
    let (node, _) = node(1);
    drive(async move {
        let uuid = tank(&node).await;
        let before = node.report("tank").await.unwrap().occurrence;
        node.fail_drive("tank", "1".to_owned(), false).await.unwrap();
        let report = node.report("tank").await.unwrap();
        node.return_drive("tank", "1".to_owned(), None, |_| None).await.unwrap();
        let all = taken(&node);
        let [lost] = &all[..] else { panic!("{all:?}") };
        assert_eq!(lost.pool, uuid);
        assert_eq!(lost.what, Occurred::Lost(Loss::Drive(DriveId(1), Failure::ByRequest)));
        assert!(before < lost.number && lost.number <= report.occurrence, "{lost:?}");
    });
}

#[test]
fn a_pool_that_takes_no_writes_any_more_has_lost_them_and_one_that_is_closed_has_not() {
    let (node, _) = node(1);
    drive(async move {
        tank(&node).await;
        // As many as can be: what lived on the first may be elsewhere before the second is lost.
        for name in ["drive-0", "drive-1", "drive-2"] {
            let _ = node.fail_drive("tank", name.to_owned(), true).await;
        }
        let is_halt = |what: &Occurred| matches!(what, Occurred::Lost(Loss::Writes(_)));
        let mut all = whats(&node);
        while !all.iter().any(is_halt) {
            sleep(Duration::from_millis(1)).await;
            all.extend(whats(&node));
        }
        let lost = all.iter().filter(|what| !is_halt(what)).count();
        assert_eq!((lost, all.len()), (2, 3), "{all:?}");
        node.create_pool(pool("other"), drives("b", 3), false).await.unwrap();
        node.close_pool("other").await.unwrap();
        assert_eq!(whats(&node), []);
    });
}

#[test]
fn what_a_host_has_erased_names_it_and_the_volume() {
    let (node, handles) = node(2);
    drive(async move {
        tank(&node).await;
        for is_erase in [false, true] {
            assert!(format(&handles, is_erase).await);
            assert_eq!(whats(&node), [erased(ErasedBy::Format(host("a")))], "{is_erase}");
        }
        at_door(&handles, 1, |door| async move {
            door.sanitize(&host("a"), |_| ()).await.unwrap();
        })
        .await;
        assert_eq!(whats(&node), [erased(ErasedBy::Sanitize(host("a")))]);
        node.wipe_volume("tank", "v0".to_owned()).await.unwrap();
        assert_eq!(whats(&node), [], "who asks for it is told");
    });
}

#[test]
fn what_a_host_could_not_have_erased_says_why() {
    let (node, handles) = node(1);
    drive(async move {
        tank(&node).await;
        // As many as can be: what was on the first may be elsewhere before the second is lost.
        for name in ["drive-0", "drive-1", "drive-2"] {
            let _ = node.fail_drive("tank", name.to_owned(), true).await;
        }
        for is_erase in [false, true] {
            assert!(!format(&handles, is_erase).await);
            let mut all = whats(&node);
            all.retain(|what| matches!(what, Occurred::Erased(_)));
            let [Occurred::Erased(erase)] = &all[..] else { panic!("{all:?}") };
            assert_eq!(erase.by, ErasedBy::Format(host("a")));
            assert!(erase.failed.is_some(), "{erase:?}");
        }
    });
}

#[test]
fn an_erase_that_a_start_goes_on_with_is_told_as_its_own() {
    let (node, handles) = node(1);
    drive(async move {
        let pool = tank(&node).await;
        let begin = move |home: Rc<ReactorPools<MemoryBay>>| async move {
            // The pool's only volume.
            let place = Place { home: ReactorIndex(0), pool, volume: VolumeId(0) };
            home.begin_sanitize(place, host("a")).await
        };
        handles.call(ReactorIndex(0), begin).await.expect("it runs").unwrap();
        node.close_pool("tank").await.unwrap();
        assert_eq!(whats(&node), []);
        node.open_pool(None, drives("a", 3), OpenPolicy::Whole, Vec::new()).await.unwrap();
        let mut all = whats(&node);
        while all.is_empty() {
            sleep(Duration::from_millis(1)).await;
            all = whats(&node);
        }
        assert_eq!(all, [erased(ErasedBy::Start)]);
    });
}
