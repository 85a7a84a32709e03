use super::*;

#[test]
fn a_rate_is_shared_by_the_workers_who_begin_one_after_the_other() {
    let rates = |worker| {
        let pace = Pace::new(Some(4000), worker, 8);
        (pace.interval, pace.due)
    };
    let (first, last) = (rates(0), rates(7));
    assert_eq!(first.0, Some(Duration::from_millis(2)));
    assert!(last.1.since(first.1) >= Duration::from_micros(1750));
    assert_eq!(Pace::new(None, 0, 8).interval, None);
}
