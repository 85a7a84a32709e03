use super::*;

fn deed(caller: &str) -> Deed {
    Deed { caller: caller.to_owned(), problem: Some("no".to_owned()), ..Deed::default() }
}

fn told(refusals: &mut Refusals, now: Instant, caller: &str, times: usize) -> usize {
    (0..times).filter(|_| refusals.admit(now, caller, deed(caller)).is_some()).count()
}

#[test]
fn a_caller_who_asks_in_vain_without_end_takes_little_of_the_audit_log() {
    let (mut refusals, now) = (Refusals::default(), Instant::now());
    assert_eq!(told(&mut refusals, now, "a", 100_000), OF_CALLER_MAX as usize);
    assert_eq!(told(&mut refusals, now, "b", 3), 3, "another one is heard");
    assert!(refusals.take_untold(now + INTERVAL / 2).is_empty());
    let untold = refusals.take_untold(now + INTERVAL);
    let problem = format!("{} more were refused", 100_000 - OF_CALLER_MAX);
    assert_eq!(untold.len(), 1);
    assert!(untold[0].problem.as_ref().is_some_and(|it| it.starts_with(&problem)), "{untold:?}");
    assert_eq!(untold[0].caller, "a");
    assert_eq!(told(&mut refusals, now + INTERVAL, "a", 1), 1, "it counts anew");
}

#[test]
fn many_callers_take_no_more_than_all_may() {
    let (mut refusals, now) = (Refusals::default(), Instant::now());
    let all = (0..1000).map(|at| told(&mut refusals, now, &format!("caller {at}"), 2));
    assert_eq!(all.sum::<usize>(), REFUSALS_MAX as usize);
    assert_eq!(refusals.callers.len(), CALLERS_MAX);
    let untold = refusals.end();
    assert!(untold.len() <= CALLERS_MAX + 1 && refusals.end().is_empty());
}
