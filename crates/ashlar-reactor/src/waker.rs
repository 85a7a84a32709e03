//! Wakers that are plain numbers: reactor, task and generation packed into the waker's data word.
//!
//! They need no memory and no reference counts. Waking on the task's own thread touches its queue
//! and nothing else; from any other thread it goes through the reactor's [inbox](crate::inbox). A
//! waker that outlives its task or its reactor wakes nothing, or, once numbers have wrapped, a
//! stranger in vain.

use std::sync::{Arc, RwLock};
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::inbox::Inbox;
use crate::reactor;
use crate::task::TaskKey;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a waker needs a 64-bit data word");

/// Bits of a reactor's number within its process.
const REACTOR_BITS: u32 = 64 - TaskKey::INDEX_BITS - TaskKey::GENERATION_BITS;
/// Reactors that may run at one time in one process.
pub(crate) const REACTORS_MAX: usize = 1 << REACTOR_BITS;

/// A reactor's number within its process, reused after its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReactorId(u16);

static INBOXES: RwLock<Vec<Option<Arc<Inbox>>>> = RwLock::new(Vec::new());

/// Gives a reactor its number, if one is left.
pub(crate) fn register(inbox: Arc<Inbox>) -> Option<ReactorId> {
    let mut inboxes = INBOXES.write().expect("no holder panics");
    let index = inboxes.iter().position(Option::is_none).unwrap_or(inboxes.len());
    if index >= REACTORS_MAX {
        return None;
    }
    if index == inboxes.len() {
        inboxes.push(None);
    }
    inboxes[index] = Some(inbox);
    Some(ReactorId(index as u16))
}

pub(crate) fn unregister(id: ReactorId) {
    INBOXES.write().expect("no holder panics")[usize::from(id.0)] = None;
}

fn pack(id: ReactorId, key: TaskKey) -> *const () {
    let word = u64::from(id.0) << (TaskKey::INDEX_BITS + TaskKey::GENERATION_BITS)
        | u64::from(key.generation) << TaskKey::INDEX_BITS
        | u64::from(key.index);
    std::ptr::without_provenance(word as usize)
}

fn unpack(data: *const ()) -> (ReactorId, TaskKey) {
    let word = data.addr() as u64;
    let index = (word & ((1 << TaskKey::INDEX_BITS) - 1)) as u32;
    let generation = ((word >> TaskKey::INDEX_BITS) & ((1 << TaskKey::GENERATION_BITS) - 1)) as u32;
    let id = (word >> (TaskKey::INDEX_BITS + TaskKey::GENERATION_BITS)) as u16;
    (ReactorId(id), TaskKey { index, generation })
}

/// The waker of a task.
pub(crate) fn waker(id: ReactorId, key: TaskKey) -> Waker {
    // SAFETY: the table's functions treat the data as a number and are thread-safe.
    unsafe { Waker::from_raw(RawWaker::new(pack(id, key), &VTABLE)) }
}

/// The task that a waker wakes, and its reactor; none if it is not one of ours.
pub(crate) fn task_of(waker: &Waker) -> Option<(ReactorId, TaskKey)> {
    std::ptr::eq(waker.vtable(), &VTABLE).then(|| unpack(waker.data()))
}

static VTABLE: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), wake, wake, |_nothing_owned| ());

fn wake(data: *const ()) {
    let (id, key) = unpack(data);
    if reactor::wake_here(id, key) {
        return;
    }
    let inbox = INBOXES.read().expect("no holder panics").get(usize::from(id.0)).cloned().flatten();
    if let Some(inbox) = inbox {
        inbox.wake(key);
    }
}

#[cfg(test)]
mod tests;
