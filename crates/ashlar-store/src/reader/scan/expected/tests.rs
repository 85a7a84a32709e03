use super::*;

fn expected(generation: Generation) -> Expected<'static> {
    Expected { segment: SegmentId(7), generation, secret: &Secret([9; 32]) }
}

fn prelude() -> Prelude {
    Prelude {
        sectors: 3,
        segment: SegmentId(7),
        row: 12,
        incarnation: Incarnation(5),
        first_lsn: Lsn(640),
    }
}

#[test]
fn a_header_of_the_expected_use_may_be_at_its_row() {
    let begun = Generation::Begun { by: Incarnation(5), since: Lsn(600) };
    assert!(expected(begun).begins_with(&prelude(), 12));
    assert!(expected(Generation::Since(Lsn(640))).begins_with(&prelude(), 12));
}

/// A start tried every way to have the sectors behind such a header, and took seconds for a pool
/// of a few megabytes.
#[test]
fn what_an_earlier_use_left_is_refused_by_its_first_sector() {
    let by_an_earlier_start = Generation::Begun { by: Incarnation(6), since: Lsn(600) };
    assert!(!expected(by_an_earlier_start).begins_with(&prelude(), 12));
    let before_this_use = Generation::Begun { by: Incarnation(5), since: Lsn(641) };
    assert!(!expected(before_this_use).begins_with(&prelude(), 12));
    assert!(!expected(Generation::Since(Lsn(704))).begins_with(&prelude(), 12));
}

#[test]
fn a_header_of_another_place_is_refused_by_its_first_sector() {
    let generation = Generation::Since(Lsn(640));
    assert!(!expected(generation).begins_with(&prelude(), 13));
    let elsewhere = Prelude { segment: SegmentId(8), ..prelude() };
    assert!(!expected(generation).begins_with(&elsewhere, 12));
}
