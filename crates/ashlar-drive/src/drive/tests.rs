use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ashlar_block::ByteSize;
use ashlar_reactor::{Config, run, spawn_joined, yield_now};

use super::*;
use crate::foreign::probe_foreign;

const SIZE: u64 = 32 << 20;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn on_reactor<F: Future + 'static>(main: F) -> F::Output {
    run(Config::default(), main).expect("io_uring is available")
}

fn memory() -> Drive {
    Drive::open(
        &DriveSpec::Memory { size: ByteSize(SIZE), touched: false, model: None },
        OpenMode::Existing,
    )
    .unwrap()
}

fn file(path: &Path) -> Drive {
    let spec = DriveSpec::File {
        path: path.into(),
        size: Some(ByteSize(SIZE)),
        sparse: false,
        model: None,
    };
    Drive::open(&spec, OpenMode::CreateIfMissing).unwrap()
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    (dir, path)
}

fn data(byte: u8, bytes: usize) -> Bytes {
    AlignedBuf::copy_of(&vec![byte; bytes]).freeze()
}

async fn read(drive: &Drive, offset: u64, bytes: usize) -> Result<Vec<u8>, DeviceError> {
    let (result, buf) = drive.read(offset, AlignedBuf::stale(bytes)).await;
    result.map(|()| buf.to_vec())
}

/// What every kind of drive that keeps data has to do.
async fn keeps_the_contract(drive: Drive) {
    assert_eq!(drive.size_bytes(), SIZE);
    assert_eq!(probe_foreign(&drive).await, Ok(None), "new drives are blank");
    for (offset, durability) in [(0, Durability::Cached), (SIZE - 8192, Durability::Stable)] {
        drive.write(offset, data(1, 8192), durability).await.unwrap();
        drive.write(offset, data(2, 4096), durability).await.unwrap();
        let content = read(&drive, offset, 8192).await.unwrap();
        assert!(
            content[..4096].iter().all(|byte| *byte == 2)
                && content[4096..].iter().all(|byte| *byte == 1)
        );
    }
    drive.flush().await.unwrap();
    drive.discard(1 << 20, 2 << 20).await.unwrap();
    let beyond = drive.write(SIZE - 4096, data(3, 8192), Durability::Stable).await;
    assert_eq!(
        beyond,
        Err(DeviceError::OutOfRange { offset: SIZE - 4096, bytes: 8192, size_bytes: SIZE })
    );
    assert!(read(&drive, u64::MAX / 4096 * 4096, 4096).await.is_err());
    let stats = drive.stats();
    assert_eq!((stats.writes.ended, stats.writes.failed, stats.writes.bytes), (5, 1, 4 * 6144));
    assert_eq!((stats.flushes.ended, stats.discards.ended, stats.discards.bytes), (1, 1, 2 << 20));
    assert!(stats.reads.failed == 1 && stats.reads.bytes > 0);
}

#[test]
fn memory_keeps_the_contract() {
    on_reactor(async { keeps_the_contract(memory()).await });
}

#[test]
fn a_file_keeps_the_contract() {
    let (_dir, path) = scratch();
    on_reactor(async move { keeps_the_contract(file(&path)).await });
}

/// A block device made of a file, where this process may make one.
struct Loop(String);

impl Loop {
    fn over(path: &Path) -> Option<Self> {
        std::fs::File::create(path).unwrap().set_len(SIZE).unwrap();
        let made =
            Command::new("/usr/sbin/losetup").args(["--find", "--show"]).arg(path).output().ok()?;
        let name = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        made.status.success().then_some(Loop(name))
    }
}

impl Loop {
    /// What a device is to whoever has it open when it is pulled.
    fn lose_its_size(&self, path: &Path) {
        cut_off(path);
        let lost = Command::new("/usr/sbin/losetup").args(["--set-capacity", &self.0]).status();
        assert!(lost.unwrap().success());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_block_device_keeps_the_contract_and_is_open_once() {
    let (_dir, path) = scratch();
    let Some(device) = Loop::over(&path) else {
        eprintln!("no loop device can be made here: left out");
        return;
    };
    let name: PathBuf = device.0.clone().into();
    on_reactor(async move {
        let spec = DriveSpec::Block { path: name };
        let drive = Drive::open(&spec, OpenMode::Existing).unwrap();
        let info = drive.info().clone();
        assert_eq!(
            (info.kind, info.direct, info.logical_sector_bytes),
            (DriveKind::Block, true, 512)
        );
        let second = Drive::open(&spec, OpenMode::Existing).unwrap_err().to_string();
        assert!(second.contains(&format!("in use: process {}", std::process::id())), "{second}");
        keeps_the_contract(drive).await;
    });
}

#[test]
fn null_takes_everything_and_reads_as_zeros() {
    on_reactor(async {
        let spec = "null:1TiB".parse().unwrap();
        let drive = Drive::open(&spec, OpenMode::Existing).unwrap();
        drive.write(0, data(1, 4096), Durability::Stable).await.unwrap();
        assert_eq!(read(&drive, 0, 4096).await.unwrap(), [0; 4096]);
    });
}

#[test]
fn what_was_written_is_there_after_opening_again() {
    let (_dir, path) = scratch();
    on_reactor(async move {
        let drive = file(&path);
        drive.write(4096, data(7, 4096), Durability::Stable).await.unwrap();
        drop(drive);
        let again = loop {
            // The lock goes with the descriptor, which the ring closes.
            let spec =
                DriveSpec::File { path: path.clone(), size: None, sparse: false, model: None };
            match Drive::open(&spec, OpenMode::Existing) {
                Err(OpenError::InUse { .. }) => yield_now().await,
                opened => break opened.unwrap(),
            }
        };
        assert_eq!(read(&again, 4096, 4096).await.unwrap(), [7; 4096]);
    });
}

#[test]
fn data_that_direct_io_cannot_take_is_copied_and_counted() {
    let (_dir, path) = scratch();
    on_reactor(async move {
        let drive = file(&path);
        let unaligned = data(9, 8192).slice(64..64 + 4096);
        drive.write(0, unaligned, Durability::Stable).await.unwrap();
        drive.write(4096, data(9, 4096), Durability::Stable).await.unwrap();
        assert_eq!(read(&drive, 0, 8192).await.unwrap(), [9; 8192]);
        assert_eq!(drive.stats().copies, u64::from(drive.info().direct));
    });
}

#[test]
fn a_drive_can_be_attached_to_another_reactor() {
    let (_dir, path) = scratch();
    on_reactor(async move {
        let drive = file(&path);
        let seed = drive.seed().unwrap().expect("files can be shared");
        let elsewhere = thread::spawn(|| {
            on_reactor(async move {
                let drive = seed.attach();
                drive.write(0, data(4, 4096), Durability::Stable).await.unwrap();
            });
        });
        elsewhere.join().unwrap();
        assert_eq!(read(&drive, 0, 4096).await.unwrap(), [4; 4096]);
        assert_eq!(drive.stats().writes.ended, 1);
        assert!(memory().seed().unwrap().is_none());
    });
}

#[test]
fn a_file_that_was_removed_is_gone() {
    let (_dir, path) = scratch();
    on_reactor(async move {
        let drive = file(&path);
        assert_eq!(drive.check_present(), Ok(()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(drive.check_present(), Err(DeviceError::Gone));
        assert_eq!(read(&drive, 0, 4096).await, Err(DeviceError::Gone));
    });
}

fn cut_off(path: &Path) {
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
}

/// Writes were held until there would be room on it, and hosts were told that the pool is full.
#[test]
fn a_block_device_that_was_pulled_is_gone_and_not_full() {
    let (_dir, path) = scratch();
    let Some(device) = Loop::over(&path) else {
        eprintln!("no loop device can be made here: left out");
        return;
    };
    let name: PathBuf = device.0.clone().into();
    on_reactor(async move {
        let drive = Drive::open(&DriveSpec::Block { path: name }, OpenMode::Existing).unwrap();
        assert_eq!(drive.check_present(), Ok(()));
        device.lose_its_size(&path);
        let written =
            drive.write(4096, AlignedBuf::zeroed(4096).freeze(), Durability::Stable).await;
        assert_eq!(written, Err(DeviceError::Gone));
        assert_eq!(drive.check_present(), Err(DeviceError::Gone));
    });
}

#[test]
fn a_file_that_was_cut_off_is_gone_even_if_writes_have_made_it_longer_again() {
    let (_dir, path) = scratch();
    on_reactor(async move {
        let drive = file(&path);
        cut_off(&path);
        drive.write(4096, AlignedBuf::zeroed(4096).freeze(), Durability::Stable).await.unwrap();
        assert_eq!(drive.check_present(), Err(DeviceError::Gone));
    });
}

#[test]
fn a_file_that_was_cut_off_is_read_short_not_as_zeros() {
    let (_dir, path) = scratch();
    on_reactor(async move {
        let drive = file(&path);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(8192).unwrap();
        let error = read(&drive, 4096, 8192).await.unwrap_err();
        assert_eq!(
            error,
            DeviceError::Short { op: DeviceOp::Read, offset: 4096, asked: 8192, done: 4096 }
        );
    });
}

#[test]
fn after_a_failed_flush_the_drive_is_not_believed_again() {
    on_reactor(async {
        let faults = Faults::new();
        let drive = memory().with_faults(faults.clone());
        faults.fail_next_flush(EIO);
        assert!(matches!(drive.flush().await, Err(DeviceError::Os { errno: EIO, .. })));
        faults.heal();
        assert!(drive.is_gone());
        assert_eq!(drive.flush().await, Err(DeviceError::Gone));
        assert_eq!(read(&drive, 0, 4096).await, Err(DeviceError::Gone));
        assert_eq!(drive.write(0, data(1, 4096), Durability::Stable).await, Err(DeviceError::Gone));
    });
}

#[test]
fn a_failed_stable_write_may_be_repeated_unless_cached_data_is_at_stake() {
    let (_dir, path) = scratch();
    on_reactor(async move {
        let faults = Faults::new();
        let drive = file(&path).with_faults(faults.clone());
        faults.fail_next_write(0..4096, EIO);
        assert!(drive.write(0, data(1, 4096), Durability::Stable).await.is_err());
        drive.write(0, data(1, 4096), Durability::Stable).await.expect("nothing else was at stake");
        // A heartbeat of the pool, which comes all the time.
        drive.write(4096, data(1, 4096), Durability::Fleeting).await.unwrap();
        faults.fail_next_write(0..4096, EIO);
        assert!(drive.write(0, data(1, 4096), Durability::Stable).await.is_err());
        drive
            .write(0, data(1, 4096), Durability::Stable)
            .await
            .expect("nobody misses what was lost");
        drive.write(4096, data(1, 4096), Durability::Cached).await.unwrap();
        faults.fail_next_write(0..4096, EIO);
        assert!(drive.write(0, data(1, 4096), Durability::Stable).await.is_err());
        assert!(drive.is_gone(), "the cached write may be lost");
    });
}

#[test]
fn a_full_file_system_is_no_fault_of_the_drive() {
    on_reactor(async {
        let faults = Faults::new();
        let drive = memory().with_faults(faults.clone());
        faults.fail_next_write(0..SIZE, ENOSPC);
        let full = drive.write(8192, data(1, 4096), Durability::Stable).await;
        assert_eq!(full, Err(DeviceError::NoSpace { offset: 8192 }));
        drive.write(8192, data(1, 4096), Durability::Stable).await.unwrap();
    });
}

#[test]
fn faults_meet_only_what_touches_their_range() {
    on_reactor(async {
        let faults = Faults::new();
        let drive = memory().with_faults(faults.clone());
        faults.fail_reads(4096..8192, EIO);
        faults.fail_writes(8192..12_288, EIO);
        assert!(read(&drive, 0, 4096).await.is_ok());
        assert!(read(&drive, 0, 8192).await.is_err());
        assert!(read(&drive, 8192, 4096).await.is_ok());
        assert!(drive.write(4096, data(1, 4096), Durability::Stable).await.is_ok());
        assert!(drive.write(4096, data(1, 8192), Durability::Stable).await.is_err());
        faults.heal();
        assert!(read(&drive, 4096, 4096).await.is_ok());
    });
}

#[test]
fn a_stalled_drive_holds_its_operations_until_it_goes_on() {
    on_reactor(async {
        let faults = Faults::new();
        let drive = memory().with_faults(faults.clone());
        faults.stall();
        let reader = drive.clone();
        let task = spawn_joined(async move { read(&reader, 0, 4096).await });
        yield_now().await;
        yield_now().await;
        assert!(!task.is_finished());
        faults.resume();
        assert!(task.await.is_ok());
    });
}

#[test]
fn a_drive_that_vanishes_ends_what_it_held_and_stays_gone() {
    on_reactor(async {
        let faults = Faults::new();
        let drive = memory().with_faults(faults.clone());
        faults.stall();
        let reader = drive.clone();
        let task = spawn_joined(async move { read(&reader, 0, 4096).await });
        yield_now().await;
        faults.vanish();
        assert_eq!(task.await, Err(DeviceError::Gone));
        faults.heal();
        assert_eq!(
            read(&drive, 0, 4096).await,
            Err(DeviceError::Gone),
            "it has to be opened again"
        );
    });
}

/// Lets a process take the lock on the file and end, while its child, whose number is returned,
/// keeps it.
fn leave_lock_behind(path: &Path) -> rustix::process::Pid {
    let script = r#"exec 9<>"$1"; flock 9 || exit 1; sleep 1000 >/dev/null 2>&1 & echo $!"#;
    let output = Command::new("sh").args(["-c", script, "sh"]).arg(path).output().unwrap();
    let pid = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    rustix::process::Pid::from_raw(pid).unwrap()
}

#[test]
fn a_drive_that_is_waited_for_holds_nothing_else_up() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(SIZE).unwrap();
    let spec =
        DriveSpec::File { path: file.path().to_owned(), size: None, sparse: false, model: None };
    let holder = leave_lock_behind(file.path());
    let opened = on_reactor(async move {
        let opening = spawn_joined(async move {
            Drive::open_aside(&spec, OpenMode::Existing).await.map(|drive| drive.info().size_bytes)
        });
        // The reactor goes on, or the lock would not be let go of.
        yield_now().await;
        assert!(!opening.is_finished());
        rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
        opening.await
    });
    assert_eq!(opened.unwrap(), SIZE);
}

#[test]
fn a_modelled_drive_takes_its_time_and_says_that_it_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let profile = directory.path().join("slow.toml");
    let fields = [
        "rotational = true",
        "parallel = 1",
        "read-us = 3000",
        "write-us = 2000",
        "flush-us = 1000",
    ];
    let limits = [
        "read-mb-per-s = 100",
        "write-mb-per-s = 100",
        "write-cache-mib = 0",
        "random-write-cost = 1.0",
    ];
    std::fs::write(&profile, [fields.as_slice(), &limits].concat().join("\n")).unwrap();
    let file = directory.path().join("0.img");
    for kind in [format!("mem:{SIZE}"), format!("file:{},size={SIZE}", file.display())] {
        let spec: DriveSpec = format!("{kind},model={}", profile.display()).parse().unwrap();
        on_reactor(async move {
            let drive = Drive::open_aside(&spec, OpenMode::CreateIfMissing).await.unwrap();
            assert!(
                drive.info().model.as_ref().unwrap().starts_with("modelled "),
                "{:?}",
                drive.info()
            );
            assert_eq!(drive.info().rotational, Some(true));
            let began = now();
            drive.write(0, data(7, SECTOR_BYTES), Durability::Stable).await.unwrap();
            drive.flush().await.unwrap();
            assert_eq!(read(&drive, 0, SECTOR_BYTES).await.unwrap()[0], 7);
            assert!(now().since(began) >= Duration::from_millis(6), "{:?}", now().since(began));
        });
    }
    let missing: DriveSpec = "mem:64MiB,model=/nowhere/slow.toml".parse().unwrap();
    let error =
        on_reactor(async move { Drive::open_aside(&missing, OpenMode::Existing).await.map(drop) });
    assert!(error.unwrap_err().to_string().contains("cannot be modelled"));
}

#[test]
fn what_operations_take_is_counted_by_kind_over_all_clones() {
    use ashlar_block::latency::SizeClass;
    on_reactor(async {
        let (drive, began) = (memory(), now());
        drive.clone().write(0, data(1, 8192), Durability::Stable).await.unwrap();
        read(&drive, 0, SECTOR_BYTES).await.unwrap();
        drive.discard(0, 1 << 20).await.unwrap();
        drive.flush().await.unwrap();
        read(&drive, SIZE, SECTOR_BYTES).await.unwrap_err();
        let latencies = drive.meter().unwrap().latencies();
        let counted = |kind, size| latencies.of(kind, size).map_or(0, |all| all.took.count());
        assert_eq!(counted(OpKind::Write, SizeClass::UpTo16KiB), 1);
        assert_eq!(counted(OpKind::Read, SizeClass::UpTo4KiB), 2, "one that fails is one");
        assert_eq!(counted(OpKind::Trim, SizeClass::Larger), 1);
        assert_eq!(drive.meter().unwrap().in_flight(), 0);
        let longest = latencies.of_kind(OpKind::Write).took.max().unwrap();
        assert!(longest <= now().since(began));
    });
}

#[test]
fn an_operation_is_in_flight_until_it_has_ended_or_nobody_waits_for_it() {
    on_reactor(async {
        let faults = Faults::default();
        let drive = memory().with_faults(faults.clone());
        faults.stall();
        let reading = spawn_joined({
            let drive = drive.clone();
            async move { drop(read(&drive, 0, SECTOR_BYTES).await) }
        });
        while drive.meter().unwrap().in_flight() == 0 {
            yield_now().await;
        }
        reading.abort();
        while drive.meter().unwrap().in_flight() > 0 {
            yield_now().await;
        }
        assert_eq!(drive.meter().unwrap().latencies().of_kind(OpKind::Read).took.count(), 0);
    });
}
