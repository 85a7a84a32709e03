//! Memory that commands take in their volume, weighed: whatever hosts send at once, it stays within
//! the budget, and every command is answered.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use ashlar_block::{AlignedBuf, Cause, IoError, Notify, wait_for};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::Digests;
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Fuse, Sqe};
use ashlar_nvme::status::Status;
use ashlar_reactor::{Config, mailbox, run};
use ashlar_target::nvme_tcp::{Limits, Portal, PortalKind, Target, TargetConfig};
use ashlar_volume::memory_door::{MemoryDoor, MemoryVolumeOptions};
use ashlar_volume::{
    Door, FormatRequest, HealthFigures, HostNqn, NamespaceInfo, Nsid, SubsystemInfo, VolumeIo,
};
use bytes::Bytes;

use crate::support::{Queue, SUBSYSTEM, eventually};

const BLOCK: u64 = 4096;
const SECTOR: u32 = 512;
const BUDGET: u64 = 8 << 20;
const TRANSFER: u32 = 1 << 20;
const ATOMIC: u32 = 256 << 10;
const QUEUES: u16 = 8;
/// Of a queue of 32 entries: a multiple of what `everything` is.
const COMMANDS: u16 = 28;

/// What all commands have in memory.
#[derive(Default)]
struct Scale {
    now: AtomicU64,
    most: AtomicU64,
    /// Commands may go on.
    released: AtomicU64,
    changed: Notify,
}

impl Scale {
    fn is_released(&self) -> Option<()> {
        (self.released.load(Ordering::Acquire) > 0).then_some(())
    }

    fn release(&self) {
        self.released.store(1, Ordering::Release);
        self.changed.notify_waiters();
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::Acquire)
    }
}

/// Memory on the scale, until dropped.
struct Weight(Arc<Scale>, u64);

impl Weight {
    fn put(scale: &Arc<Scale>, bytes: u64) -> Self {
        let now = scale.now.fetch_add(bytes, Ordering::AcqRel) + bytes;
        scale.most.fetch_max(now, Ordering::AcqRel);
        Weight(scale.clone(), bytes)
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.0.now.fetch_sub(self.1, Ordering::AcqRel);
    }
}

fn buffer(bytes: u64) -> u64 {
    AlignedBuf::taken_bytes(bytes as usize) as u64
}

/// A buffer of the blocks that the range touches, whose content `lead` bytes precede.
fn blocks(offset: u64, bytes: u64) -> u64 {
    buffer((offset + bytes).next_multiple_of(BLOCK) - offset / BLOCK * BLOCK)
}

/// A volume that has in memory what a real one may have, until it is released: what it returns is
/// zeros.
#[derive(Clone)]
struct WeighedVolume(Arc<Scale>);

impl WeighedVolume {
    async fn have(&self, bytes: u64) {
        let _weight = Weight::put(&self.0, bytes);
        wait_for(&self.0.changed, || self.0.is_released()).await;
    }
}

impl VolumeIo for WeighedVolume {
    async fn read(&self, offset: u64, bytes: usize) -> Result<AlignedBuf, IoError> {
        self.have(blocks(offset, bytes as u64)).await;
        Ok(AlignedBuf::zeroed(bytes))
    }

    async fn write(&self, offset: u64, data: Bytes) -> Result<(), IoError> {
        let bytes = data.len() as u64;
        let is_whole = offset.is_multiple_of(BLOCK) && bytes.is_multiple_of(BLOCK);
        let changed = if is_whole { 0 } else { blocks(offset, bytes) + BLOCK };
        self.have(buffer(bytes) + changed).await;
        Ok(())
    }

    async fn write_zeroes(&self, _: u64, _: u64) -> Result<(), IoError> {
        self.have(BLOCK).await;
        Ok(())
    }

    async fn deallocate(&self, _: Range<u64>) -> Result<(), IoError> {
        Ok(())
    }

    async fn compare(&self, offset: u64, expected: Bytes) -> Result<(), IoError> {
        self.have(buffer(expected.len() as u64) + blocks(offset, expected.len() as u64)).await;
        Ok(())
    }

    async fn compare_and_write(
        &self,
        offset: u64,
        expected: Bytes,
        data: Bytes,
    ) -> Result<(), IoError> {
        self.have(2 * buffer(data.len() as u64) + blocks(offset, expected.len() as u64)).await;
        Ok(())
    }

    async fn verify(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        self.have(blocks(offset, bytes).min(1 << 20)).await;
        Ok(())
    }

    async fn flush(&self) -> Result<(), IoError> {
        Ok(())
    }
}

/// A door onto that volume, as namespace 1 with sectors of 512 bytes.
#[derive(Clone)]
struct WeighedDoor {
    volume: WeighedVolume,
    /// What the namespace is like.
    like: MemoryDoor,
}

impl WeighedDoor {
    fn new(scale: Arc<Scale>) -> Self {
        let like = MemoryDoor::new(SUBSYSTEM);
        like.add(
            Nsid(1),
            MemoryVolumeOptions { lba_bytes: SECTOR, ..MemoryVolumeOptions::new(64 << 20) },
        );
        like.change(Nsid(1), |info| {
            info.lba_bytes = SECTOR;
            info.atomic_write_bytes_max = ATOMIC;
        })
        .unwrap();
        WeighedDoor { volume: WeighedVolume(scale), like }
    }
}

impl Door for WeighedDoor {
    type Volume = WeighedVolume;

    fn subsystem(&self) -> SubsystemInfo {
        self.like.subsystem()
    }

    fn generation(&self) -> u64 {
        self.like.generation()
    }

    fn changed(&self, seen: u64) -> impl Future<Output = ()> {
        self.like.changed(seen)
    }

    fn namespaces(&self, host: &HostNqn) -> Vec<NamespaceInfo> {
        self.like.namespaces(host)
    }

    fn with_namespace<T>(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        with: impl FnOnce(&NamespaceInfo, &WeighedVolume) -> T,
    ) -> Option<T> {
        self.like.with_namespace(host, nsid, |info, _| with(info, &self.volume))
    }

    fn health(&self, host: &HostNqn) -> HealthFigures {
        self.like.health(host)
    }

    async fn format(&self, _: &HostNqn, _: Nsid, _: FormatRequest) -> Result<(), IoError> {
        Err(Cause::WriteProtected.into())
    }

    async fn set_write_protected(&self, _: &HostNqn, _: Nsid, _: bool) -> Result<(), IoError> {
        Err(Cause::WriteProtected.into())
    }
}

/// Serves the volume while `with` runs.
fn served(scale: &Arc<Scale>, with: impl FnOnce(SocketAddr)) {
    let limits = Limits {
        transfer_bytes_max: TRANSFER,
        connection_bytes_max: 4 << 20,
        host_bytes_max: BUDGET,
        reactor_bytes_max: BUDGET,
        ..Limits::default()
    };
    let portals = vec![Portal { address: ([127, 0, 0, 1], 0).into(), kind: PortalKind::Io }];
    let target = Target::new(TargetConfig { portals, limits, several_reactors: false }).unwrap();
    let (stop, mut stopped) = mailbox::channel::<()>(1);
    let (tell, told) = mpsc::channel();
    let scale = scale.clone();
    let thread = std::thread::spawn(move || {
        run(Config::default(), async move {
            let service = target.serve(WeighedDoor::new(scale)).unwrap();
            tell.send(service.local_addrs()[0]).unwrap();
            stopped.recv().await;
            service.shutdown().await;
        })
        .unwrap();
    });
    with(told.recv().unwrap());
    drop(stop);
    thread.join().unwrap();
}

/// What is sent by a queue at a time: each has one answer.
type Commands = fn(&mut Queue) -> Vec<Sqe>;

/// Blocks from the second sector on: neither the first nor the last 4 KiB are touched whole.
fn range(bytes: u32) -> BlockRange {
    BlockRange { start: 1, count: bytes / SECTOR }
}

fn sqe(queue: &mut Queue, command: IoCommand, bytes: u32) -> Sqe {
    let mut sqe = command.to_sqe(queue.cid(), 1);
    sqe.sgl = SglDescriptor::transport(bytes);
    sqe
}

fn reads(queue: &mut Queue) -> Vec<Sqe> {
    vec![sqe(queue, IoCommand::Read(range(TRANSFER)), TRANSFER)]
}

fn writes(queue: &mut Queue) -> Vec<Sqe> {
    vec![sqe(
        queue,
        IoCommand::Write { range: range(TRANSFER), force_unit_access: false },
        TRANSFER,
    )]
}

fn compares(queue: &mut Queue) -> Vec<Sqe> {
    vec![sqe(queue, IoCommand::Compare(range(TRANSFER)), TRANSFER)]
}

fn pairs(queue: &mut Queue) -> Vec<Sqe> {
    let mut compare = sqe(queue, IoCommand::Compare(range(ATOMIC)), ATOMIC);
    let mut write =
        sqe(queue, IoCommand::Write { range: range(ATOMIC), force_unit_access: false }, ATOMIC);
    compare.set_fuse(Fuse::First);
    write.set_fuse(Fuse::Second);
    vec![compare, write]
}

fn verifies(queue: &mut Queue) -> Vec<Sqe> {
    vec![sqe(queue, IoCommand::Verify(range(8 << 20)), 0)]
}

fn zeros(queue: &mut Queue) -> Vec<Sqe> {
    let range = range(8 << 20);
    vec![sqe(
        queue,
        IoCommand::WriteZeroes { range, deallocate: false, force_unit_access: false },
        0,
    )]
}

/// All kinds in turn.
fn everything(queue: &mut Queue) -> Vec<Sqe> {
    [reads, writes, compares, pairs, verifies, zeros]
        .iter()
        .flat_map(|commands| commands(queue))
        .collect()
}

/// Waits until the volume has as much work as the budget lets in: nothing changes while others are
/// served.
fn settle(scale: &Scale, probe: &mut Queue) {
    let (mut last, mut rounds) = (0, 0);
    eventually("the volume has work", || {
        assert_eq!(probe.io_command(IoCommand::Flush, &[]).0, Status::SUCCESS);
        let now = scale.now();
        rounds = if now == last && now > 0 { rounds + 1 } else { 0 };
        last = now;
        rounds == 100
    });
}

/// Sends as much of `commands` on every queue as it takes, and weighs it.
fn weigh(commands: Commands) -> u64 {
    let scale = Arc::new(Scale::default());
    served(&scale, |address| {
        let admin = Queue::admin(address, SUBSYSTEM, crate::support::HOST);
        let connect = |id| {
            Queue::io_with(address, &admin, crate::support::connect_command(id), Digests::NONE)
        };
        let mut probe = connect(QUEUES + 1);
        let mut queues: Vec<Queue> = (1..=QUEUES).map(connect).collect();
        let data = vec![0; TRANSFER as usize];
        std::thread::scope(|scope| {
            for queue in &mut queues {
                scope.spawn(|| {
                    let mut sent = 0;
                    while sent < COMMANDS {
                        let batch = commands(queue);
                        sent += batch.len() as u16;
                        batch.into_iter().for_each(|sqe| queue.send_command(sqe, &[]));
                    }
                    (0..sent)
                        .for_each(|_| assert_eq!(queue.finish(&data).0.status(), Status::SUCCESS));
                });
            }
            settle(&scale, &mut probe);
            scale.release();
        });
    });
    assert_eq!(scale.now(), 0);
    scale.most.load(Ordering::Acquire)
}

#[test]
fn commands_of_maximum_size_on_every_queue_at_once_stay_within_the_budget_and_are_answered() {
    let kinds: [(&str, Commands); 7] = [
        ("reads", reads),
        ("writes", writes),
        ("compares", compares),
        ("pairs", pairs),
        ("verifies", verifies),
        ("zeros", zeros),
        ("everything", everything),
    ];
    for (name, commands) in kinds {
        let most = weigh(commands);
        assert!(most <= BUDGET, "{name} had {most} bytes at once");
    }
}
