use super::*;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 1 << 40;

fn timing(class: &str) -> Timing {
    Timing::new(ModelName::parse(class).unwrap().profile().unwrap(), SIZE)
}

/// When the last of these ends, in microseconds, if all are asked for at once.
fn all_at_once(
    timing: &mut Timing,
    op: DeviceOp,
    offsets: impl Iterator<Item = u64>,
    bytes: u64,
) -> u64 {
    let ends = offsets.map(|offset| timing.begin(Nanos(0), op, offset, bytes));
    ends.max().unwrap().0 / NANOS_PER_MICRO
}

#[test]
fn a_read_that_is_alone_takes_what_the_media_take() {
    let mut timing = timing("nvme-gen4");
    let end = timing.begin(Nanos(5_000), DeviceOp::Read, 0, 4096);
    assert_eq!(end, Nanos(75_000));
}

#[test]
fn reads_share_the_units_and_then_the_way() {
    // 12,800 of 4 KiB by 128 units of 70 us each.
    let small = all_at_once(&mut timing("nvme-gen4"), DeviceOp::Read, 0..12_800, 4096);
    assert!((7_000..7_800).contains(&small), "{small}");
    let large =
        all_at_once(&mut timing("nvme-gen4"), DeviceOp::Read, (0..1000).map(|at| at * MIB), MIB);
    assert!((154_000..155_000).contains(&large), "1000 MiB at 6,800 MB/s: {large}");
}

#[test]
fn writes_are_quick_while_the_cache_has_room_and_then_as_quick_as_the_media() {
    let mut timing = timing("nvme-gen4");
    let end = timing.begin(Nanos(0), DeviceOp::Write, 0, MIB);
    assert_eq!(end, Nanos(14_000));
    let last = all_at_once(&mut timing, DeviceOp::Write, (1..1016).map(|at| at * MIB), MIB);
    assert!((261_000..263_000).contains(&last), "1000 MiB beyond the cache at 4,000 MB/s: {last}");
}

#[test]
fn writes_that_do_not_follow_each_other_cost_more() {
    let mut timing = timing("nvme-gen4");
    let last = all_at_once(&mut timing, DeviceOp::Write, (1..10_000).map(|at| at * 2 * 4096), 4096);
    let sequential = 10_000 * 4096 / 4000;
    assert!(last > 5 * sequential / 2 && last < 4 * sequential, "{last} beside {sequential}");
}

#[test]
fn several_streams_are_each_sequential() {
    let streams = |at: u64| (at % STREAMS as u64) * (SIZE / 64) + at / STREAMS as u64 * 4096;
    let last =
        all_at_once(&mut timing("nvme-gen4"), DeviceOp::Write, (0..20_000).map(streams), 4096);
    assert!(last < 20_000 * 4096 / 4000 + 1000, "{last}");
}

#[test]
fn an_arm_does_one_thing_after_the_other() {
    let mut timing = timing("nlsas-hdd");
    let from_afar = all_at_once(&mut timing, DeviceOp::Read, std::iter::once(SIZE / 2), 4096);
    assert!((14_000..16_000).contains(&from_afar), "{from_afar}");
    let next = timing.begin(Nanos(0), DeviceOp::Read, SIZE / 2 + 4096, 4096);
    assert!(next.0 / NANOS_PER_MICRO - from_afar < 200, "it goes on where it was");
    let random = all_at_once(
        &mut timing,
        DeviceOp::Write,
        (0..100).map(|at| at * 7919 % 100 * (SIZE / 100)),
        4096,
    );
    assert!((900_000..1_600_000).contains(&random), "some 80 a second: {random}");
}
