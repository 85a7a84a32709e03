use super::*;

#[test]
fn the_floor_grows_with_the_blocks_and_writes_have_parity_on_top() {
    let parts = Parts { codec_and_checksum_ns: 500.0, checksum_ns: 100.0, parity_ns: 80.0, drive_ns: 40.0 };
    let load = |direction, bytes| Load {
        direction,
        bytes,
        connections: 1,
        depth: 1,
        warm_up: Duration::ZERO,
        duration: Duration::ZERO,
    };
    assert_eq!(parts.of(&load(Direction::Read, 4096)), Duration::from_nanos(140));
    assert_eq!(parts.of(&load(Direction::Write, 4096)), Duration::from_nanos(630));
    assert_eq!(parts.of(&load(Direction::Write, 8192)), Duration::from_nanos(1260));
}
