//! A volume that a host formats: everybody else is refused meanwhile, and no other volume waits.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use ashlar_block::{Cause, IoError, PoolUuid};
use ashlar_reactor::{sleep, spawn_joined};
use ashlar_volume::{
    AccessChange, AccessList, Dispatcher, Door, FormatRequest, NodeError, Nsid, ReactorIndex,
    ReactorPools, VolumeIo,
};

use crate::support::{
    Handles, MemoryBay, at_door, data, drive, drives, faults_here, host, node, open, pool, renamed,
    resized, volume, with_faults,
};

const MIB: u64 = 1 << 20;

/// Has a format of namespace 1 begun, which comes to no end before the drives go on.
async fn begin_format(handles: &Handles) -> Arc<AtomicBool> {
    let is_done = Arc::new(AtomicBool::new(false));
    let done = is_done.clone();
    at_door(handles, 0, |door| async move {
        open(&door, 1).write(0, data()).await.unwrap();
        drives("a", 3).iter().for_each(|spec| faults_here(spec).stall());
        let format = async move {
            door.format(&host("a"), Nsid(1), FormatRequest { lba_bytes: 512, is_erase: false })
                .await
                .unwrap();
            done.store(true, Ordering::Release);
        };
        let mut format = Box::pin(format);
        assert!(poll_once(format.as_mut()).await.is_pending());
        drop(spawn_joined(format));
    })
    .await;
    is_done
}

/// Has host b alone allowed to see volume v0 from now on, which comes to no end before the drives
/// go on either.
async fn begin_denial(handles: &Handles, pool: PoolUuid) -> Arc<AtomicBool> {
    let is_done = Arc::new(AtomicBool::new(false));
    let done = is_done.clone();
    let deny = move |home: Rc<ReactorPools<MemoryBay>>| async move {
        let deny = async move {
            let change = AccessChange::AllowOnly(vec![host("b")]);
            home.change_access(pool, "v0".to_owned(), change).await.unwrap();
            done.store(true, Ordering::Release);
        };
        let mut deny = Box::pin(deny);
        assert!(poll_once(deny.as_mut()).await.is_pending());
        drop(spawn_joined(deny));
    };
    handles.call(ReactorIndex(0), deny).await.expect("it runs");
    is_done
}

async fn poll_once<T>(mut work: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    poll_fn(move |cx| Poll::Ready(work.as_mut().poll(cx))).await
}

fn is_formatting<T>(done: Result<T, NodeError>) -> bool {
    matches!(done, Err(NodeError::Io(IoError { cause: Cause::Formatting, .. })))
}

/// The drives answer nothing meanwhile: what waited for the format, or for its pool, would wait for
/// ever.
#[test]
fn commands_and_changes_for_a_volume_that_is_being_formatted_are_refused_at_once() {
    let (node, handles) = node(1);
    drive(async move {
        node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v0", 8 * MIB))
            .await
            .unwrap();
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v1", 8 * MIB))
            .await
            .unwrap();
        let is_done = begin_format(&handles).await;
        at_door(&handles, 0, |door| async move {
            let (formatted, host) = (open(&door, 1), host("a"));
            let request = FormatRequest { lba_bytes: 4096, is_erase: false };
            for refused in [
                formatted.read(0, 4096).await.map(drop),
                formatted.write(0, data()).await,
                formatted.deallocate(0..4096).await,
                formatted.flush().await,
                door.format(&host, Nsid(1), request).await,
                door.set_write_protected(&host, Nsid(1), true).await,
            ] {
                assert_eq!(refused.map_err(|error| error.cause), Err(Cause::Formatting));
            }
            open(&door, 2).flush().await.expect("nothing is asked of the other one");
            assert_eq!(open(&door, 2).read(0, 4096).await.unwrap()[..], [0; 4096]);
        })
        .await;
        let name = || "v0".to_owned();
        assert!(is_formatting(node.change_volume("tank", name(), resized(16 * MIB)).await));
        assert!(is_formatting(node.change_volume("tank", name(), renamed("v2")).await));
        assert!(is_formatting(node.delete_volume("tank", name()).await));
        for spec in drives("a", 3) {
            with_faults(&handles, &spec, |faults| faults.resume()).await;
        }
        while !is_done.load(Ordering::Acquire) {
            sleep(Duration::from_millis(1)).await;
        }
        let read =
            at_door(&handles, 0, |door| async move { open(&door, 1).read(0, 4096).await.unwrap() });
        assert_eq!(read.await[..], [0; 4096]);
        node.change_volume("tank", name(), resized(16 * MIB)).await.unwrap();
        node.delete_volume("tank", name()).await.unwrap();
    });
}

#[test]
fn a_host_that_formats_is_denied_the_volume_meanwhile_and_stays_denied() {
    let (node, handles) = node(1);
    drive(async move {
        let made = node.create_pool(pool("tank"), drives("a", 3), false).await.unwrap();
        node.create_volume("tank", node.table().claim_new().unwrap(), volume("v0", 8 * MIB))
            .await
            .unwrap();
        let is_done = begin_format(&handles).await;
        let is_denied = begin_denial(&handles, made.uuid).await;
        assert!(!is_done.load(Ordering::Acquire), "the drives answer nothing");
        for spec in drives("a", 3) {
            with_faults(&handles, &spec, |faults| faults.resume()).await;
        }
        while !is_denied.load(Ordering::Acquire) || !is_done.load(Ordering::Acquire) {
            sleep(Duration::from_millis(1)).await;
        }
        at_door(&handles, 0, |door| async move {
            let again = door
                .format(&host("a"), Nsid(1), FormatRequest { lba_bytes: 4096, is_erase: false })
                .await;
            assert_eq!(again.map_err(|error| error.cause), Err(Cause::NoSuchVolume));
        })
        .await;
        let report = node.report("tank").await.unwrap();
        let formatted = &report.volumes[0];
        assert_eq!(
            (&formatted.access, formatted.lba_bytes),
            (&AccessList::Allow([host("b")].into()), 512)
        );
    });
}
