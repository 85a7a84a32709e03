use super::*;

const PARTS: Parts = Parts {
    stored_fraction: 1.0,
    encode_ns: 500.0,
    parity_ns: 80.0,
    drive_write_ns: 50.0,
    decode_ns: 100.0,
    drive_read_ns: 40.0,
    drive_sequential_read_ns: 10.0,
};

fn floor_ns(direction: Direction, bytes: u32) -> u128 {
    PARTS.of(&Load::new(direction, bytes, 1, 1)).as_nanos()
}

#[test]
fn the_floor_grows_with_the_blocks_and_writes_have_parity_on_top() {
    assert_eq!(floor_ns(Direction::Write, 4096), 630);
    assert_eq!(floor_ns(Direction::Write, 8192), 1260);
    assert_eq!(floor_ns(Direction::Read, 4096), 140);
}

#[test]
fn neighbours_are_read_from_a_drive_together() {
    assert_eq!(floor_ns(Direction::Read, 8192), 220);
}

#[test]
fn what_compresses_leaves_less_to_write() {
    let drive = DriveParts { write_ns: 100.0, read_ns: 40.0, sequential_read_ns: 10.0 };
    let stripe = Stripe { data: 4, parity: 1 };
    let parts = [Content::Incompressible, Content::Compressible]
        .map(|content| Parts::measure(content, stripe, drive));
    assert_eq!((parts[0].stored_fraction, parts[0].drive_write_ns), (1.0, 125.0));
    assert!((0.5..0.55).contains(&parts[1].stored_fraction), "{}", parts[1].stored_fraction);
}
