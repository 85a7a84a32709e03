use std::future::{Future, poll_fn};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::Poll;

use super::*;
use crate::{Config, run, spawn_joined, yield_now};

fn scratch() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    (dir, path)
}

const WRITE_NEW: OpenOptions =
    OpenOptions { write: true, direct: false, create: true, exclusive: true };

/// Begins the operation and drops its future.
async fn begin_and_drop(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn what_is_written_is_read() {
    let (_dir, path) = scratch();
    run(Config::default(), async move {
        let file = File::open(&path, WRITE_NEW).unwrap();
        let data = AlignedBuf::copy_of(&[7; 8192]).freeze();
        assert_eq!(file.write_at(4096, data, WriteFlags { dsync: true }).await.unwrap(), 8192);
        file.sync_data().await.unwrap();
        let (result, buf) = file.read_at(4096, AlignedBuf::stale(8192)).await;
        assert_eq!(result.unwrap(), 8192);
        assert_eq!(*buf, [7; 8192]);
        let (result, _) = file.read_at(8192, AlignedBuf::stale(8192)).await;
        assert_eq!(result.unwrap(), 4096, "the file ends there");
    })
    .unwrap();
}

#[test]
fn errors_are_those_of_the_operating_system() {
    let (_dir, path) = scratch();
    run(Config::default(), async move {
        let missing = File::open(&path, OpenOptions::default()).err().unwrap();
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
        drop(File::open(&path, WRITE_NEW).unwrap());
        let exists = File::open(&path, WRITE_NEW).err().unwrap();
        assert_eq!(exists.raw_os_error(), Some(libc::EEXIST));
        let readable = File::open(&path, OpenOptions::default()).unwrap();
        let refused = readable.write_at(0, Bytes::from_static(b"x"), WriteFlags::default()).await;
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EBADF));
    })
    .unwrap();
}

#[test]
fn space_is_reserved_and_given_back() {
    let (_dir, path) = scratch();
    run(Config::default(), async move {
        let file = File::open(&path, WRITE_NEW).unwrap();
        file.fallocate(0, 0, 1 << 20).await.unwrap();
        assert_eq!(rustix::fs::fstat(&file).unwrap().st_size, 1 << 20);
        let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        file.fallocate(punch, 0, 1 << 20).await.unwrap();
        assert!(rustix::fs::fstat(&file).unwrap().st_blocks < (1 << 20) / 512);
    })
    .unwrap();
}

/// Far more operations than submission and completion entries: the queue fills and overflows, and
/// every operation still ends.
#[test]
fn more_operations_than_the_rings_hold_all_end() {
    let (_dir, path) = scratch();
    std::fs::write(&path, vec![5; 4096]).unwrap();
    let config = Config { ring_entries: 8, ..Config::default() };
    run(config, async move {
        let file = Rc::new(File::open(&path, OpenOptions::default()).unwrap());
        let reads: Vec<_> = (0..1000)
            .map(|_| {
                let file = file.clone();
                spawn_joined(async move { file.read_at(0, AlignedBuf::stale(4096)).await })
            })
            .collect();
        for read in reads {
            let (result, buf) = read.await;
            assert_eq!((result.unwrap(), buf[0]), (4096, 5));
        }
    })
    .unwrap();
}

/// A read from a socket, dropped while the kernel waits for data: when the data comes it must land
/// in the buffer that the read was given, and in no other that has been made since.
#[test]
fn a_dropped_read_keeps_its_memory_until_the_kernel_is_done() {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    run(Config::default(), async move {
        let file = File::from_owned_fd(reader.into());
        let mut lent = AlignedBuf::zeroed(4096);
        let address = lent.as_mut_ptr();
        begin_and_drop(file.read_at(0, lent)).await;
        yield_now().await;
        let later: Vec<_> = (0..8).map(|_| AlignedBuf::zeroed(4096)).collect();
        assert!(
            later.iter().all(|buf| buf.as_ptr() != address.cast_const()),
            "the memory was given away"
        );
        writer.write_all(&[1; 4096]).unwrap();
        // The dropped read takes the first page, in order before this one.
        writer.write_all(&[2; 4096]).unwrap();
        let (result, buf) = file.read_at(0, AlignedBuf::zeroed(4096)).await;
        assert_eq!((result.unwrap(), buf[0]), (4096, 2));
        assert!(later.iter().all(|buf| buf.iter().all(|byte| *byte == 0)));
        let mut reused: Vec<AlignedBuf> = (0..8).map(|_| AlignedBuf::stale(4096)).collect();
        assert!(reused.iter_mut().any(|buf| buf.as_mut_ptr() == address), "the memory came back");
    })
    .unwrap();
}

#[test]
fn what_never_ends_by_itself_is_cancelled_at_the_end() {
    let (reader, _writer) = UnixStream::pair().unwrap();
    run(Config::default(), async move {
        let file = File::from_owned_fd(reader.into());
        begin_and_drop(file.read_at(0, AlignedBuf::zeroed(4096))).await;
        yield_now().await;
    })
    .unwrap();
}

/// The file is dropped while its write is only queued: the number must not be free for the next
/// file before the kernel has taken the write.
#[test]
fn a_file_dropped_behind_its_write_still_gets_it() {
    let (_dir, path) = scratch();
    let other = path.with_extension("other");
    run(Config::default(), {
        let (path, other) = (path.clone(), other.clone());
        async move {
            let file = File::open(&path, WRITE_NEW).unwrap();
            begin_and_drop(file.write_at(0, Bytes::from_static(b"mine"), WriteFlags::default()))
                .await;
            drop(file);
            let _other = File::open(&other, WRITE_NEW).unwrap();
            while std::fs::read(&path).unwrap().is_empty() {
                yield_now().await;
            }
        }
    })
    .unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    assert_eq!(std::fs::read(&other).unwrap(), b"");
}

#[test]
fn files_outlive_their_reactor_harmlessly() {
    let (_dir, path) = scratch();
    let file =
        run(Config::default(), async move { File::open(&path, WRITE_NEW).unwrap() }).unwrap();
    let read =
        run(Config::default(), async move { file.read_at(0, AlignedBuf::zeroed(512)).await });
    let (result, buf) = read.unwrap();
    assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::ECANCELED));
    assert_eq!(buf.len(), 512);
}
