use super::*;

const KIB: u64 = 1 << 10;
const TRANSFER: u32 = 1 << 20;

#[test]
fn a_read_takes_the_blocks_that_it_touches() {
    assert_eq!(read(&(0..4 * KIB)), 4 * KIB);
    assert_eq!(read(&(512..1024)), 4 * KIB);
    assert_eq!(read(&(3 * KIB..5 * KIB)), 8 * KIB);
    // Buffers are powers of two.
    assert_eq!(read(&(0..132 * KIB)), 256 * KIB);
    assert_eq!(read(&(512..512 + u64::from(TRANSFER))), 2048 * KIB);
}

#[test]
fn a_write_of_whole_blocks_takes_what_does_not_come_with_it() {
    assert_eq!(write(&(0..16 * KIB), 0), 0);
    assert_eq!(write(&(0..16 * KIB), 16 << 10), 16 * KIB);
}

#[test]
fn a_write_of_parts_of_blocks_takes_these_and_one_of_its_edges() {
    assert_eq!(write(&(512..1024), 0), 8 * KIB);
    assert_eq!(write(&(512..512 + 16 * KIB), 16 << 10), (16 + 32 + 4) * KIB);
}

#[test]
fn a_compare_takes_both_sides() {
    assert_eq!(compare(&(0..16 * KIB), 0), 16 * KIB);
    assert_eq!(compare(&(0..16 * KIB), 16 << 10), 32 * KIB);
    assert_eq!(compare(&(512..1024), 512), 8 * KIB);
}

#[test]
fn a_compare_and_write_takes_the_data_of_both_and_the_blocks() {
    assert_eq!(compare_and_write(&(0..16 * KIB), [0, 0]), 16 * KIB);
    assert_eq!(compare_and_write(&(0..16 * KIB), [0, 16 << 10]), 32 * KIB);
    assert_eq!(compare_and_write(&(0..16 * KIB), [16 << 10, 16 << 10]), 48 * KIB);
}

#[test]
fn zeros_take_a_block_where_one_is_zeroed_in_part() {
    assert_eq!(write_zeroes(&(0..32 << 20)), 0);
    assert_eq!(write_zeroes(&(512..32 << 20)), 4 * KIB);
    assert_eq!(write_zeroes(&(512..1024)), 4 * KIB);
}

#[test]
fn a_verify_takes_a_part_at_a_time_and_leaves_none_out() {
    for transfer in [4 << 10, 128 << 10, TRANSFER, 16 << 20] {
        for range in [0..4096, 512..1024, 0..256 << 20, 3 << 20..5 << 20, 1_048_064..9_437_696] {
            let mut at = range.start;
            for part in verified_parts(range.clone(), transfer) {
                assert_eq!(part.start, at);
                assert!(verify(&part) <= u64::from(transfer).min(1 << 20));
                at = part.end;
            }
            assert_eq!(at, range.end);
        }
    }
}

#[test]
fn no_command_takes_more_than_the_largest() {
    for transfer in [4 << 10, 8 << 10, TRANSFER, 16 << 20] {
        let longest = u64::from(transfer);
        for range in [0..longest, 512..512 + longest, 4095..4095 + longest] {
            let takes = [
                read(&range),
                write(&range, transfer),
                compare(&range, transfer),
                compare_and_write(&range, [transfer; 2]),
                write_zeroes(&range),
            ];
            assert!(
                takes.iter().all(|takes| *takes <= largest(transfer)),
                "{takes:?} of {transfer}"
            );
        }
    }
    assert_eq!(
        compare_and_write(&(512..512 + u64::from(TRANSFER)), [TRANSFER; 2]),
        largest(TRANSFER)
    );
}
