use std::num::NonZeroU64;

use super::{Capacity, CapacityError, Factor, WantedCapacity, safe};

const TIB: u64 = 1 << 40;

fn pool() -> Capacity {
    Capacity { provisioned: 10 * TIB, safe: 10 * TIB, ..Capacity::default() }
}

fn set(bytes: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(bytes)
}

fn times(text: &str) -> WantedCapacity {
    WantedCapacity::Times(text.parse().expect("a factor"))
}

#[test]
fn factors_are_written_and_read_as_people_do() {
    for (text, said) in [("1x", "1.0x"), ("2.4x", "2.4x"), ("2.450X", "2.45x"), ("4.0x", "4.0x")] {
        assert_eq!(text.parse::<Factor>().unwrap().to_string(), said);
    }
    for text in ["", "x", "2.4", "-1x", "2.4567x", "1.x", ".5x", "+2x", "99999999999x", "NaNx"] {
        assert!(text.parse::<Factor>().is_err(), "{text}");
    }
}

#[test]
fn a_pool_that_nobody_has_set_is_formatted_as_it_is_provisioned() {
    assert_eq!((pool().formatted(), pool().factor()), (10 * TIB, Factor::ONE));
    assert!(pool().promise(10 * TIB).is_ok());
    let refused = pool().promise(10 * TIB + 4096).unwrap_err().to_string();
    assert!(refused.contains("10TiB that are formatted"), "{refused}");
    assert!(pool().promise(u64::MAX).is_err());
}

#[test]
fn a_pool_that_overcommits_promises_anything() {
    let pool = Capacity { overcommits: true, promised: 1000 * TIB, ..pool() };
    assert!(pool.promise(u64::MAX).is_ok());
}

#[test]
fn capacity_is_bound_by_one_and_four_times_and_by_what_is_promised() {
    let pool = Capacity { promised: 15 * TIB, safe: 40 * TIB, ..pool() };
    let check = |wanted| pool.check(wanted, false);
    for wanted in [times("0.999x"), times("0x"), WantedCapacity::Bytes(0)] {
        assert!(matches!(check(wanted), Err(CapacityError::BelowProvisioned { .. })));
    }
    for wanted in [times("4.001x"), WantedCapacity::Bytes(u64::MAX)] {
        assert!(matches!(check(wanted), Err(CapacityError::AboveMax { .. })));
    }
    let refused = check(times("1.4x")).unwrap_err().to_string();
    assert!(refused.contains("15TiB that volumes are promised"), "{refused}");
    assert_eq!(check(times("1.5x")).unwrap(), 15 * TIB);
    assert_eq!(check(times("4x")).unwrap(), 40 * TIB);
    let overcommits = Capacity { overcommits: true, ..pool };
    assert_eq!(overcommits.check(times("1.4x"), false).unwrap(), 14 * TIB);
}

#[test]
fn more_than_data_compress_to_takes_force() {
    let pool = Capacity { safe: safe(10 * TIB, 24, 10), ..pool() };
    assert_eq!(pool.check(times("2.4x"), false).unwrap(), 24 * TIB);
    let refused = pool.check(times("2.5x"), false).unwrap_err().to_string();
    assert!(refused.contains("24TiB") && refused.contains("2.4x"), "{refused}");
    assert_eq!(pool.check(times("2.5x"), true).unwrap(), 25 * TIB);
}

#[test]
fn to_shrink_takes_no_force() {
    let pool = Capacity { set: set(40 * TIB), ..pool() };
    assert_eq!(pool.check(times("3x"), false).unwrap(), 30 * TIB);
}

#[test]
fn an_empty_pool_is_safe_at_its_own_size_and_zeros_at_four_times() {
    assert_eq!(safe(10 * TIB, 0, 0), 10 * TIB);
    assert_eq!(safe(10 * TIB, 1, 2), 10 * TIB);
    assert_eq!(safe(10 * TIB, u64::MAX, 1), 40 * TIB);
}

#[test]
fn a_lost_drive_shrinks_nothing_and_an_added_one_is_formatted() {
    let lost = Capacity { set: set(24 * TIB), provisioned: 5 * TIB, ..pool() };
    assert_eq!((lost.formatted(), lost.factor().to_string()), (24 * TIB, "4.8x".to_owned()));
    let added = Capacity { provisioned: 30 * TIB, ..lost };
    assert_eq!(added.formatted(), 30 * TIB);
}
