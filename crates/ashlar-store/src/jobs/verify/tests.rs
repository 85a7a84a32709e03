use ashlar_format::ids::Family;
use ashlar_format::location::Pointer;
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, StillWorld, at_once, location, write_small_blocks};

/// Walks to the end. What is done `between` two steps is done after each.
fn verified(pool: &Pool<StillWorld>, mut between: impl FnMut(u64)) -> VerifyReport {
    pool.start_verify().expect("it takes writes");
    for step in 0.. {
        at_once(pool.verify_step());
        let report = pool.verify_report().expect("one was begun");
        if report.state != VerifyState::Running {
            return report;
        }
        between(step);
    }
    unreachable!("it comes to an end")
}

fn figure(report: &VerifyReport, name: &str) -> (u64, u64) {
    let compared = report.compared.iter().find(|it| it.figure == name).expect("it is compared");
    (compared.counted, compared.found)
}

#[test]
fn a_pool_that_stores_nothing_is_proven() {
    let pool = Drives::new(Level::RAID1, 3).open();
    let report = verified(&pool, |_| {});
    assert_eq!((report.state.clone(), report.volumes), (VerifyState::Proven, 0), "{report:?}");
    assert_eq!(figure(&report, "written"), (0, 0));
}

#[test]
fn what_was_written_is_found() {
    let pool = Drives::new(Level::RAID1, 3).open();
    write_small_blocks(&pool, 0..100);
    let report = verified(&pool, |_| {});
    assert_eq!(report.state, VerifyState::Proven, "{:?}", report.wrong);
    assert_eq!(figure(&report, "written"), (100 * 4096, 100 * 4096));
    assert_eq!(report.volumes, 1);
}

/// What is written behind the walk would be missed, what is overwritten there be counted twice.
#[test]
fn what_changes_before_and_behind_the_walk_is_counted_once() {
    let pool = Drives::new(Level::RAID1, 3).open();
    write_small_blocks(&pool, 0..100);
    // One is overwritten after each step, and one is new.
    let report = verified(&pool, |step| {
        write_small_blocks(&pool, step * 16..step * 16 + 1);
        write_small_blocks(&pool, 1000 + step * 64..1001 + step * 64);
    });
    assert_eq!(report.state, VerifyState::Proven, "{:?}", report.wrong);
    let (counted, found) = figure(&report, "written");
    assert_eq!(counted, found);
    assert!(found > 100 * 4096, "{found}");
}

#[test]
fn a_count_that_is_wrong_is_told_by_its_figures_and_its_volume() {
    let pool = Drives::new(Level::RAID1, 3).open();
    write_small_blocks(&pool, 0..10);
    let at = Pointer { location: location(&pool, 3), crc: 0 };
    let key = Key { family: Family(99), lba: ashlar_block::Lba(0), layer: Layer(0) };
    pool.space.ledger.credit(NamedAt::of(ShardId(0), &key), at.location);
    let report = verified(&pool, |_| {});
    assert_eq!(report.state, VerifyState::Wrong);
    assert_eq!(figure(&report, "written"), (11 * 4096, 10 * 4096));
    assert!(report.wrong.iter().any(|it| it.contains("Family(99)")), "{:?}", report.wrong);
    assert!(report.wrong.iter().any(|it| it.starts_with("written:")), "{:?}", report.wrong);
}

#[test]
fn a_pool_that_halts_ends_the_proof_and_begins_none() {
    let pool = Drives::new(Level::RAID1, 3).open();
    write_small_blocks(&pool, 0..10);
    pool.start_verify().expect("it takes writes");
    pool.halt("a test");
    let report = pool.verify_report().expect("one was begun");
    assert!(matches!(report.state, VerifyState::Failed(_)), "{report:?}");
    assert!(report.finished_at.is_some());
    pool.start_verify().expect_err("upkeep does nothing");
}

#[test]
fn one_that_goes_on_is_not_begun_again_and_the_next_counts_anew() {
    let pool = Drives::new(Level::RAID1, 3).open();
    pool.start_verify().expect("it takes writes");
    at_once(pool.verify_step());
    let at = pool.space.ledger.proof_goes_on_from();
    pool.start_verify().expect("it goes on");
    assert_eq!(pool.space.ledger.proof_goes_on_from(), at);
    verified(&pool, |_| {});
    write_small_blocks(&pool, 0..10);
    assert_eq!(figure(&verified(&pool, |_| {}), "written"), (10 * 4096, 10 * 4096));
}

#[test]
fn one_that_is_stopped_says_how_far_it_was_and_the_next_begins_anew() {
    let pool = Drives::new(Level::RAID1, 3).open();
    write_small_blocks(&pool, 0..100);
    pool.stop_verify();
    assert!(pool.verify_report().is_none(), "there was none to be stopped");
    pool.start_verify().expect("it takes writes");
    at_once(pool.verify_step());
    pool.stop_verify();
    let stopped = pool.verify_report().expect("one was begun");
    assert_eq!((&stopped.state, stopped.compared.len()), (&VerifyState::Stopped, 0));
    assert!(stopped.finished_at.is_some() && stopped.part_done < 1.0, "{stopped:?}");
    assert!(!pool.verify_is_ready() && pool.space.ledger.proof_goes_on_from().is_none());
    pool.stop_verify();
    assert_eq!(pool.verify_report(), Some(stopped), "it has ended before");
    assert_eq!(verified(&pool, |_| {}).state, VerifyState::Proven);
}

/// What it found was counted for the next one, which passed over what had not been counted.
#[test]
fn a_step_that_was_on_its_way_when_its_proof_was_stopped_is_no_part_of_the_next() {
    let pool = Drives::new(Level::RAID1, 3).open();
    write_small_blocks(&pool, 0..100);
    pool.start_verify().expect("it takes writes");
    let mut places = Vec::new();
    while pool.space.ledger.proof_goes_on_from().is_some_and(|at| !is_end(at)) {
        places.extend(pool.space.ledger.proof_goes_on_from());
        at_once(pool.verify_step());
    }
    for at in places.into_iter().skip(1) {
        pool.stop_verify();
        pool.start_verify().expect("it takes writes");
        at_once(pool.verify_group(at)).expect("good drives");
        at_once(pool.compare_some());
        assert_eq!(pool.space.ledger.proof_goes_on_from(), Some(FIRST));
    }
    assert_eq!(verified(&pool, |_| {}).state, VerifyState::Proven);
}
