use std::num::NonZeroU32;
use std::task::{Context, Waker};

use ashlar_block::{BLOCK_BYTES, DeviceError, DriveId, Lba, Nanos};
use ashlar_format::compression::Compression;
use ashlar_format::header::RecordKind;
use ashlar_format::ids::{Family, Key, Layer, RANGE_BLOCKS, SHARD_COUNT};
use ashlar_raid::Level;
use bytes::Bytes;

use super::*;
use crate::base::options::Options;
use crate::space::segments::Claim;
use crate::testing::{Drives, StillWorld, at_once, write_block};
use crate::writer::append::StreamId;
use crate::writer::batch::Item;
use crate::writer::compress::compress_blocks;

/// Writes a block of each shard.
fn write_to_all_shards(pool: &Pool<StillWorld>) {
    let data = Bytes::from_static(&[0xa5; BLOCK_BYTES * SHARD_COUNT]);
    let item = |(nth, fragment)| {
        let lba = Lba(nth as u64 * RANGE_BLOCKS);
        Item {
            kind: RecordKind::Write,
            key: Key { family: Family(1), lba, layer: Layer(0) },
            fragment,
        }
    };
    let mut items: Vec<Item> =
        compress_blocks(&data, Compression::Lz4).enumerate().map(item).collect();
    let take = |_, taken: &mut Vec<Item>| taken.append(&mut items);
    let mut appended =
        at_once(pool.try_append(StreamId::Cold, Claim::Host, take)).expect("it is new");
    at_once(pool.write(&mut appended)).expect("good drives");
    pool.writer.lsns.durable(appended.lsn);
    for (item, pointer) in appended.items.iter().zip(&*appended.pointers) {
        pool.publish_item(item, *pointer);
    }
    pool.writer.lsns.published(appended.lsn);
}

/// Its pages are records as well: with little memory they were more than a start was to replay, and
/// the next checkpoint followed at once, and so on until there was no segment left.
#[test]
fn a_checkpoint_is_no_reason_for_the_next() {
    let options = Options { map_memory_bytes: 8 << 10, ..Options::default() };
    let pool = Drives::new(Level::RAID5, 3).open_with(options);
    write_to_all_shards(&pool);
    at_once(pool.checkpoint(false)).expect("good drives");
    assert!(pool.replay_records() > SHARD_COUNT as u64, "{}", pool.replay_records());
    assert!(pool.replay_records() < pool.replay_records_max(), "{}", pool.replay_records());
}

/// What was overwritten or trimmed last stayed counted as living until hosts wrote more.
#[test]
fn counts_become_exact_once_hosts_have_been_quiet_for_half_a_minute() {
    let state = UpkeepState::default();
    let second = |number: u64| Nanos(number * 1_000_000_000);
    let waits = |now| state.sweep_waits(now);
    assert_eq!(waits(second(100)), None, "nothing has changed");
    state.content_changed(3, second(100));
    assert_eq!(waits(second(100)), Some(Duration::from_secs(30)));
    state.content_changed(3, second(120));
    assert_eq!(waits(second(130)), Some(Duration::from_secs(20)));
    assert_eq!(waits(second(150)), Some(Duration::ZERO));
    state.counts_become_exact();
    assert_eq!(waits(second(200)), None);
}

/// It was noticed only while upkeep had nothing to do. A rebuild that the loss made impossible was
/// tried for ever instead.
#[test]
fn a_drive_that_fails_is_noticed_whatever_upkeep_is_doing() {
    let pool = Drives::new(Level::RAID1, 3).open();
    assert!(!pool.wants().checkpoint.drive_lost);
    pool.array.give_up(DriveId(1), DeviceError::Gone);
    assert!(pool.wants().checkpoint.drive_lost);
    at_once(pool.ordered_checkpoint());
    assert!(!pool.wants().checkpoint.drive_lost);
}

/// Seed 10801226: a drive took seconds for a column of what was moved out of the journal. Hosts
/// filled what was left of the pool with journal, of which nothing could be collected before that
/// batch was published, and were told that the pool was full.
#[test]
fn hosts_wait_for_a_slow_batch_rather_than_be_told_that_the_pool_is_full() {
    let pool = Drives::new(Level::RAID5, 3).open();
    let slow = pool.writer.lsns.begin(1);
    (0..64).for_each(|_| write_block(&pool, 0));
    pool.want_segment(Claim::Host);
    let now = pool.wants().room;
    assert!(now.is_held_back && now.reclaimable == 0, "{now:?}");
    pool.published(slow);
    assert!(pool.wants().room.reclaimable > 0);
}

/// Seed 20302113: an audit went on while a slow batch moved blocks out of the journal. They were
/// seen where they had been, and counted where they went.
#[test]
fn an_audit_says_nothing_of_a_pool_in_which_something_goes_on() {
    let pool = Drives::new(Level::RAID5, 3).open();
    let slow = pool.writer.lsns.begin(1);
    assert!(at_once(pool.audit_if_quiet()).expect("good drives").is_none());
    pool.published(slow);
    assert!(at_once(pool.audit_if_quiet()).expect("good drives").is_some());
}

#[test]
fn a_drive_with_too_many_faults_is_given_up_where_redundancy_allows() {
    for (level, drives, goes) in
        [(Level::RAID5, 3, true), (Level::RAID1, 3, true), (Level::RAID1, 2, false)]
    {
        let pool = Drives::new(level, drives).open();
        pool.array.set_fault_threshold(NonZeroU32::new(2));
        pool.array.note_corrupt_reads(DriveId(1), 5);
        assert_eq!(pool.wants().faulty, None, "one look that finds several is one fault");
        pool.array.note_corrupt_reads(DriveId(1), 1);
        assert_eq!(pool.wants().faulty, goes.then_some(DriveId(1)), "{level:?} on {drives} drives");
    }
}

#[test]
fn faults_count_on_while_other_settings_change() {
    let pool = Drives::new(Level::RAID5, 3).open();
    let choose = |threshold| pool.array.set_fault_threshold(NonZeroU32::new(threshold));
    choose(2);
    pool.array.note_corrupt_reads(DriveId(1), 1);
    choose(2);
    pool.array.note_corrupt_reads(DriveId(1), 1);
    assert_eq!(pool.array.faulty_drive(), Some(DriveId(1)));
    choose(3);
    assert_eq!(pool.array.faulty_drive(), None, "another threshold counts anew");
}

#[test]
fn no_drive_is_given_up_for_faults_while_another_is_lost() {
    let pool = Drives::new(Level::RAID6, 5).open();
    pool.array.set_fault_threshold(NonZeroU32::new(1));
    pool.array.give_up(DriveId(0), DeviceError::Gone);
    pool.array.note_corrupt_reads(DriveId(1), 1);
    assert_eq!(pool.wants().faulty, None);
}

/// What it had found was gone after a kill: an idle pool had no reason for a checkpoint.
#[test]
fn the_end_of_a_scrub_orders_a_checkpoint() {
    let pool = Drives::new(Level::RAID5, 3).open();
    pool.start_scrub().expect("it takes writes");
    assert!(!pool.wants().checkpoint.is_wanted);
    pool.stop_scrub();
    assert!(pool.wants().checkpoint.is_wanted);
}

/// Collection found what was left of a loss that upkeep had long seen to, and began a checkpoint,
/// whether there was room for one or not.
#[test]
fn a_loss_that_has_been_seen_to_is_no_reason_for_a_checkpoint() {
    let pool = Drives::new(Level::RAID5, 3).open();
    pool.requests.lose_drive();
    at_once(pool.ordered_checkpoint());
    let generation = || pool.checkpoint.roots.newest().generation;
    let before = generation();
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(pool.guarding(std::future::pending::<()>())).poll(&mut context).is_pending());
    assert_eq!(generation(), before);
    pool.requests.lose_drive();
    assert!(pin!(pool.guarding(std::future::pending::<()>())).poll(&mut context).is_pending());
    assert!(generation() > before);
}
