use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ashlar_block::Cause;
use bytes::Bytes;

use super::{MemoryDoor, MemoryVolumeOptions};
use crate::door::{AccessList, Door, FormatRequest, HostNqn, Nsid, VolumeIo};

fn door() -> MemoryDoor {
    MemoryDoor::new("nqn.2014-08.org.example:memory")
}

fn host(name: &str) -> HostNqn {
    HostNqn::new(&format!("nqn.2014-08.org.example:{name}")).unwrap()
}

/// The output of a future that has nothing to wait for.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn what_is_written_reads_back_and_the_rest_is_zeros() {
    let volume = door().add(Nsid(1), MemoryVolumeOptions::new(1 << 20));
    now(volume.write(512, Bytes::from(vec![7; 8192]))).unwrap();
    let read = now(volume.read(0, 16384)).unwrap();
    assert!(read[..512].iter().all(|byte| *byte == 0));
    assert!(read[512..8704].iter().all(|byte| *byte == 7));
    assert!(read[8704..].iter().all(|byte| *byte == 0));
    now(volume.deallocate(0..4608)).unwrap();
    assert_eq!(now(volume.read(4096, 1024)).unwrap()[511..513], [0, 7]);
}

#[test]
fn compare_and_write_writes_only_over_what_is_expected() {
    let volume = door().add(Nsid(1), MemoryVolumeOptions::new(1 << 20));
    let (zeros, ones) = (Bytes::from(vec![0; 4096]), Bytes::from(vec![1; 4096]));
    now(volume.compare_and_write(0, zeros.clone(), ones.clone())).unwrap();
    let again = now(volume.compare_and_write(0, zeros, ones.clone())).unwrap_err();
    assert_eq!(again.cause, Cause::Miscompare);
    now(volume.compare(0, ones)).unwrap();
}

#[test]
fn a_volume_is_seen_only_by_hosts_that_it_allows() {
    let door = door();
    let access = AccessList::Allow([host("a")].into());
    door.add(Nsid(3), MemoryVolumeOptions { access, ..MemoryVolumeOptions::new(4096) });
    assert_eq!(door.namespaces(&host("a")).len(), 1);
    assert!(door.namespaces(&host("b")).is_empty());
    assert!(door.with_namespace(&host("b"), Nsid(3), |_, _| ()).is_none());
}

#[test]
fn every_change_is_told() {
    let door = door();
    let seen = door.generation();
    let mut changed = pin!(door.changed(seen));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(changed.as_mut().poll(&mut cx).is_pending());
    door.add(Nsid(1), MemoryVolumeOptions::new(4096));
    assert!(changed.as_mut().poll(&mut cx).is_ready());
    let before = door.namespaces(&host("a"))[0].clone();
    door.change(Nsid(1), |info| info.size_bytes = 8192).unwrap();
    let after = door.namespaces(&host("a"))[0].clone();
    assert!(after.generation > before.generation && after.uuid == before.uuid);
}

#[test]
fn a_format_empties_the_volume_and_sets_its_sector_size() {
    let door = door();
    let volume = door.add(Nsid(1), MemoryVolumeOptions::new(1 << 20));
    now(volume.write(0, Bytes::from(vec![7; 4096]))).unwrap();
    now(door.format(&host("a"), Nsid(1), FormatRequest { lba_bytes: 512, is_erase: false }))
        .unwrap();
    assert_eq!(door.namespaces(&host("a"))[0].lba_bytes, 512);
    assert_eq!(door.namespaces(&host("a"))[0].used_bytes, 0);
}

#[test]
fn a_held_operation_waits_and_goes_on() {
    let volume = door().add(Nsid(1), MemoryVolumeOptions::null(1 << 20));
    volume.hold(true);
    let mut write = pin!(volume.write(0, Bytes::from(vec![7; 4096])));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(write.as_mut().poll(&mut cx).is_pending());
    assert_eq!(volume.held_count(), 1);
    volume.hold(false);
    assert!(write.as_mut().poll(&mut cx).is_ready());
    assert_eq!(now(volume.read(0, 1)).unwrap()[0], 0, "a null volume keeps nothing");
}
