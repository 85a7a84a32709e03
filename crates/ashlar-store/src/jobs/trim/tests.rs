use super::*;
use crate::space::segments::Shape;
use crate::testing::{Drives, StillWorld, at_once, write_block};

const MS: u64 = 1_000_000;

fn two() -> Drives {
    Drives::new(ashlar_raid::Level::RAID1, 2)
}

/// Writes the same few blocks again and again: all but the last segment become garbage.
fn overwrite(pool: &Pool<StillWorld>) {
    (0..16).for_each(|lba| write_block(pool, lba % 4));
}

fn overwrite_with_checkpoints(pool: &Pool<StillWorld>) {
    for _ in 0..12 {
        overwrite(pool);
        at_once(pool.checkpoint(false)).unwrap();
    }
}

/// Frees segments that nothing was written to.
fn free_some(pool: &Pool<StillWorld>) {
    let mut segments = pool.space.segments.borrow_mut();
    let wanted = segments.usable_striped() as usize + 20;
    let reserved =
        segments.form_window(Shape::Striped, wanted, &pool.drives(), pool.writer.lsns.next());
    reserved.into_iter().for_each(|id| drop(segments.free(id)));
}

#[test]
fn a_discard_is_as_large_as_its_drive_can_do_in_a_step() {
    let quick = Duration::from_micros(50);
    assert_eq!(next_bytes(16 << 20, quick), 32 << 20, "it grows");
    assert_eq!(next_bytes(DISCARD_BYTES_MAX, quick), DISCARD_BYTES_MAX, "up to a bound");
    assert_eq!(next_bytes(64 << 20, STEP), 64 << 20);
    assert_eq!(next_bytes(64 << 20, STEP * 4), 16 << 20, "of a slow drive it shrinks");
    assert_eq!(next_bytes(4096, Duration::from_secs(3600)), 1, "and is a chunk in the end");
}

#[test]
fn a_drive_rests_by_its_size() {
    assert_eq!(rest_after(256 << 20, 1 << 30), Duration::from_millis(250), "a small one");
    let whole = 61_u64 << 40;
    let pauses = rest_after(256 << 20, whole) * (whole / (256 << 20)) as u32;
    assert!((500..520).contains(&pauses.as_secs()), "all of a large one: {pauses:?}");
}

#[test]
fn chunks_of_freed_segments_are_told_once_the_next_root_is_durable() {
    let drives = two();
    let pool = drives.open();
    let drive = pool.drives()[0];
    let told = || pool.space.segments.borrow_mut().tell(drive, 8);
    while let Some(discard) = told() {
        // What the start has freed.
        pool.space.segments.borrow_mut().is_told(&discard);
    }
    free_some(&pool);
    assert_eq!(told(), None);
    at_once(pool.checkpoint(false)).unwrap();
    assert!(told().is_some());
}

#[test]
fn a_pool_whose_setting_is_off_tells_only_what_a_trim_asks_for() {
    let drives = two();
    let pool = drives.open();
    pool.catalog.borrow_mut().settings.autotrim = false;
    pool.autotrim_changed();
    overwrite_with_checkpoints(&pool);
    let drive = pool.drives()[0];
    assert!(!pool.space.segments.borrow().has_untold(drive));
    pool.start_trim().unwrap();
    let report = pool.trim_report().unwrap();
    assert!(
        report.bytes_total > 0 && report.finished_at.is_none() && report.bytes_done == 0,
        "{report:?}"
    );
    pool.start_trim().unwrap();
    assert_eq!(pool.trim_report(), Some(report), "it goes on, whoever asks again");
    for drive in pool.drives() {
        while let Some(discard) = { pool.space.segments.borrow_mut().tell(drive, 8) } {
            at_once(pool.array.discard(drive, discard.chunks.clone())).unwrap();
            pool.space.segments.borrow_mut().is_told(&discard);
            pool.note_discard(&discard, Ok(()), Nanos(0), Nanos(MS));
        }
    }
    pool.end_trim_if_done();
    let report = pool.trim_report().unwrap();
    assert_eq!((report.bytes_done, report.finished_at), (report.bytes_total, Some(0)));
    assert_eq!(pool.counters.get().drives.bytes_discarded, report.bytes_total);
}

#[test]
fn a_trim_that_is_stopped_tells_no_more_of_it_and_the_next_one_tells_of_all() {
    let drives = two();
    let pool = drives.open();
    pool.catalog.borrow_mut().settings.autotrim = false;
    pool.autotrim_changed();
    pool.stop_trim();
    assert_eq!(pool.trim_report(), None, "there was none to be stopped");
    pool.start_trim().unwrap();
    let total = pool.trim_report().unwrap().bytes_total;
    let drive = pool.drives()[0];
    let discard = pool.space.segments.borrow_mut().tell(drive, 8).unwrap();
    // What becomes free meanwhile is told of, and not any more when it was stopped.
    free_some(&pool);
    at_once(pool.checkpoint(false)).unwrap();
    let segments = || pool.space.segments.borrow();
    assert!(segments().has_untold(drive), "of both");
    pool.stop_trim();
    assert!(!pool.drives().iter().any(|it| segments().has_untold(*it)));
    pool.space.segments.borrow_mut().is_told(&discard);
    pool.note_discard(&discard, Ok(()), Nanos(0), Nanos(MS));
    pool.end_trim_if_done();
    let report = pool.trim_report().unwrap();
    assert!(report.is_stopped && report.finished_at.is_some(), "{report:?}");
    assert!(report.bytes_done > 0 && report.bytes_done < total, "{report:?}");
    pool.start_trim().unwrap();
    let again = pool.trim_report().unwrap();
    assert!(!again.is_stopped && again.bytes_total > 0 && again.bytes_done == 0, "{again:?}");
}

#[test]
fn what_became_free_is_told_of_as_ever_when_a_trim_was_stopped() {
    let drives = two();
    let pool = drives.open();
    pool.start_trim().unwrap();
    free_some(&pool);
    at_once(pool.checkpoint(false)).unwrap();
    pool.stop_trim();
    assert!(pool.space.segments.borrow().has_untold(pool.drives()[0]), "autotrim is on");
}

#[test]
fn a_drive_that_refuses_is_not_lost_for_it() {
    let drives = two();
    let pool = drives.open();
    pool.start_trim().unwrap();
    let drive = pool.drives()[0];
    let discard = pool.space.segments.borrow_mut().tell(drive, 8).unwrap();
    let refusal = DeviceError::Os { op: ashlar_block::DeviceOp::Discard, offset: 0, errno: 5 };
    pool.space.segments.borrow_mut().is_told(&discard);
    pool.note_discard(&discard, Err(refusal), Nanos(0), Nanos(MS));
    assert_eq!((pool.trim_report().unwrap().failed, pool.drives().len()), (1, 2));
    assert_eq!(pool.counters.get().drives.discards_failed, 1);
    let unsupported = DeviceError::Unsupported(ashlar_block::DeviceOp::Discard);
    pool.note_discard(&discard, Err(unsupported), Nanos(0), Nanos(MS));
    assert!(!pool.space.segments.borrow().has_untold(drive), "it is not asked again");
}

#[test]
fn who_writes_to_a_chunk_waits_only_while_its_drive_is_told_of_it() {
    let drives = two();
    let pool = drives.open();
    pool.start_trim().unwrap();
    let drive = pool.drives()[0];
    let discard = pool.space.segments.borrow_mut().tell(drive, 8).unwrap();
    let chunk = ChunkAddr { drive, chunk: discard.chunks.start };
    let mut waits = pin!(pool.chunks_are_back([chunk]));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    at_once(pool.chunks_are_back([ChunkAddr { drive, chunk: 0 }]));
    pool.space.segments.borrow_mut().is_told(&discard);
    assert!(waits.as_mut().poll(&mut cx).is_ready());
}

#[test]
fn drives_that_cannot_be_told_are_left_out_and_named_where_none_can() {
    let drives = two();
    let pool = drives.open();
    drives.devices[0].forget_discards();
    pool.start_trim().unwrap();
    assert_eq!(pool.trim_report().unwrap().skipped_drives, [pool.drives()[0]].into());
    drives.devices[1].forget_discards();
    pool.end_trim_if_done();
    assert!(!pool.jobs.trim.goes_on(), "the other one cannot either any more");
    let refused = pool.start_trim().unwrap_err().to_string();
    for part in ["drive 0", "drive 1", "discard_max_bytes"] {
        assert!(refused.contains(part), "'{part}' is not in: {refused}");
    }
}
