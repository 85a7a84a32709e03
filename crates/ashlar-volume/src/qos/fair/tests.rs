use std::time::Duration;

use ashlar_block::XorShift;
use bench::{Bench, Done, Load, Store, all_the_time};

use super::share::COMMAND;
use super::*;

mod bench;

const SECOND: u64 = 1_000_000_000;
const KIB: u64 = 1 << 10;

#[test]
fn volumes_that_want_more_than_there_is_get_it_by_their_weights() {
    let done =
        Bench::shares(&[(100, all_the_time(64 * KIB, 32)), (300, all_the_time(64 * KIB, 16))]);
    let ratio = done[1] / done[0];
    assert!((2.8..3.2).contains(&ratio), "{ratio}");
}

#[test]
fn weights_hold_beside_a_volume_of_the_least_weight() {
    let bystander = (1, all_the_time(4 * KIB, 1));
    let done = Bench::shares(&[
        (100, all_the_time(64 * KIB, 32)),
        (300, all_the_time(64 * KIB, 16)),
        bystander,
    ]);
    let ratio = done[1] / done[0];
    assert!((2.8..3.2).contains(&ratio), "{ratio}");
    // And what one has outstanding is of no account.
    let few_and_many = [(100, all_the_time(64 * KIB, 4)), (100, all_the_time(64 * KIB, 128))];
    let done = Bench::shares(&[few_and_many[0], few_and_many[1], bystander]);
    let ratio = done[1] / done[0];
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn weights_hold_however_far_they_are_from_each_other() {
    for weight in [10, 100] {
        let load = all_the_time(64 * KIB, 32);
        let done = Bench::shares(&[(10, load), (10 * weight, load)]);
        let ratio = done[1] / done[0] / f64::from(weight);
        assert!((0.85..1.2).contains(&ratio), "{ratio} of 1:{weight}");
    }
    let mut volumes = vec![(100, all_the_time(64 * KIB, 32)); 8];
    volumes.push((1000, all_the_time(64 * KIB, 8)));
    let done = Bench::shares(&volumes);
    let part = done[8] / done.iter().sum::<f64>();
    assert!((0.5..0.6).contains(&part), "{part}");
}

#[test]
fn weights_hold_where_data_are_long_in_coming_and_the_store_is_not_always_as_fast() {
    for reads in [4 * KIB, 64 * KIB] {
        let mut bench = Bench::new(Store::Uneven(Rc::default()));
        // One alone has more and more there, beside one that is used now and then.
        bench.volume(100, all_the_time(64 * KIB, 128));
        let rarely = Load { bytes: 256 * KIB, outstanding: 1, pause: Duration::from_millis(100) };
        bench.volume(100, rarely);
        bench.run_for(8 * SECOND);
        (0..129).for_each(|_| bench.tasks.drop_task(0));
        let done = bench.shares_after(
            2 * SECOND,
            10 * SECOND,
            &[
                (100, all_the_time(64 * KIB, 64)),
                (300, all_the_time(64 * KIB, 64)),
                (1, all_the_time(reads, 1)),
            ],
        );
        let ratio = done[1] / done[0];
        assert!((2.7..3.3).contains(&ratio), "{ratio}");
        // It is kept busy: a MiB of costs takes a millisecond.
        let all = done[0] + done[1];
        assert!(all > 10.0 * 0.75 * f64::from(1 << 30) * 64.0 / 76.0, "{all}");
    }
}

#[test]
fn weights_hold_where_all_that_hosts_have_outstanding_takes_the_store_longer_than_an_epoch() {
    for burst in [1, 20_000_000, 100_000_000] {
        let mut bench = Bench::new(Store::Slow(Rc::default(), burst));
        // One has all that it wants there, which takes a third of a second, beside one that is used
        // now and then.
        bench.volume(100, all_the_time(64 * KIB, 128));
        let rarely = Load { bytes: 256 * KIB, outstanding: 1, pause: Duration::from_millis(100) };
        bench.volume(100, rarely);
        bench.run_for(15 * SECOND);
        (0..129).for_each(|_| bench.tasks.drop_task(0));
        let load = all_the_time(64 * KIB, 64);
        let bystander = (1, all_the_time(4 * KIB, 1));
        let volumes = [(100, load), (300, load), bystander];
        let done = bench.shares_after(5 * SECOND, 10 * SECOND, &volumes);
        let ratio = done[1] / done[0];
        let part = (done[0] + done[1]) * 76.0 / 64.0 / (10.0 * 1e9 / 32.0);
        assert!((2.7..3.3).contains(&ratio), "{burst}: {ratio}");
        assert!(part > 0.75, "{burst}: {part}");
    }
}

/// By bytes alone the fast one did 6 MB in a second, no more than a slow one; and where what ends
/// does so in long bursts, all of them did nothing.
#[test]
fn a_volume_that_the_store_serves_fast_does_not_wait_for_slow_ones_and_their_weights_hold() {
    for (burst, outstanding) in [(1, 1), (20_000_000, 6), (20_000_000, 32), (100_000_000, 32)] {
        let mut bench = Bench::new(Store::Slow(Rc::default(), burst));
        let load = all_the_time(64 * KIB, 64);
        let slow = [bench.volume(100, load), bench.volume(300, load)];
        bench.store = Store::serial();
        let fast = bench.volume(100, all_the_time(64 * KIB, outstanding));
        bench.run_for(20 * SECOND);
        slow.iter().chain([&fast]).for_each(Done::forget);
        bench.run_for(40 * SECOND);
        let slow = slow.map(|done| done.bytes.get() as f64);
        let ratio = slow[1] / slow[0];
        assert!((2.55..3.45).contains(&ratio), "{burst} {outstanding}: {ratio}");
        let part = (slow[0] + slow[1]) * 76.0 / 64.0 / (40.0 * 1e9 / 32.0);
        assert!(part > 0.75, "{burst} {outstanding}: {part}");
        let fast_per_second = (fast.bytes.get() / 40) >> 20;
        assert!(fast_per_second >= 40 * outstanding.min(5) as u64, "{fast_per_second}");
    }
}

#[test]
fn where_nobody_takes_anything_from_anybody_all_that_hosts_have_outstanding_is_soon_there() {
    let load = all_the_time(64 * KIB, 16);
    let bench = Bench::new(Store::Far);
    let done = bench.shares_after(15 * SECOND, 60 * SECOND, &[(100, load), (300, load)]);
    let most = (16 * 64 * KIB * 50 * 60) as f64;
    assert!(done.iter().all(|done| *done > 0.85 * most), "{done:?} of {most}");
}

#[test]
fn a_volume_whose_commands_take_longer_to_come_has_its_part_all_the_same() {
    for (near, far) in [(100, 300), (300, 100), (300, 300)] {
        let mut bench = Bench::new(Store::serial());
        let load = all_the_time(64 * KIB, 128);
        let volumes = [near, far].map(|weight| {
            let volume = bench.share.volume();
            volume.set_weight(weight);
            volume
        });
        let near_done = bench.load(&volumes[0], load);
        let far_done = bench.far_load(&volumes[1], load, Duration::from_millis(1));
        bench.run_for(5 * SECOND);
        near_done.forget();
        far_done.forget();
        bench.run_for(5 * SECOND);
        let ratio = far_done.bytes.get() as f64 / near_done.bytes.get() as f64;
        let expected = f64::from(far) / f64::from(near);
        assert!((0.85..1.15).contains(&(ratio / expected)), "{ratio} instead of {expected}");
    }
}

#[test]
fn volumes_of_any_weights_sizes_and_depths_get_their_parts() {
    for seed in 0..30 {
        let mut random = XorShift::new(seed);
        let volumes: Vec<(u16, Load)> = (0..2 + random.below(5))
            .map(|_| {
                let bytes = (4 * KIB) << random.below(6);
                let outstanding = (1 + (1 << 20) / bytes) as usize + random.below(64) as usize;
                (20 + random.below(400) as u16, all_the_time(bytes, outstanding))
            })
            .chain([(1, all_the_time(4 * KIB, 1))])
            .collect();
        let done = Bench::shares(&volumes);
        let cost = |index: usize| {
            let bytes = volumes[index].1.bytes as f64;
            done[index] / bytes * (bytes + COMMAND as f64)
        };
        let all: f64 = (0..volumes.len()).map(cost).sum();
        let weights: f64 = volumes.iter().map(|it| f64::from(it.0)).sum();
        for (index, (weight, load)) in volumes[..volumes.len() - 1].iter().enumerate() {
            let part = f64::from(*weight) / weights;
            let off = cost(index) / all - part;
            assert!(off.abs() < 0.01 + 0.12 * part, "{seed}: {part} {off} {}", load.bytes);
        }
    }
}

#[test]
fn a_volume_that_was_idle_has_neither_saved_up_nor_owes_anything() {
    for weight in [1, 100] {
        let mut bench = Bench::new(Store::serial());
        let volume = bench.share.volume();
        volume.set_weight(weight);
        let other = bench.volume(weight, all_the_time(64 * KIB, 32));
        bench.load(&volume, all_the_time(64 * KIB, 32));
        bench.run_for(SECOND / 5);
        (0..32).for_each(|_| bench.tasks.drop_task(32));
        bench.run_for(SECOND);
        let again = bench.load(&volume, all_the_time(64 * KIB, 32));
        bench.run_for(SECOND / 100);
        other.forget();
        again.forget();
        bench.run_for(SECOND / 10);
        let ratio = again.bytes.get() as f64 / other.bytes.get() as f64;
        assert!((0.85..1.18).contains(&ratio), "{ratio}");
    }
}

#[test]
fn a_volume_within_its_part_waits_for_no_turn_behind_a_noisy_one() {
    let often =
        |pause| Load { bytes: 4 * KIB, outstanding: 1, pause: Duration::from_millis(pause) };
    // Those that come four times a second are protected as well.
    for (pause, seconds) in [(5, 1), (250, 8)] {
        let mut bench = Bench::new(Store::serial());
        let quiet = bench.volume(100, often(pause));
        bench.volume(100, all_the_time(64 * KIB, 128));
        bench.run_for(SECOND / 2);
        quiet.forget();
        bench.run_for(seconds * SECOND);
        // What the store has at a time, and its own.
        let most = (256 + 2 * 76 + 16) * KIB;
        assert!(quiet.p99() <= most, "{} ns", quiet.p99());
    }
}

#[test]
fn where_the_depth_is_no_use_to_the_pool_it_falls_to_what_protects_best() {
    let mut bench = Bench::new(Store::serial());
    let quiet =
        bench.volume(100, Load { bytes: 4 * KIB, outstanding: 1, pause: Duration::from_millis(2) });
    let noisy = bench.volume(100, all_the_time(64 * KIB, 128));
    bench.run_for(15 * SECOND);
    quiet.forget();
    noisy.forget();
    bench.run_for(3 * SECOND);
    // It waits for two of the commands of the noisy one at most, of which each takes 76 µs.
    assert!(quiet.p99() < 200_000, "{} ns", quiet.p99());
    assert!(noisy.bytes.get() > 3 * (780 << 20), "{}", noisy.bytes.get());
}

#[test]
fn drives_that_do_much_at_a_time_are_kept_busy_beside_a_volume_that_is_protected() {
    let p99_of = |noise: bool| {
        let mut bench = Bench::new(Store::drives());
        let load = Load { bytes: 4 * KIB, outstanding: 1, pause: Duration::from_millis(2) };
        let quiet = bench.volume(100, load);
        let noisy = bench.volume(100, all_the_time(64 * KIB, if noise { 128 } else { 0 }));
        bench.run_for(15 * SECOND);
        quiet.forget();
        noisy.forget();
        bench.run_for(3 * SECOND);
        (quiet.p99(), noisy.bytes.get() / 3)
    };
    let ((alone, _), (beside, noisy)) = (p99_of(false), p99_of(true));
    assert!(beside < alone * 3 / 2, "{beside} instead of {alone} ns");
    assert!(noisy > 4 << 30, "{noisy} bytes per second");
}

#[test]
fn drives_that_do_much_at_a_time_are_kept_busy_by_volumes_that_take_turns() {
    let load = all_the_time(64 * KIB, 256);
    let bench = Bench::new(Store::drives());
    let done = bench.shares_after(5 * SECOND, 10 * SECOND, &[(100, load), (300, load)]);
    // A drive does two bytes in a nanosecond.
    let most = (8 * 2 * 10 * SECOND) as f64;
    let part = (done[0] + done[1]) / most;
    assert!(part > 0.75, "{part}");
    let ratio = done[1] / done[0];
    assert!((2.7..3.3).contains(&ratio), "{ratio}");
}

#[test]
fn a_volume_alone_is_not_bounded_and_one_that_nobody_is_protected_from_is_not_for_long() {
    let mut bench = Bench::new(Store::drives());
    let (one, other) = (bench.share.volume(), bench.share.volume());
    let in_store = |bench: &Bench| bench.share.state.borrow().in_store.sum();
    bench.load(&one, all_the_time(64 * KIB, 64));
    bench.tasks.run();
    assert_eq!(in_store(&bench), 64 * (64 * KIB + COMMAND));
    // Something large once in a while.
    let rarely = Load { bytes: 256 * KIB, outstanding: 1, pause: Duration::from_millis(100) };
    bench.load(&other, rarely);
    bench.run_for(SECOND / 5);
    assert!(in_store(&bench) < 10 * (64 * KIB + COMMAND));
    bench.run_for(10 * SECOND);
    assert!(in_store(&bench) >= 64 * (64 * KIB + COMMAND));
}

#[test]
fn commands_that_hang_keep_nobody_from_the_store() {
    let mut bench = Bench::new(Store::serial());
    let hung = bench.share.volume();
    for _ in 0..100 {
        let (share, volume) = (bench.share.clone(), hung.clone());
        bench.tasks.spawn(async move {
            let _in_store = share.enter(&volume, OpKind::Write, 1 << 20).await;
            std::future::pending::<()>().await;
        });
    }
    let other = bench.volume(100, all_the_time(256 * KIB, 16));
    bench.run_for(SECOND);
    let bytes_per_second = other.bytes.get();
    assert!(bytes_per_second > 700 << 20, "{bytes_per_second}");
}

#[test]
fn whoever_has_waited_for_long_goes_next_whatever_its_weight() {
    let mut bench = Bench::new(Store::serial());
    let light = bench.volume(1, all_the_time(64 * KIB, 1024));
    bench.volume(1000, all_the_time(64 * KIB, 32));
    bench.run_for(15 * SECOND);
    let longest = light.took.borrow().iter().max().copied().unwrap();
    assert!(longest < 7 * SECOND, "{longest} ns");
    assert!(light.took.borrow().len() > 1500);
}

/// What was served because it was overdue counted as debt: after an hour, of half a day.
#[test]
fn whoever_was_overdue_for_long_owes_nothing_once_its_weight_is_raised() {
    let mut bench = Bench::new(Store::serial());
    let volume = bench.share.volume();
    volume.set_weight(1);
    let light = bench.load(&volume, all_the_time(64 * KIB, 512));
    let heavy = bench.volume(1000, all_the_time(64 * KIB, 32));
    bench.run_for(20 * SECOND);
    volume.set_weight(1000);
    bench.run_for(SECOND);
    light.forget();
    heavy.forget();
    bench.run_for(2 * SECOND);
    let ratio = light.bytes.get() as f64 / heavy.bytes.get() as f64;
    assert!((0.85..1.18).contains(&ratio), "{ratio}");
}

#[test]
fn those_who_wait_have_one_timer_between_them_also_when_who_has_it_gives_up() {
    let mut bench = Bench::new(Store::serial());
    let (hung, other) = (bench.share.volume(), bench.share.volume());
    for index in 0..200 {
        let (share, volume) = (bench.share.clone(), [&hung, &other][index % 2].clone());
        bench.tasks.spawn(async move {
            let _in_store = share.enter(&volume, OpKind::Write, 1 << 20).await;
            std::future::pending::<()>().await;
        });
    }
    bench.tasks.run();
    let in_store = || bench.share.state.borrow().in_store.sum();
    assert!(in_store() < 3 << 20 && bench.tasks.clock.sleeping_count() == 1);
    // The one that waits first has the timer.
    (0..8).for_each(|_| bench.tasks.drop_task(0));
    bench.tasks.run();
    assert_eq!(bench.tasks.clock.sleeping_count(), 1);
    let done = bench.volume(100, all_the_time(4 * KIB, 1));
    bench.run_for(30 * SECOND);
    assert!(!done.took.borrow().is_empty());
}

#[test]
fn what_gives_up_while_it_waits_or_is_in_the_store_leaves_nothing_behind() {
    let mut bench = Bench::new(Store::serial());
    let volumes = [bench.share.volume(), bench.share.volume()];
    volumes.iter().for_each(|it| drop(bench.load(it, all_the_time(128 * KIB, 32))));
    bench.run_for(SECOND / 10);
    // Those in the middle of a line first.
    (0..24).for_each(|_| bench.tasks.drop_task(4));
    (0..40).for_each(|_| bench.tasks.drop_task(0));
    let state = bench.share.state.borrow();
    assert_eq!(state.in_store.sum(), 0);
    assert!(state.nobody_waits());
    assert!(volumes.iter().all(|it| it.in_store.get().sum() == 0 && it.queue.borrow().is_empty()));
}
