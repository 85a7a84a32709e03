use std::rc::Rc;

use ashlar_block::latency::OpKind;

use super::*;
use crate::qos::fair::{FairShare, VolumeShare};
use crate::qos::testing::{Tasks, TestClock};

/// More than a pool has at a time at first.
const LARGE: u64 = 1 << 20;

/// A reactor with a pool of which two volumes are in use, and what the one has of it.
struct Bench {
    tasks: Tasks,
    share: Rc<FairShare<TestClock>>,
    volumes: [Rc<VolumeShare>; 2],
    turns: Rc<Turns<TestClock>>,
}

fn key(number: u64) -> TurnKey {
    TurnKey { from: ReactorIndex(1), number }
}

impl Bench {
    fn new() -> Self {
        let tasks = Tasks::default();
        let share = FairShare::new(tasks.clock.clone());
        let volumes = [share.volume(), share.volume()];
        Bench { tasks, share, volumes, turns: Rc::default() }
    }

    /// A command of the other reactor asks for its turn.
    fn ask(&mut self, number: u64, volume: usize) {
        let (turns, share, volume) =
            (self.turns.clone(), self.share.clone(), self.volumes[volume].clone());
        self.tasks.spawn(async move {
            let turn = async { Some(share.enter(&volume, OpKind::Write, LARGE).await) };
            turns.keep(key(number), turn).await;
        });
        self.tasks.run();
    }
}

#[test]
fn a_turn_is_kept_for_its_command_and_ends_with_it() {
    let mut bench = Bench::new();
    bench.ask(0, 0);
    bench.ask(1, 1);
    bench.ask(2, 0);
    let turn = bench.turns.take(key(0)).expect("it was alone");
    assert!(turn.is_of(&bench.volumes[0]) && !turn.is_of(&bench.volumes[1]));
    // The others' come one by one, as those before end.
    drop(turn);
    bench.tasks.run();
    drop(bench.turns.take(key(1)).expect("it was the first that waited"));
    bench.tasks.run();
    assert!(bench.turns.take(key(2)).is_some());
    assert_eq!(bench.turns.len(), 0);
}

#[test]
fn a_turn_that_is_given_back_before_or_after_it_has_come_is_somebody_elses() {
    let mut bench = Bench::new();
    bench.ask(0, 0);
    bench.ask(1, 1);
    // These wait.
    (2..6).for_each(|number| bench.ask(number, 0));
    [2, 4, 0, 1].into_iter().for_each(|number| drop(bench.turns.take(key(number))));
    bench.tasks.run();
    for number in [3, 5] {
        assert!(bench.turns.take(key(number)).is_some(), "{number}");
        bench.tasks.run();
    }
    assert_eq!(bench.turns.len(), 0);
    // A command whose turn was never asked for, or has been used, has none.
    assert!(bench.turns.take(key(3)).is_none() && bench.turns.take(key(9)).is_none());
}

#[test]
fn nothing_is_kept_of_a_pool_that_is_gone() {
    let mut bench = Bench::new();
    let turns = bench.turns.clone();
    bench.tasks.spawn(async move { turns.keep(key(0), async { None }).await });
    bench.tasks.run();
    assert_eq!(bench.turns.len(), 0);
}
