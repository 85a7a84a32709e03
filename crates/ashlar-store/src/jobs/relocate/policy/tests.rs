use super::*;

const TWELVE_DISKS: Conditions = Conditions {
    drives: 12,
    columns: 10,
    is_spinning: true,
    share: 1000,
    segment_rows: 4096,
    memory_bytes: 128 << 20,
};

fn bytes(now: &Conditions, pacing: Pacing) -> usize {
    let steps = STEPS_IN_MEMORY + pacing.steps_ahead;
    pacing.lanes_max * pacing.step_rows as usize * now.columns * SECTOR_BYTES * steps
}

#[test]
fn a_lane_for_each_stripe_keeps_drives_busy_that_seek_and_two_keep_flash() {
    let flash = Conditions { is_spinning: false, ..TWELVE_DISKS };
    assert_eq!((pacing(&TWELVE_DISKS).lanes_max, pacing(&flash).lanes_max), (1, 2));
    assert_eq!(pacing(&Conditions { share: 100, ..flash }).lanes_max, 1);
    let sixty = Conditions { drives: 60, ..flash };
    assert_eq!(pacing(&sixty).lanes_max, 12);
    assert_eq!(pacing(&Conditions { share: 999, ..sixty }).lanes_max, 6);
}

#[test]
fn a_lane_reads_ahead_where_no_host_waits() {
    let ahead = |share| pacing(&Conditions { share, ..TWELVE_DISKS }).steps_ahead;
    assert_eq!((ahead(1000), ahead(999)), (STEPS_AHEAD, 0));
}

#[test]
fn a_lane_copies_more_at_a_time_where_drives_seek_and_where_no_host_waits() {
    let rows =
        |is_spinning, share| pacing(&Conditions { is_spinning, share, ..TWELVE_DISKS }).step_rows;
    assert_eq!((rows(true, 200), rows(false, 1000), rows(false, 200)), (256, 32, 16));
}

#[test]
fn lanes_stay_within_their_memory_and_there_is_always_one() {
    for drives in [2, 12, 60, 500] {
        for columns in [2, 10, 18] {
            for memory_bytes in [0, 1 << 20, 16 << 20, 128 << 20, 4 << 30] {
                let now = Conditions { drives, columns, memory_bytes, ..TWELVE_DISKS };
                let pacing = pacing(&now);
                assert!(pacing.lanes_max > 0 && pacing.step_rows > 0, "{now:?}: {pacing:?}");
                let least =
                    FLASH_ROWS as usize * columns * SECTOR_BYTES * (STEPS_IN_MEMORY + STEPS_AHEAD);
                let most = memory_bytes.min(MEMORY_BYTES_MAX).max(least);
                assert!(bytes(&now, pacing) <= most, "{now:?}: {pacing:?}");
            }
        }
    }
}

#[test]
fn a_small_segment_has_steps_too() {
    let small = Conditions { segment_rows: 16, is_spinning: false, ..TWELVE_DISKS };
    assert_eq!(pacing(&small).step_rows, 4);
    assert_eq!(pacing(&Conditions { segment_rows: 1, ..small }).step_rows, 1);
}

#[test]
fn what_a_crash_has_copied_again_is_a_hundredth_of_the_pool_or_4_gib() {
    let (mib, most) = (1 << 20, 4096);
    assert_eq!(unsettled_columns_max(100, mib, most), 64, "in a small pool a checkpoint is cheap");
    assert_eq!(unsettled_columns_max(100_000, mib, most), 1000);
    assert_eq!(unsettled_columns_max(100_000_000, mib, most), 4096);
    assert_eq!(unsettled_columns_max(100_000_000, 16 * mib, most), 256);
    assert_eq!(unsettled_columns_max(100_000_000, mib, 300), 300);
}
