use super::*;

const WITHIN: Range<u64> = 10..100;

#[test]
fn what_follows_in_an_order_is_told_as_of_that_order() {
    let before = 40..48;
    for order in [Order::Ascending, Order::Descending, Order::Again] {
        let next = order.next(&before, 5, &WITHIN).unwrap();
        assert_eq!(Order::of(&before, &next), order, "{next:?}");
    }
    assert_eq!(Order::Random.next(&before, 5, &WITHIN), None);
    assert_eq!(Order::of(&before, &(50..60)), Order::Random);
}

#[test]
fn an_order_ends_where_its_room_does() {
    assert_eq!(Order::Ascending.next(&(90..98), 5, &WITHIN), Some(98..100));
    assert_eq!(Order::Ascending.next(&(90..100), 5, &WITHIN), None);
    assert_eq!(Order::Descending.next(&(12..20), 5, &WITHIN), Some(10..12));
    assert_eq!(Order::Descending.next(&(10..20), 5, &WITHIN), None);
    // The volume has become smaller.
    assert_eq!(Order::Again.next(&(100..110), 5, &WITHIN), None);
}

#[test]
fn the_first_write_of_a_volume_is_in_no_order() {
    let mut course = Course::default();
    assert_eq!(course.issue(VolumeId(1), &(0..8), 1).order, Order::Random);
    assert_eq!(course.issue(VolumeId(1), &(8..9), 1).order, Order::Ascending);
    assert_eq!(course.issue(VolumeId(2), &(9..10), 1).order, Order::Random);
}
