//! What is known outside of the pool: what its volumes have to hold, and what has come of a seed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::VolumeId;

use crate::content::Sort;
use crate::coverage::Coverage;
use crate::model::{Model, Version};
use crate::outcome::Outcome;

/// What is known outside of the pool, and outlives its starts.
#[derive(Default)]
pub struct Known {
    pub models: RefCell<BTreeMap<VolumeId, Model>>,
    /// Volumes whose deletion has been acknowledged.
    pub deleted: RefCell<BTreeSet<VolumeId>>,
    /// The volume that fills the pool, in plans that do so.
    pub filling: Cell<Option<VolumeId>>,
    /// How many versions there are.
    versions: Cell<u64>,
    pub outcome: Cell<Outcome>,
    /// What acknowledged writes have met.
    pub coverage: RefCell<Coverage>,
    failure: RefCell<Option<String>>,
}

impl Known {
    /// A version that nothing was written with yet: above all others, whatever their sorts.
    pub fn next_version(&self, sort: Sort) -> Version {
        self.versions.set(self.versions.get() + 1);
        sort.version(self.versions.get())
    }

    pub fn count(&self, change: impl FnOnce(&mut Outcome)) {
        let mut outcome = self.outcome.get();
        change(&mut outcome);
        self.outcome.set(outcome);
    }

    /// Something is wrong: the run ends. The first to say so is heard.
    pub fn fail(&self, why: String) {
        self.failure.borrow_mut().get_or_insert(why);
    }

    pub fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    /// What is wrong, if anything.
    pub fn failure(&self) -> Result<(), String> {
        self.failure.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Works on one volume's model.
    pub fn model<T>(&self, id: VolumeId, work: impl FnOnce(&mut Model) -> T) -> T {
        work(self.models.borrow_mut().get_mut(&id).expect("chosen from the models"))
    }
}
