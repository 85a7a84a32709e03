//! The connections of one reactor that have not finished Connect: who of them goes when there is no
//! room for another one.
//!
//! Whoever connects and says nothing holds a place until its handshake's time is up, and a flood of
//! them would hold all. So a newcomer takes the place of the one that has been silent for longest.
//! A host that is there to connect is done long before its turn; one that has connected is not
//! among these.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::registry::{EndReason, Life};

/// The connections that have not finished Connect, in the order in which they were accepted.
#[derive(Default)]
pub(super) struct Newcomers {
    waiting: RefCell<BTreeMap<u64, Newcomer>>,
    next: Cell<u64>,
}

struct Newcomer {
    life: Arc<Life>,
    is_held_up: Rc<Cell<bool>>,
}

/// A connection's place among them, until dropped.
pub(super) struct Place {
    newcomers: Rc<Newcomers>,
    number: u64,
    is_held_up: Rc<Cell<bool>>,
}

/// While this lives, its connection waits for us and not for its host.
pub(super) struct HeldUp(Rc<Cell<bool>>);

impl Newcomers {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Takes a place.
    pub(super) fn enter(self: &Rc<Self>, life: &Arc<Life>) -> Place {
        let number = self.next.get();
        self.next.set(number + 1);
        let is_held_up = Rc::new(Cell::new(false));
        let newcomer = Newcomer { life: life.clone(), is_held_up: is_held_up.clone() };
        self.waiting.borrow_mut().insert(number, newcomer);
        Place { newcomers: self.clone(), number, is_held_up }
    }

    /// Ends the connection that has waited for its host for longest, and takes its place away.
    /// False if there is none.
    pub(super) fn make_room(&self) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let silent = waiting.iter().find(|(_, newcomer)| !newcomer.is_held_up.get());
        let Some(number) = silent.map(|(number, _)| *number) else { return false };
        let newcomer = waiting.remove(&number).expect("just found");
        newcomer.life.end(EndReason::MadeRoom);
        true
    }
}

impl Place {
    /// The connection's Connect has come whole, and cannot be answered yet.
    pub(super) fn hold_up(&self) -> HeldUp {
        self.is_held_up.set(true);
        HeldUp(self.is_held_up.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.newcomers.waiting.borrow_mut().remove(&self.number);
    }
}

impl Drop for HeldUp {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

#[cfg(test)]
mod tests;
