use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

/// Memory devices never wait.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a memory device does not wait"),
    }
}

#[test]
fn what_was_written_is_read_across_extents() {
    let device = MemoryDevice::new(4 << 20);
    let data = AlignedBuf::copy_of(&(0..8192u32).map(|n| n as u8).collect::<Vec<_>>()).freeze();
    now(device.write((1 << 20) - 4096, data.clone(), Durability::Stable)).expect("in range");
    let (result, buf) = now(device.read((1 << 20) - 4096, AlignedBuf::stale(8192)));
    result.expect("in range");
    assert_eq!(&buf[..], &data[..]);
}

#[test]
fn a_range_beyond_the_end_is_an_error() {
    let device = MemoryDevice::new(1 << 20);
    let (result, _) = now(device.read((1 << 20) - 4096, AlignedBuf::stale(8192)));
    assert!(matches!(result, Err(DeviceError::OutOfRange { .. })));
}

#[test]
fn discarded_extents_read_as_zeros() {
    let device = MemoryDevice::new(4 << 20);
    now(device.write(1 << 20, AlignedBuf::copy_of(&[1; 4096]).freeze(), Durability::Stable))
        .expect("in range");
    now(device.discard(0, 4 << 20)).expect("always");
    let (_, buf) = now(device.read(1 << 20, AlignedBuf::stale(4096)));
    assert!(buf.iter().all(|byte| *byte == 0));
}
