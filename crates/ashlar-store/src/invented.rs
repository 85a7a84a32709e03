//! An open pool that is made large and old for a measurement, because nobody writes one that large.
//! Only `ashlar-bench` builds this.

use std::cell::RefCell;
use std::ops::Range;

use ashlar_block::{IoError, VolumeId, World, XorShift};
use ashlar_format::ids::{GIB_BLOCKS, GROUP_BLOCKS, GroupKey, SHARD_COUNT, ShardId};
use ashlar_format::location::{Codec, Location, Pointer, SegmentId};
use ashlar_format::page::{Filter, PAGE_LAYERS_MAX, PageRef, Run, page_entries_max};
use ashlar_format::table::Occupancy;

use crate::store::Store;

/// Segments of a pool that hold nothing.
pub struct Invented {
    segments: Vec<SegmentId>,
    chance: RefCell<XorShift>,
}

impl<W: World> Store<W> {
    /// Adds so many segments that hold nothing, of each of which some half is said to live.
    pub fn invent_segments(&self, count: usize) -> Invented {
        let (drives, lsn) = (self.pool.allocation_targets(), self.pool.writer.lsns.next());
        let segments = self.pool.space.segments.borrow_mut().invent(count, &drives, lsn);
        Invented { segments, chance: RefCell::new(XorShift::new(2)) }
    }

    /// Discards so many blocks at random places of what was invented, as hosts do that overwrite.
    pub fn discard_invented(&self, invented: &Invented, blocks: u64) {
        let mut segments = self.pool.space.segments.borrow_mut();
        let mut chance = invented.chance.borrow_mut();
        for _ in 0..blocks {
            let id = invented.segments[chance.below(invented.segments.len() as u64) as usize];
            segments.discard(id, Occupancy { slots: 1, fragments: 1 });
        }
    }

    /// Says of these GiB of a volume that the first half of each is in pages of the map, which are
    /// nowhere: it cannot be read, and the other half reads as zeros. The index is as large as if
    /// it were true. The volume must not be written.
    ///
    /// # Errors
    /// When a checkpoint fails.
    pub async fn invent_map(&self, volume: VolumeId, gibs: Range<u32>) -> Result<(), IoError> {
        let family = self.volumes().get(&volume).expect("the caller has made it").family;
        let groups: Vec<GroupKey> = gibs.map(|gib| GroupKey { family, gib }).collect();
        for id in (0..SHARD_COUNT as u8).map(ShardId) {
            let held = self.pool.hold(id, groups.clone()).await.all()?;
            self.pool.with_shard(id, |shard| {
                groups.iter().for_each(|group| shard.push_run(*group, invented_run()));
            });
            drop(held);
            self.pool.world.yield_now().await;
        }
        self.checkpoint().await
    }

    /// Records that a start would have to replay now.
    pub fn replay_records(&self) -> u64 {
        self.pool.replay_records()
    }

    /// Leaves the pool as a crash does.
    pub fn crash(&self) {
        self.pool.close();
    }
}

/// A run of the first half of a group, in pages that are nowhere.
fn invented_run() -> Run {
    let entries = page_entries_max(PAGE_LAYERS_MAX);
    let pages = (GROUP_BLOCKS / 2).div_ceil(entries);
    let step = (GIB_BLOCKS / 2) as u32 / pages as u32;
    let mut filter = Filter::default();
    (0..(GIB_BLOCKS / 2) as u32).step_by(16).for_each(|block| filter.add(block));
    let page = |nth: u32| PageRef {
        first_block: nth * step,
        entries: entries as u16,
        pointer: Pointer {
            location: Location::new(
                SegmentId(SegmentId::COUNT as u32 - nth),
                0,
                nth,
                64,
                Codec::Lz4,
            ),
            crc: XorShift::new(u64::from(nth) + 1).next_u64() as u32,
        },
    };
    Run::Pages { filter, pages: (0..pages as u32).map(page).collect() }
}
