use crate::Arguments;
use crate::plan::Plan;
use crate::scenario::run;
use ashlar_block::XorShift;
use ashlar_raid::Level;
use ashlar_store::{OpenError, Options};
use clap::Parser;

#[test]
fn a_full_pool_reads_and_trims_on_and_is_written_again() {
    for seed in 1..=3 {
        let outcome = run(seed, Plan::full).unwrap_or_else(|error| panic!("{error}"));
        assert!(outcome.refused > 0 && outcome.collected > 0, "{outcome:?}");
    }
}

/// What `make simulate` runs: the program is the same, and would have to be built beside the tests.
#[test]
#[ignore = "`make simulate` runs it: it takes minutes"]
fn as_many_states_as_sim_states_says() {
    let states = std::env::var("SIM_STATES").expect("SIM_STATES says how many");
    let arguments = Arguments::parse_from(["sim", "--states", &states, "--coverage"]);
    crate::simulate(&arguments).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_seed_always_does_the_same() {
    let once = run(7, Plan::of).unwrap_or_else(|error| panic!("{error}"));
    let again = run(7, Plan::of).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(format!("{once:?}"), format!("{again:?}"));
}

#[test]
fn some_seeds_of_everything() {
    for seed in 1..=20 {
        run(seed, Plan::of).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Of three copies one was away, and the drive of another one hung while the pool was opened: it
/// was refused, and the next start opened it.
#[test]
fn a_pool_that_too_few_drives_confirm_may_be_refused_only_while_drives_hang() {
    let plan = |hangs| Plan { hangs, ..Plan::faults(&mut XorShift::new(1)) };
    let may_be = |plan: &Plan, spared| {
        let unclaimed = OpenError::Unclaimed { claimed: 1, needed: 2 };
        crate::start::may_be_refused(&unclaimed, plan, spared)
    };
    assert!(may_be(&plan(true), false));
    assert!(!may_be(&plan(true), true), "nothing goes wrong any more");
    assert!(!may_be(&plan(false), false));
}

#[test]
fn a_clock_that_jumps_by_ten_years_costs_nothing() {
    let outcomes =
        [15, 31, 47, 63].map(|seed| run(seed, Plan::of).unwrap_or_else(|error| panic!("{error}")));
    let collected: u64 = outcomes.iter().map(|outcome| outcome.collected).sum();
    assert!(collected > 0, "the ages of segments were never asked for: {outcomes:?}");
}

/// Headers and ends of rows were garbage to the collector, which took segments of small blocks over
/// and over, and a pool that promised room for their data had none for their records.
#[test]
fn a_pool_of_small_blocks_holds_what_it_promises_and_is_overwritten() {
    let small = crate::small::fill_and_overwrite(Options::default())
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(small.collected > 0 && small.moved < 2.0, "{small:?}");
}

/// Collection had all the time of a pool that was busy and nearly full, and the map outgrew its
/// memory.
#[test]
fn a_busy_pool_that_is_nearly_full_keeps_its_map_within_its_memory() {
    let map_memory_bytes = 4 << 20;
    let options = Options { map_memory_bytes, ..Options::default() };
    let small = crate::small::fill_and_overwrite(options).unwrap_or_else(|error| panic!("{error}"));
    assert!(small.map_bytes < map_memory_bytes as u64 * 5 / 4, "{small:?}");
    assert!(small.moved < 3.0, "{small:?}");
}

#[test]
fn a_checkpoint_writes_no_more_than_is_kept_for_it_however_large_a_shard_is() {
    crate::lopsided::overwrite_and_reopen().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn what_a_start_would_have_to_replay_is_bounded_in_records() {
    let checkpoints =
        crate::overwritten::checkpoints_of_one_block().unwrap_or_else(|error| panic!("{error}"));
    assert!(checkpoints.iter().all(|count| *count >= 4), "{checkpoints:?}");
}

/// The smallest drive said how much the larger ones held.
#[test]
fn a_pool_of_unequal_drives_takes_what_it_says() {
    let pools: [(Level, &[u64]); 6] = [
        (Level::RAID5, &[120, 120, 120, 120, 60]),
        (Level::RAID5, &[160, 80, 60, 60, 40]),
        (Level::RAID5, &[160, 160, 40, 40, 40, 40, 40, 40]),
        (Level::RAID6, &[150, 125, 100, 75, 50, 40]),
        (Level::RAID1, &[200, 120, 60, 60]),
        ("4+2".parse().expect("a level"), &[100, 100, 100, 100, 80, 60, 60, 40]),
    ];
    for (level, chunks) in pools {
        let done = crate::mixed::fill_and_grow(2, level, chunks, &[]);
        done.unwrap_or_else(|error| panic!("level {level} on {chunks:?}: {error}"));
    }
}

/// A drive of half the size of the others took a third of the room away, and the pool was full.
/// Later, with narrow segments alone left free, what lived in a wide victim had nowhere to go: two
/// pools of fourteen took no more than 88 % of what was said to be safe.
#[test]
fn a_full_pool_takes_more_with_a_drive_more_of_any_size() {
    let pools: [(Level, &[u64], &[u64]); 4] = [
        (Level::RAID5, &[120, 120, 120, 120], &[60, 40, 200]),
        (Level::RAID5, &[60, 60, 60], &[34, 34, 34]),
        (Level::RAID6, &[100, 100, 100, 100], &[50, 40]),
        (Level::RAID1, &[100, 100], &[40, 150]),
    ];
    for (level, chunks, added) in pools {
        for seed in 1..=2 {
            let done = crate::mixed::fill_and_grow(seed, level, chunks, added);
            done.unwrap_or_else(|error| {
                panic!("seed {seed}, level {level} on {chunks:?} with {added:?}: {error}")
            });
        }
    }
}
