//! A pool that is warm does not allocate for what hosts ask of it.

use ashlar_block::{AlignedBuf, BLOCK_BYTES, ByteSize, Device, Lba, VolumeId, XorShift};
use ashlar_drive::{Drive, DriveSpec, DriveWorld, OpenMode};
use ashlar_raid::Level;
use ashlar_reactor::allocations::{self, Counting};
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{Compression, FoundDrive, NewPool, OpenPolicy, Options, Store, create};
use bytes::Bytes;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DRIVES: usize = 5;
const DRIVE_BYTES: u64 = 1 << 30;
/// Large enough for segments to be opened, and checkpoints made, rarely.
const CHUNK_BYTES: u32 = 8 << 20;
/// Parts of a histogram of latencies, each of which is made when it is needed.
const LATENCY_GROUPS: u64 = 22;
const VOLUME_BLOCKS: u64 = 8192;
/// Writes outstanding, as from one connection of a busy host.
const OUTSTANDING: u64 = 32;

type Pool = Store<DriveWorld>;

async fn open_pool() -> (Pool, VolumeId) {
    let spec = DriveSpec::Memory { size: ByteSize(DRIVE_BYTES), touched: false, model: None };
    let drives: Vec<Drive> = (0..DRIVES)
        .map(|_| Drive::open(&spec, OpenMode::CreateIfMissing).expect("there is memory"))
        .collect();
    let chunk_bytes = Some(CHUNK_BYTES);
    let new =
        NewPool { name: "p".to_owned(), level: Level::RAID5, chunk_bytes, segment_numbers: None };
    create(&DriveWorld, &new, drives.clone()).await.expect("the drives are large enough");
    let mut found = Vec::new();
    for device in drives {
        let (read, sector) = device.read(0, AlignedBuf::stale(BLOCK_BYTES)).await;
        read.expect("memory can be read");
        found.push(FoundDrive {
            superblock: Superblock::decode(&sector).expect("just written"),
            device,
        });
    }
    let opened = Store::open(&DriveWorld, found, Options::default(), OpenPolicy::Most).await;
    let (pool, _) = opened.expect("all drives are there");
    let volume = pool
        .create_volume(VOLUME_BLOCKS, Compression::Lz4, Bytes::new())
        .await
        .expect("there is room");
    (pool, volume)
}

fn noise() -> Bytes {
    let mut random = XorShift::new(7);
    let bytes: Vec<u8> =
        (0..BLOCK_BYTES / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    AlignedBuf::copy_of(&bytes).freeze()
}

/// Writes every block of the volume once, [`OUTSTANDING`] at a time.
async fn write_all(pool: &Pool, volume: VolumeId) {
    let writers: Vec<_> = (0..OUTSTANDING)
        .map(|first| {
            let (pool, data) = (pool.clone(), noise());
            ashlar_reactor::spawn_joined(async move {
                for lba in (first..VOLUME_BLOCKS).step_by(OUTSTANDING as usize) {
                    pool.write(volume, Lba(lba), data.clone()).await.expect("there is room");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await;
    }
}

async fn read_all(pool: &Pool, volume: VolumeId) {
    for lba in 0..VOLUME_BLOCKS {
        pool.read(volume, Lba(lba), 1).await.expect("written");
    }
}

#[test]
fn a_warm_pool_allocates_nothing_for_a_read_and_for_many_writes_together() {
    let counted = ashlar_reactor::run(ashlar_reactor::Config::default(), async {
        let (pool, volume) = open_pool().await;
        write_all(&pool, volume).await;
        // After it there is nothing for upkeep to do.
        pool.checkpoint().await.expect("the drives are good");
        read_all(&pool, volume).await;
        let start = allocations::of_this_thread();
        read_all(&pool, volume).await;
        let read = allocations::of_this_thread();
        write_all(&pool, volume).await;
        (read - start, allocations::of_this_thread() - read)
    });
    let (reads, writes) = counted.expect("a reactor starts");
    // An operation of a drive that took as long as none before it takes a place in its histogram.
    assert!(reads < LATENCY_GROUPS, "{reads} for {VOLUME_BLOCKS} reads");
    // The writers themselves, segments that are opened, and checkpoints: neither a write nor a
    // batch.
    assert!(writes < VOLUME_BLOCKS / 4, "{writes} for {VOLUME_BLOCKS} writes");
}
