use super::*;

fn of(times_us: impl IntoIterator<Item = u64>) -> Histogram {
    let mut all = Histogram::default();
    times_us.into_iter().for_each(|us| all.record(Duration::from_micros(us)));
    all
}

fn counts(all: &Histogram) -> Vec<(u64, u64)> {
    all.buckets().map(|bucket| (bucket.from_us, bucket.count)).collect()
}

#[test]
fn every_time_up_to_134_s_is_found_within_a_sixty_fourth() {
    let mut us = 0;
    while us < 134_000_000 {
        let bucket = of([us]).buckets().next().expect("it is counted");
        let covered = bucket.from_us..bucket.from_us + bucket.width_us;
        assert!(covered.contains(&us), "{us} is not in {covered:?}");
        assert!(bucket.width_us == 1 || bucket.width_us * 64 <= us, "{us}: {}", bucket.width_us);
        us += us / 97 + 1;
    }
}

#[test]
fn groups_follow_each_other_without_a_gap() {
    let edges = [(63, (0, 63)), (64, (1, 0)), (127, (1, 63)), (128, (2, 0)), (255, (2, 63))];
    edges.iter().for_each(|(us, at)| assert_eq!(place(*us), *at, "{us}"));
    for group in 1..GROUPS {
        let first = BUCKETS as u64 * width_us(group);
        assert_eq!((place(first - 1), place(first)), ((group - 1, 63), (group, 0)), "{group}");
    }
}

#[test]
fn quantiles_of_a_known_spread_are_right_to_two_digits() {
    let all = of(1..=10_000);
    for (part, us) in [(0.5, 5_000.0), (0.99, 9_900.0), (0.999, 9_990.0), (1.0, 10_000.0)] {
        let found = all.quantile(part).expect("there are some").as_micros() as f64;
        assert!((found / us - 1.0).abs() < 0.01, "{part}: {found}");
    }
    assert_eq!(all.mean(), Some(Duration::from_nanos(5_000_500)));
    assert_eq!(all.max(), Some(Duration::from_micros(10_000)));
}

#[test]
fn nothing_counted_has_no_figures() {
    let none = Histogram::default();
    let figures = (none.quantile(0.5), none.mean(), none.max(), none.count());
    assert_eq!(figures, (None, None, None, 0));
}

#[test]
fn what_took_longer_than_the_last_bucket_is_counted_in_it() {
    let all = of([u64::MAX / 1_000, 1_000_000_000]);
    assert_eq!(all.buckets().map(|bucket| bucket.count).sum::<u64>(), 2);
    assert_eq!(all.group(GROUPS - 1).map(|group| group[BUCKETS - 1]), Some(2));
}

#[test]
fn sums_are_those_of_both() {
    let mut sum = of([5, 70, 9_000]);
    sum.add(&of([5, 1_000_000]));
    assert_eq!((sum.count(), sum.total_us()), (5, 1_009_080));
    assert_eq!(sum.group(0).map(|group| group[5]), Some(2));
    assert_eq!(sum.max(), Some(Duration::from_secs(1)));
}

#[test]
fn what_others_have_counted_is_the_same_again() {
    let all = of([1, 63, 64, 65, 1_000, 1_001, 77_777, 5_000_000]);
    let again = Histogram::of_parts(counts(&all), all.total_us(), 5_000_000);
    assert_eq!(counts(&again), counts(&all));
    assert_eq!((again.count(), again.mean(), again.max()), (all.count(), all.mean(), all.max()));
}

#[test]
fn of_two_states_the_difference_is_what_came_between() {
    let before = of([5, 5, 300]);
    let mut now = before.clone();
    now.add(&of([5, 80, 80]));
    let new = now.since(&before).expect("it goes on");
    assert_eq!(counts(&new), [(5, 1), (80, 2)]);
    assert_eq!((new.count(), new.total_us()), (3, 165));
    assert_eq!(new.max(), Some(Duration::from_micros(80)), "longer ones came before");
    now.add(&of([900]));
    let longest = now.since(&before).expect("it goes on").max();
    assert_eq!(longest, Some(Duration::from_micros(900)));
    assert_eq!(now.since(&now).map(|none| none.count()), Some(0));
}

#[test]
fn one_that_was_begun_anew_has_no_difference() {
    let before = of([5, 300, 300]);
    assert!(of([]).since(&before).is_none());
    assert!(of([5, 300]).since(&before).is_none());
    assert!(of([5, 9, 9, 9_000_000]).since(&before).is_none(), "less in one bucket");
}
