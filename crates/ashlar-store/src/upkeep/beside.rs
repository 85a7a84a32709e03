//! Tasks beside upkeep: upkeep begins them and does not wait for them, because they touch nothing
//! that it works on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ashlar_block::World;
use tokio::sync::Notify;

use crate::base::activity::Activity;
use crate::pool::Pool;

/// The tasks under way.
#[derive(Default)]
pub(crate) struct Beside {
    /// How many do what.
    tasks: RefCell<BTreeMap<Activity, usize>>,
    /// Notified when one has ended.
    ended: Notify,
}

impl Beside {
    /// What one of them does.
    pub fn activity(&self) -> Option<Activity> {
        self.tasks.borrow().keys().next().copied()
    }

    /// Returns when none is under way.
    pub async fn all_ended(&self) {
        while self.activity().is_some() {
            self.ended.notified().await;
        }
    }

    fn begins(&self, activity: Activity) {
        *self.tasks.borrow_mut().entry(activity).or_default() += 1;
    }

    fn ends(&self, activity: Activity) {
        let mut tasks = self.tasks.borrow_mut();
        let count = tasks.get_mut(&activity).expect("it has begun");
        *count -= 1;
        if *count == 0 {
            tasks.remove(&activity);
        }
        self.ended.notify_one();
    }
}

impl<W: World> Pool<W> {
    /// Lets `work` go on beside upkeep, which looks again when it has ended.
    pub fn begin_beside(
        self: &Rc<Self>,
        activity: Activity,
        work: impl Future<Output = ()> + 'static,
    ) {
        self.upkeep.beside.begins(activity);
        let pool = self.clone();
        self.spawn(async move {
            work.await;
            pool.upkeep.beside.ends(activity);
            pool.requests.notify();
        });
    }

    /// What is done in the background: what upkeep does, or else what goes on beside it.
    pub fn activity(&self) -> Activity {
        match self.upkeep.activity() {
            Activity::Rest => self.upkeep.beside.activity().unwrap_or_default(),
            activity => activity,
        }
    }
}
