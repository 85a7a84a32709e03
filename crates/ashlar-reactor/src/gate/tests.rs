use super::*;

#[cfg(not(ashlar_loom))]
#[test]
fn a_reactor_that_is_awake_is_not_rung() {
    let gate = Gate::new();
    assert!(!gate.announce());
    assert!(gate.take_pending());
    assert!(!gate.take_pending());
}

#[cfg(not(ashlar_loom))]
#[test]
fn a_sleeper_is_rung_by_the_first_caller_only() {
    let gate = Gate::new();
    assert!(gate.try_sleep());
    assert!(gate.announce());
    assert!(!gate.announce());
}

#[cfg(not(ashlar_loom))]
#[test]
fn nobody_falls_asleep_over_work() {
    let gate = Gate::new();
    assert!(!gate.announce());
    assert!(!gate.try_sleep());
    assert!(!gate.announce());
}

/// Every interleaving of two callers and a reactor that wants to sleep: either it does not sleep,
/// or exactly one of them rings.
#[cfg(ashlar_loom)]
#[test]
fn a_sleeper_with_work_is_always_rung() {
    use loom::sync::Arc;
    loom::model(|| {
        let gate = Arc::new(Gate::new());
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let gate = gate.clone();
                loom::thread::spawn(move || gate.announce())
            })
            .collect();
        let slept = gate.try_sleep();
        let rings = callers.into_iter().map(|caller| caller.join().unwrap()).filter(|rung| *rung);
        let rings = rings.count();
        assert!(rings <= 1);
        assert!(!slept || rings == 1);
    });
}
