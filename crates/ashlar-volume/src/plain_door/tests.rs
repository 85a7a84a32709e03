use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ashlar_block::Cause;
use bytes::Bytes;

use super::{NullVolume, PlainDoor};
use crate::door::{Door, HostNqn, Nsid, VolumeIo};

/// The output of a future that has nothing to wait for.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn it_takes_every_write_and_reads_as_zeros() {
    now(NullVolume.write(0, Bytes::from(vec![7; 4096]))).unwrap();
    assert_eq!(&now(NullVolume.read(0, 8192)).unwrap()[..], &[0; 8192]);
    now(NullVolume.compare(0, Bytes::from(vec![0; 4096]))).unwrap();
    let other = now(NullVolume.compare(0, Bytes::from(vec![7; 4096]))).unwrap_err();
    assert_eq!(other.cause, Cause::Miscompare);
}

#[test]
fn it_has_one_namespace_of_the_size_that_was_asked_for() {
    let door = PlainDoor::new("nqn.2014-08.org.example:null", 1 << 40, NullVolume);
    let host = HostNqn::new("nqn.2014-08.org.example:host").unwrap();
    let size = |nsid| door.with_namespace(&host, nsid, |info, _| info.size_bytes);
    assert_eq!((size(Nsid(1)), size(Nsid(2))), (Some(1 << 40), None));
    assert_eq!(door.namespaces(&host).len(), 1);
}
