//! What drives come to, told when it happens to who hears of it: it may be over soon.

use ashlar_block::DriveId;

use super::Array;
use crate::faults::Failure;

/// What a drive has come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It has been given up.
    GivenUp(Failure),
    /// It owes answers, and has given none for a while. It is slow until it gives one.
    Silent,
}

pub(super) type Hearer = Box<dyn Fn(DriveId, Trouble)>;

impl<D> Array<D> {
    /// From now on `heard` is told of all trouble with drives, when it begins. It may not ask the
    /// array for anything.
    pub fn hear_of_trouble(&self, heard: impl Fn(DriveId, Trouble) + 'static) {
        *self.heard.borrow_mut() = Some(Box::new(heard));
    }

    pub(super) fn tell(&self, drive: DriveId, trouble: Trouble) {
        if let Some(heard) = &*self.heard.borrow() {
            heard(drive, trouble);
        }
    }
}
