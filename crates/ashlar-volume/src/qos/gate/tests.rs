use std::cell::RefCell;
use std::num::NonZeroU64;
use std::rc::Rc;

use ashlar_block::within;

use super::*;
use crate::qos::policy::{Flow, Limits};
use crate::qos::testing::{Tasks, TestClock};

const SECOND: u64 = 1_000_000_000;

/// When commands have begun, in nanoseconds.
type Begun = Rc<RefCell<Vec<u64>>>;

fn iops(flow: Flow, limit: u64) -> Limits {
    let mut limits = Limits::default();
    *limits.iops.of_mut(flow) = NonZeroU64::new(limit);
    limits
}

fn throttle(limits: Limits) -> Arc<Throttle> {
    let throttle = Arc::<Throttle>::default();
    throttle.set(&limits, 1 << 30, Nanos(0));
    throttle
}

fn gate(tasks: &Tasks, throttle: &Arc<Throttle>) -> Rc<Gate<TestClock>> {
    Rc::new(Gate::new(tasks.clock.clone(), throttle.clone()))
}

/// As many commands of a host as are named, outstanding all the time. A command takes 50 µs.
fn spawn_host(
    tasks: &mut Tasks,
    gate: &Rc<Gate<TestClock>>,
    (kind, bytes): (OpKind, u64),
    outstanding: usize,
) -> Begun {
    let begun = Begun::default();
    for _ in 0..outstanding {
        let (gate, begun, clock) = (gate.clone(), begun.clone(), tasks.clock.clone());
        tasks.spawn(async move {
            loop {
                if !gate.try_pass(kind, bytes) {
                    gate.pass(kind, bytes, clock.now()).await;
                }
                begun.borrow_mut().push(clock.now().0);
                clock.sleep(Duration::from_micros(50)).await;
            }
        });
    }
    begun
}

fn count(begun: &Begun, from: u64, to: u64) -> usize {
    begun.borrow().iter().filter(|at| (from..to).contains(*at)).count()
}

#[test]
fn a_limit_is_held_over_ten_seconds_and_over_each() {
    let mut tasks = Tasks::default();
    let gate = gate(&tasks, &throttle(iops(Flow::All, 1000)));
    let begun = spawn_host(&mut tasks, &gate, (OpKind::Read, 4096), 8);
    tasks.run_until(Nanos(11 * SECOND));
    let all = count(&begun, SECOND, 11 * SECOND);
    assert!((9_990..=10_010).contains(&all), "{all} in ten seconds");
    for second in 0..11 {
        let each = count(&begun, second * SECOND, (second + 1) * SECOND);
        assert!((950..=1110).contains(&each), "{each} in second {second}");
    }
}

#[test]
fn reads_and_writes_share_a_limit_of_both_and_neither_starves() {
    let mut tasks = Tasks::default();
    let gate = gate(&tasks, &throttle(iops(Flow::All, 100)));
    let reads = spawn_host(&mut tasks, &gate, (OpKind::Read, 4096), 4);
    let writes = spawn_host(&mut tasks, &gate, (OpKind::Write, 4096), 4);
    tasks.run_until(Nanos(10 * SECOND));
    let [reads, writes] = [&reads, &writes].map(|begun| count(begun, SECOND, 10 * SECOND));
    assert!((895..=905).contains(&(reads + writes)), "{reads} and {writes}");
    assert!(reads.min(writes) > 400, "{reads} and {writes}");
}

#[test]
fn two_reactors_share_the_one_limit_of_a_volume() {
    let mut tasks = Tasks::default();
    let throttle = throttle(iops(Flow::All, 1000));
    let gates = [gate(&tasks, &throttle), gate(&tasks, &throttle)];
    let begun = gates.map(|gate| spawn_host(&mut tasks, &gate, (OpKind::Read, 4096), 4));
    tasks.run_until(Nanos(6 * SECOND));
    let [one, other] = begun.map(|begun| count(&begun, SECOND, 6 * SECOND));
    assert!((4990..=5010).contains(&(one + other)), "{one} and {other}");
    assert!(one.min(other) > 2000, "{one} and {other}");
}

#[test]
fn reads_do_not_wait_behind_writes_that_alone_are_limited() {
    let mut tasks = Tasks::default();
    let gate = gate(&tasks, &throttle(iops(Flow::Write, 10)));
    let reads = spawn_host(&mut tasks, &gate, (OpKind::Read, 4096), 1);
    let writes = spawn_host(&mut tasks, &gate, (OpKind::Write, 4096), 4);
    tasks.run_until(Nanos(2 * SECOND));
    assert_eq!(count(&reads, SECOND, 2 * SECOND), 20_000);
    assert!((9..=11).contains(&count(&writes, SECOND, 2 * SECOND)));
}

#[test]
fn whoever_waits_is_held_to_new_limits_at_once() {
    let mut tasks = Tasks::default();
    let throttle = throttle(iops(Flow::All, 10));
    let gate = gate(&tasks, &throttle);
    let begun = spawn_host(&mut tasks, &gate, (OpKind::Read, 4096), 8);
    tasks.run_until(Nanos(5 * SECOND));
    assert_eq!(throttle.delays().waiting, 8);
    throttle.set(&Limits::default(), 1 << 30, Nanos(5 * SECOND));
    tasks.run_until(Nanos(5 * SECOND + SECOND / 1000));
    assert!(count(&begun, 5 * SECOND, 6 * SECOND) >= 8);
    assert_eq!(throttle.delays().waiting, 0);
    throttle.set(&iops(Flow::All, 100), 1 << 30, tasks.clock.now());
    tasks.run_until(Nanos(8 * SECOND));
    assert!((99..=101).contains(&count(&begun, 7 * SECOND, 8 * SECOND)));
}

#[test]
fn a_thousand_commands_that_are_given_up_leave_nothing_to_be_waited_for() {
    let mut tasks = Tasks::default();
    let throttle = throttle(iops(Flow::All, 10));
    let gate = gate(&tasks, &throttle);
    spawn_host(&mut tasks, &gate, (OpKind::Write, 4096), 1000);
    tasks.run_until(Nanos(SECOND));
    (0..1000).for_each(|_| tasks.drop_task(0));
    assert_eq!(throttle.delays().waiting, 0);
    assert!(throttle.delays().commands > 900);
    let begun = spawn_host(&mut tasks, &gate, (OpKind::Write, 4096), 1);
    tasks.run_until(Nanos(2 * SECOND));
    assert!(count(&begun, SECOND, 2 * SECOND) >= 9);
}

#[test]
fn who_was_sent_back_stands_before_those_who_came_meanwhile() {
    let mut tasks = Tasks::default();
    let throttle = throttle(iops(Flow::All, 10));
    let gate = gate(&tasks, &throttle);
    let begun: Rc<RefCell<Vec<u64>>> = Rc::default();
    while gate.try_pass(OpKind::Write, 512) {}
    for since in [7, 8, 9, 2, 1] {
        let (gate, begun) = (gate.clone(), begun.clone());
        tasks.spawn(async move {
            gate.pass(OpKind::Write, 512, Nanos(since)).await;
            begun.borrow_mut().push(since);
        });
        tasks.run();
    }
    tasks.run_until(Nanos(2 * SECOND));
    // The first of all had taken what it needs before others came.
    assert_eq!(*begun.borrow(), [7, 1, 2, 8, 9]);
}

/// A host's commands, outstanding all the time, each sent back when it has waited for 20 s. Returns
/// how often any was sent back at most.
fn spawn_patient_host(
    tasks: &mut Tasks,
    gate: &Rc<Gate<TestClock>>,
    outstanding: usize,
) -> (Begun, Rc<Cell<u32>>) {
    let (begun, most) = (Begun::default(), Rc::<Cell<u32>>::default());
    for _ in 0..outstanding {
        let (gate, begun, most) = (gate.clone(), begun.clone(), most.clone());
        let clock = tasks.clock.clone();
        tasks.spawn(async move {
            loop {
                let (since, mut times) = (clock.now(), 0);
                let wait = Duration::from_secs(20);
                while within(&clock, wait, gate.pass(OpKind::Read, 1, since)).await.is_none() {
                    times += 1;
                }
                most.set(most.get().max(times));
                begun.borrow_mut().push(clock.now().0);
            }
        });
    }
    (begun, most)
}

#[test]
fn of_what_a_limit_lets_through_in_80_seconds_nothing_is_sent_back_more_than_three_times() {
    let mut tasks = Tasks::default();
    let gate = gate(&tasks, &throttle(iops(Flow::All, 10)));
    let (begun, most) = spawn_patient_host(&mut tasks, &gate, 780);
    tasks.run_until(Nanos(400 * SECOND));
    assert_eq!(most.get(), 3);
    let all = count(&begun, 100 * SECOND, 400 * SECOND);
    assert!((2990..=3010).contains(&all), "{all} in 300 s");
}

#[test]
fn who_gives_up_while_others_wait_hands_his_place_to_the_next() {
    let mut tasks = Tasks::default();
    let throttle = throttle(iops(Flow::All, 10));
    let gate = gate(&tasks, &throttle);
    while gate.try_pass(OpKind::Read, 512) {}
    let begun: Rc<RefCell<Vec<u64>>> = Rc::default();
    for since in 0..6 {
        let (gate, begun) = (gate.clone(), begun.clone());
        tasks.spawn(async move {
            gate.pass(OpKind::Read, 512, Nanos(since)).await;
            begun.borrow_mut().push(since);
        });
    }
    tasks.run();
    // The first, which has taken what it needs, one in the middle, and the last.
    [5, 2, 0].into_iter().for_each(|index| tasks.drop_task(index));
    tasks.run_until(Nanos(SECOND));
    assert_eq!(*begun.borrow(), [1, 3, 4]);
    assert!(begun.borrow().len() == 3 && throttle.delays().waiting == 0);
}

#[test]
fn a_volume_without_limits_holds_nobody_up() {
    let tasks = Tasks::default();
    let gate = gate(&tasks, &throttle(Limits::default()));
    assert!((0..10_000).all(|_| gate.try_pass(OpKind::Write, 1 << 20)));
}
