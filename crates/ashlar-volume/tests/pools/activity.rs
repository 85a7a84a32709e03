//! What hosts do is counted by each reactor, and added up for whoever asks.

use crate::support::{TestDoor, at_door, drive, drives, host, node, pool, renamed, volume};
use ashlar_block::Nanos;
use ashlar_block::latency::{OpKind, SizeClass};
use ashlar_volume::{Door, Nsid, Scope, VolumeIo};

const MIB: u64 = 1 << 20;

/// Counts a read of that many microseconds, as a front end does.
fn count_read(door: &TestDoor, nsid: u32, us: u64) {
    let count = |volume: &<TestDoor as Door>::Volume| {
        let meter = volume.meter().expect("volumes of a node count");
        meter.begin(OpKind::Read, 4096, Nanos(0)).ended(Nanos(us * 1000));
    };
    door.with_namespace(&host("a"), Nsid(nsid), |_, volume| count(volume)).expect("it is there");
}

#[test]
fn what_comes_by_several_reactors_adds_up_at_the_node_and_at_every_door() {
    let (node, handles) = node(2);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for name in ["v0", "v1"] {
            let nsid = node.table().claim_new().unwrap();
            node.create_volume("tank", nsid, volume(name, 8 * MIB)).await.unwrap();
        }
        for reactor in 0..2 {
            at_door(&handles, reactor, move |door| async move {
                count_read(&door, 1, 100);
                count_read(&door, 2, 300);
            })
            .await;
        }
        let pools = node.activity(Scope::default()).await.unwrap();
        let reads = |at: usize| pools[0].volumes[at].activity.ended[OpKind::Read as usize].clone();
        assert_eq!(
            (reads(0).took.count(), reads(0).took.total_us(), reads(0).bytes),
            (2, 200, 8192)
        );
        assert_eq!((reads(1).took.count(), reads(1).took.total_us()), (2, 600));
        let measured = node.volume_measured(pools[0].volumes[1].uuid).await.unwrap();
        let small = measured.ended.of(OpKind::Read, SizeClass::UpTo4KiB).expect("there were some");
        assert_eq!((measured.in_flight, small.took.count()), (0, 2));
        for (nsid, total_us) in [(None, 800), (Some(Nsid(2)), 600), (Some(Nsid(9)), 0)] {
            let took = at_door(&handles, 1, move |door| async move {
                door.latency(&host("a"), nsid, OpKind::Read).await
            });
            assert_eq!(took.await.total_us(), total_us, "{nsid:?}");
        }
    });
}

#[test]
fn a_volume_that_is_deleted_is_forgotten_and_one_that_is_renamed_is_not() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        for name in ["v0", "v1"] {
            let nsid = node.table().claim_new().unwrap();
            node.create_volume("tank", nsid, volume(name, 8 * MIB)).await.unwrap();
        }
        at_door(&handles, 0, |door| async move {
            count_read(&door, 1, 100);
            count_read(&door, 2, 100);
        })
        .await;
        let deleted = node.report("tank").await.unwrap().volumes[0].uuid;
        node.delete_volume("tank", "v0".to_owned()).await.unwrap();
        node.change_volume("tank", "v1".to_owned(), renamed("new")).await.unwrap();
        // By what looks at the namespaces next.
        at_door(&handles, 0, |door| async move { count_read(&door, 2, 100) }).await;
        let pools = node.activity(Scope::default()).await.unwrap();
        let volumes = &pools[0].volumes;
        assert_eq!((volumes.len(), volumes[0].name.as_str()), (1, "new"));
        assert_eq!(volumes[0].activity.ended[OpKind::Read as usize].took.count(), 2);
        let gone = node.volume_measured(deleted).await.unwrap();
        assert_eq!(gone.ended.of_kind(OpKind::Read).took.count(), 0);
    });
}

#[test]
fn drives_count_what_the_pool_does_with_them() {
    let (node, _handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        let none = node.activity(Scope::default()).await.unwrap();
        assert!(none[0].drives.is_empty(), "nobody has asked for them");
        let scope = Scope { drives: true, ..Scope::default() };
        let pools = node.activity(scope).await.unwrap();
        let names: Vec<&str> = pools[0].drives.iter().map(|drive| drive.name.as_str()).collect();
        assert_eq!(names, ["drive-0", "drive-1", "drive-2"]);
        let writes = |at: usize| pools[0].drives[at].activity.ended[OpKind::Write as usize].bytes;
        assert!((0..3).all(|at| writes(at) > 0), "labels and a root were written");
        let measured = node.drive_measured("tank", "drive-1".to_owned()).await.unwrap();
        assert!(measured.expect("it is open").ended.of_kind(OpKind::Write).took.count() > 0);
        assert!(node.drive_measured("tank", "drive-9".to_owned()).await.unwrap().is_none());
    });
}
