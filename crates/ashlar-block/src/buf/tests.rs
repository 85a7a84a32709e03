use super::*;

#[test]
fn buffers_are_aligned_and_zeroed_even_when_recycled() {
    for len in [1, 4096, 5000, 1 << 20, 3 << 20] {
        let mut buf = AlignedBuf::zeroed(len);
        buf.fill(0xff);
        drop(buf);
        let buf = AlignedBuf::zeroed(len);
        assert_eq!(buf.as_ptr() as usize % ALIGN_BYTES, 0);
        assert_eq!(buf.len(), len);
        assert!(buf.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn zeros_are_shared_until_they_are_changed() {
    let (mut first, second) = (AlignedBuf::zeroed(8192), AlignedBuf::zeroed(4096));
    assert_eq!(first.as_ptr(), second.as_ptr());
    assert!(first.is_untouched_zeros() && second.is_untouched_zeros());
    first[8191] = 1;
    assert!(!first.is_untouched_zeros());
    assert_ne!(first.as_ptr(), second.as_ptr());
    assert!(first[..8191].iter().chain(second.iter()).all(|byte| *byte == 0));
    assert_eq!(first[8191], 1);
}

#[test]
fn zeros_can_be_shortened_and_frozen() {
    let mut zeros = AlignedBuf::zeroed(8192);
    zeros.truncate(100);
    assert_eq!(&zeros.freeze()[..], &[0; 100]);
}

#[test]
fn a_dropped_buffer_is_used_again() {
    let first = AlignedBuf::stale(8192);
    let address = first.as_ptr();
    drop(first);
    assert_eq!(AlignedBuf::stale(8000).as_ptr(), address);
}

#[test]
fn frozen_bytes_outlive_their_thread() {
    let bytes =
        std::thread::spawn(|| AlignedBuf::copy_of(&[7; 100]).freeze()).join().expect("no panic");
    assert_eq!(&bytes[..], &[7; 100]);
}

#[test]
fn what_is_kept_can_be_freed() {
    AlignedBuf::free_kept();
    drop((AlignedBuf::stale(8192), AlignedBuf::stale(1 << 20)));
    assert_eq!(AlignedBuf::kept_bytes(), 8192 + (1 << 20));
    AlignedBuf::free_kept();
    assert_eq!(AlignedBuf::kept_bytes(), 0);
    let mut again = AlignedBuf::stale(8192);
    again.fill(1);
    drop(again);
    assert_eq!(AlignedBuf::kept_bytes(), 8192);
}
