use super::*;

#[test]
fn sizes_fall_into_the_class_that_they_just_fit() {
    for (bytes, class) in [
        (0, SizeClass::UpTo4KiB),
        (4096, SizeClass::UpTo4KiB),
        (4097, SizeClass::UpTo16KiB),
        (65_536, SizeClass::UpTo64KiB),
        (262_144, SizeClass::UpTo256KiB),
        (262_145, SizeClass::Larger),
        (u64::MAX, SizeClass::Larger),
    ] {
        assert_eq!(SizeClass::of(bytes), class, "{bytes}");
    }
}

#[test]
fn operations_are_counted_by_kind_and_size_once_they_have_ended() {
    let meter = Rc::new(Meter::default());
    let read = meter.begin(OpKind::Read, 4096, Nanos(1_000));
    let write = meter.begin(OpKind::Write, 65_536, Nanos(1_000));
    assert_eq!(meter.in_flight(), 2);
    read.ended(Nanos(8_999));
    assert_eq!(meter.in_flight(), 1);
    write.ended(Nanos(3_000));
    let latencies = meter.latencies();
    let reads = latencies.of(OpKind::Read, SizeClass::UpTo4KiB).expect("there was one");
    assert_eq!((reads.took.count(), reads.took.total_us(), reads.bytes), (1, 7, 4096));
    assert!(latencies.of(OpKind::Read, SizeClass::UpTo64KiB).is_none());
    assert_eq!(latencies.of_kind(OpKind::Write).bytes, 65_536);
    assert_eq!(latencies.of_kind(OpKind::Trim).took.count(), 0);
    assert_eq!(meter.activity().ended[OpKind::Write as usize].took.count(), 1);
}

#[test]
fn an_operation_that_is_given_up_is_neither_under_way_nor_counted() {
    let meter = Rc::new(Meter::default());
    drop(meter.begin(OpKind::Trim, 1 << 20, Nanos(0)));
    let activity = meter.activity();
    assert_eq!((activity.in_flight, activity.ended[OpKind::Trim as usize].took.count()), (0, 0));
}

#[test]
fn a_time_that_goes_back_counts_as_none() {
    let meter = Rc::new(Meter::default());
    meter.begin(OpKind::Read, 512, Nanos(5_000)).ended(Nanos(4_000));
    assert_eq!(meter.activity().ended[OpKind::Read as usize].took.total_us(), 0);
}

#[test]
fn what_two_threads_have_counted_adds_up() {
    let (one, other) = (Rc::new(Meter::default()), Rc::new(Meter::default()));
    one.begin(OpKind::Read, 4096, Nanos(0)).ended(Nanos(10_000));
    other.begin(OpKind::Read, 8192, Nanos(0)).ended(Nanos(20_000));
    let under_way = other.begin(OpKind::Read, 8192, Nanos(0));
    let (mut sum, mut by_size) = (one.activity(), one.latencies());
    sum.add(&other.activity());
    by_size.add(&other.latencies());
    let reads = &sum.ended[OpKind::Read as usize];
    assert_eq!((sum.in_flight, reads.took.total_us(), reads.bytes), (1, 30, 12_288));
    assert_eq!(by_size.of_kind(OpKind::Read).took.count(), 2);
    drop(under_way);
}
