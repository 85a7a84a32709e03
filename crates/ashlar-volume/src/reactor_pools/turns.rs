//! Turns that commands of other reactors have asked for: each until its command comes, or until it
//! is given back because none will.
//!
//! The reactor that asks names the turn. Its messages arrive in their order: so whoever gives one
//! back, or comes with the command, finds it here, or finds that it never was.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;

use ashlar_block::Clock;
use futures_util::future::{AbortHandle, abortable};

use crate::qos::fair::Turn;
use crate::table::ReactorIndex;

/// What a turn is known by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TurnKey {
    /// The reactor that asks for it.
    pub from: ReactorIndex,
    /// Its number among those that this reactor asked for.
    pub number: u64,
}

/// The names of the turns that one reactor asks others for.
pub(crate) struct TurnKeys {
    from: ReactorIndex,
    asked: Cell<u64>,
}

impl TurnKeys {
    /// Those of the reactor `from`.
    pub(crate) fn new(from: ReactorIndex) -> Self {
        TurnKeys { from, asked: Cell::new(0) }
    }

    /// One that no turn has had yet.
    pub(crate) fn next(&self) -> TurnKey {
        TurnKey { from: self.from, number: self.asked.replace(self.asked.get() + 1) }
    }
}

/// The turns that one reactor keeps for others.
pub(crate) struct Turns<C: Clock> {
    kept: RefCell<BTreeMap<TurnKey, Kept<C>>>,
}

enum Kept<C: Clock> {
    /// It has not come yet.
    Awaited(AbortHandle),
    Come(Turn<C>),
}

impl<C: Clock> Default for Turns<C> {
    fn default() -> Self {
        Turns { kept: RefCell::default() }
    }
}

impl<C: Clock> Turns<C> {
    /// Returns once the turn has come, which is kept then; or once it is given back. `turn` comes
    /// to nothing where there is no pool any more.
    pub(crate) async fn keep(&self, key: TurnKey, turn: impl Future<Output = Option<Turn<C>>>) {
        let (turn, awaited) = abortable(turn);
        self.kept.borrow_mut().insert(key, Kept::Awaited(awaited));
        let come = turn.await.ok().flatten();
        let is_wanted = self.kept.borrow_mut().remove(&key).is_some();
        if let Some(turn) = come.filter(|_| is_wanted) {
            self.kept.borrow_mut().insert(key, Kept::Come(turn));
        }
    }

    /// The turn, for the command that has come with its name; or to be dropped, because none will.
    pub(crate) fn take(&self, key: TurnKey) -> Option<Turn<C>> {
        let kept = self.kept.borrow_mut().remove(&key)?;
        match kept {
            Kept::Come(turn) => Some(turn),
            Kept::Awaited(awaited) => {
                awaited.abort();
                None
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.kept.borrow().len()
    }
}

#[cfg(test)]
mod tests;
