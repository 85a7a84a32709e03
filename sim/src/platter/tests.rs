use super::*;
use crate::world::WallClock;

const DRIVE_BYTES: u64 = 16 * SECTOR_BYTES as u64;

fn platter() -> SharedPlatter {
    SharedPlatter::new(DRIVE_BYTES)
}

fn at(sector: u64) -> u64 {
    sector * SECTOR_BYTES as u64
}

/// Sectors full of one byte.
fn full_of(byte: u8, sectors: usize) -> Bytes {
    vec![byte; sectors * SECTOR_BYTES].into()
}

fn read(platter: &SharedPlatter, sector: u64) -> u8 {
    let mut buf = [0; SECTOR_BYTES];
    platter.0.borrow_mut().read(at(sector), &mut buf);
    buf[0]
}

fn corruption(platter: &SharedPlatter) -> CorruptionCounts {
    platter.0.borrow().corruption_counts()
}

fn counts(corrupted: u64, met: u64, repaired: u64, overwritten: u64) -> CorruptionCounts {
    CorruptionCounts { corrupted, met, repaired, overwritten }
}

#[test]
fn a_lost_write_corrupts_each_sector_until_the_same_is_written_there() {
    let platter = platter();
    let change = |change: &dyn Fn(&mut Platter)| change(&mut platter.0.borrow_mut());
    change(&|platter| platter.put_through(at(1), full_of(1, 3)));
    change(&|platter| platter.misplace(at(2), full_of(2, 3), None));
    assert_eq!(corruption(&platter), counts(3, 0, 0, 0));
    assert_eq!([1, 2, 2, 4].map(|sector| read(&platter, sector)), [1, 1, 1, 0]);
    assert_eq!(
        corruption(&platter),
        counts(3, 2, 0, 0),
        "each counts once, and what was never corrupt does not"
    );
    change(&|platter| platter.put_through(at(2), full_of(2, 1)));
    change(&|platter| platter.put_through(at(3), full_of(5, 1)));
    assert_eq!(corruption(&platter), counts(3, 2, 1, 1));
    assert_eq!(platter.0.borrow().corrupt_within(&(0..DRIVE_BYTES)), 1);
}

#[test]
fn a_misdirected_write_corrupts_where_it_is_not_and_where_it_is() {
    let platter = platter();
    platter.0.borrow_mut().put_through(at(8), full_of(8, 1));
    platter.0.borrow_mut().misplace(at(1), full_of(1, 1), Some(at(8)));
    assert_eq!((corruption(&platter), read(&platter, 8)), (counts(2, 0, 0, 0), 1));
    platter.0.borrow_mut().put_through(at(8), full_of(8, 1));
    assert_eq!(corruption(&platter), counts(2, 1, 1, 0));
}

#[test]
fn a_lost_write_of_what_is_there_already_corrupts_nothing() {
    let platter = platter();
    platter.0.borrow_mut().put_through(at(1), full_of(1, 1));
    platter.0.borrow_mut().misplace(at(1), full_of(1, 1), None);
    assert_eq!(corruption(&platter), counts(0, 0, 0, 0));
}

#[test]
fn a_repair_that_is_lost_leaves_the_same_sector_corrupt() {
    let platter = platter();
    (0..2).for_each(|_| platter.0.borrow_mut().misplace(at(1), full_of(1, 1), None));
    assert_eq!(corruption(&platter), counts(1, 0, 0, 0));
    platter.0.borrow_mut().misplace(at(1), full_of(2, 1), None);
    assert_eq!(
        corruption(&platter),
        counts(2, 0, 0, 1),
        "something else should be there, and is not either"
    );
}

#[test]
fn a_lost_write_that_waits_for_a_flush_corrupts_once_that_has_succeeded() {
    let platter = platter();
    platter.0.borrow_mut().misplace_cached(at(1), full_of(1, 1), Some(at(4)));
    let before = platter.0.borrow().flush_begins();
    platter.0.borrow_mut().misplace_cached(at(2), full_of(2, 1), None);
    assert_eq!(corruption(&platter), counts(0, 0, 0, 0));
    platter.0.borrow_mut().flush(before);
    assert_eq!(corruption(&platter), counts(2, 0, 0, 0));
}

#[test]
fn what_the_power_may_take_back_is_not_corrupt_after_its_cut() {
    let platter = platter();
    let world = SimWorld::new(1, Nanos(0), WallClock::Right);
    platter.0.borrow_mut().misplace_cached(at(1), full_of(1, 1), None);
    platter.cut_power(&world);
    platter.0.borrow_mut().flush(u64::MAX);
    assert_eq!(corruption(&platter), counts(0, 0, 0, 0));
}

#[test]
fn what_no_flush_has_promised_is_not_corrupt_after_one_has_failed() {
    let platter = platter();
    platter.0.borrow_mut().misplace_cached(at(1), full_of(1, 1), None);
    platter.0.borrow_mut().lose_cache();
    platter.0.borrow_mut().flush(u64::MAX);
    assert_eq!(corruption(&platter), counts(0, 0, 0, 0));
}

#[test]
fn what_is_written_through_comes_after_what_the_cache_has_of_its_place() {
    let platter = platter();
    platter.0.borrow_mut().misplace_cached(at(1), full_of(1, 1), None);
    platter.0.borrow_mut().put_through(at(1), full_of(2, 1));
    platter.0.borrow_mut().flush(u64::MAX);
    assert_eq!(corruption(&platter), counts(1, 0, 0, 1));
    platter.0.borrow_mut().put_cached(at(3), full_of(3, 1));
    platter.0.borrow_mut().misplace(at(3), full_of(4, 1), None);
    platter.0.borrow_mut().flush(u64::MAX);
    assert_eq!((corruption(&platter), read(&platter, 3)), (counts(2, 0, 0, 1), 3));
}

#[test]
fn pieces_of_a_torn_write_do_not_end_the_corruption_of_the_rest() {
    let platter = platter();
    platter.0.borrow_mut().put_through(at(1), full_of(1, 1));
    platter.0.borrow_mut().misplace(at(1), full_of(2, 1), None);
    platter.0.borrow_mut().put_part(at(1) as usize, &[3; TORN_BYTES], true);
    assert_eq!(corruption(&platter), counts(1, 0, 0, 0));
    platter.0.borrow_mut().put_part(
        at(1) as usize + TORN_BYTES,
        &[2; SECTOR_BYTES - TORN_BYTES],
        true,
    );
    assert_eq!(
        corruption(&platter),
        counts(1, 0, 1, 0),
        "what the lost write should have left there"
    );
}

/// The story of seed 33000852: a batch that a drive never wrote left zeros in its place. Later the
/// segment is written anew, with zeros there, and the power is cut: the row is alive by its parity,
/// the drive holds what it should, and no scrub has anything to find.
#[test]
fn a_corrupt_sector_that_holds_what_a_lost_write_would_have_written_is_right() {
    let zeros = Bytes::from(vec![0; SECTOR_BYTES]);
    let lost_by: [fn(&SharedPlatter, &SimWorld); 2] = [
        |platter, world| platter.cut_power(world),
        |platter, _| platter.0.borrow_mut().lose_cache(),
    ];
    for lose in lost_by {
        let platter = platter();
        platter.0.borrow_mut().misplace(at(1), full_of(1, 1), None);
        platter.0.borrow_mut().put_cached(at(1), zeros.clone());
        assert_eq!(corruption(&platter), counts(1, 0, 0, 0));
        lose(&platter, &SimWorld::new(1, Nanos(0), WallClock::Right));
        assert_eq!(corruption(&platter), counts(1, 0, 0, 1));
    }
}

#[test]
fn a_corrupt_sector_that_holds_what_an_unpromised_write_would_have_written_is_right_after_a_cut() {
    let platter = platter();
    platter.0.borrow_mut().misplace(at(1), full_of(1, 1), None);
    platter.0.borrow_mut().misplace_cached(at(1), Bytes::from(vec![0; SECTOR_BYTES]), None);
    platter.cut_power(&SimWorld::new(1, Nanos(0), WallClock::Right));
    assert_eq!(corruption(&platter), counts(1, 0, 0, 1));
}

#[test]
fn a_bit_that_rots_corrupts_what_a_read_from_the_cache_does_not_give() {
    let platter = platter();
    let world = SimWorld::new(1, Nanos(0), WallClock::Right);
    platter.0.borrow_mut().put_through(at(1), full_of(1, 1));
    platter.0.borrow_mut().rot(&world, at(1), SECTOR_BYTES);
    platter.0.borrow_mut().put_cached(at(1), full_of(2, 1));
    assert_eq!((read(&platter, 1), corruption(&platter)), (2, counts(1, 0, 0, 0)));
    platter.0.borrow_mut().flush(u64::MAX);
    assert_eq!(corruption(&platter), counts(1, 0, 0, 1));
}
