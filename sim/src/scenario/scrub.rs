//! A start in which everything is repaired.

use std::rc::Rc;

use super::Scenario;
use crate::hosts::Run;

/// Drive operations after which a scrub is cut, at most.
const SCRUB_OPERATIONS: u64 = 3000;

impl Scenario {
    /// A start with all drives, which corrupt nothing any more: it is scrubbed, and then nothing
    /// may be wrong. Whichever drives are missed later, those that have corrupted data are as good
    /// as any.
    pub(super) fn scrub(&mut self) -> Result<(), String> {
        while self.rng.below(2) == 0 {
            let operations = self.rng.below(SCRUB_OPERATIONS);
            self.scrub_until(operations)?;
        }
        self.scrub_until(u64::MAX)
    }

    fn scrub_until(&mut self, operations: u64) -> Result<(), String> {
        self.drives.let_all_in();
        let world = self.world();
        let run = Rc::new(
            Run::new(&world, &self.plan, &self.known, 0).scrubbing(self.drives.watched()).spared(),
        );
        let main = run.clone().whole(self.drives.present(&world).into_values().collect());
        let ended = self.run(&world, main, operations)?;
        let held = self.look_at(&run, ended);
        world.stop();
        self.drives.settle(held.as_ref());
        if run.is_pristine.get() {
            self.drives.believe_all();
        }
        self.known.failure()
    }
}
