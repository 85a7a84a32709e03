//! Operations in flight. What the kernel may still touch lives here until the last completion,
//! whatever becomes of the future that waits for it.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::rc::Rc;
use std::task::{Poll, Waker};

use ashlar_block::AlignedBuf;
use bytes::Bytes;
use io_uring::cqueue;

use crate::net::{Address, SendParts};
use crate::reactor::Reactor;
use crate::ring::Completion;

/// Memory that an operation lends to the kernel. Each variant's bytes stay where they are when the
/// value is moved. Some are never read again: being held is what they are for.
#[expect(dead_code, reason = "memory that only the kernel uses")]
pub(crate) enum Owned {
    Nothing,
    Buf(AlignedBuf),
    Bytes(Bytes),
    Send(Box<SendParts>),
    Address(Box<Address>),
    Counter(Box<[u8; 8]>),
    /// No memory, but a success is a new descriptor, to be closed if nobody waits for it any more.
    NewDescriptor,
}

impl Owned {
    /// The buffer; an empty one if the reactor ended and had to give it up.
    pub(crate) fn into_buf(self) -> AlignedBuf {
        match self {
            Owned::Buf(buf) => buf,
            _ => AlignedBuf::empty(),
        }
    }

    /// The parts to send; none if the reactor ended and had to give them up.
    pub(crate) fn into_send(self) -> Box<SendParts> {
        match self {
            Owned::Send(parts) => parts,
            _ => Box::default(),
        }
    }
}

/// Takes every completion of an operation that has many, or that belongs to an object and not to a
/// future.
pub(crate) trait Sink {
    /// One completion; `more` says that others follow.
    fn complete(self: Rc<Self>, reactor: &Rc<Reactor>, result: i32, flags: u32, more: bool);
}

/// An operation in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpKey {
    index: u32,
    generation: u32,
}

impl OpKey {
    pub(crate) fn user_data(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    fn of_user_data(user_data: u64) -> Self {
        OpKey { index: user_data as u32, generation: (user_data >> 32) as u32 }
    }
}

enum Stage {
    Free,
    /// Somebody waits for the one completion, or will.
    Waiting(Option<Waker>),
    Done(i32),
    /// The future is gone, the kernel is not done.
    Abandoned,
    Sink(Rc<dyn Sink>),
}

struct Slot {
    generation: u32,
    stage: Stage,
    owned: Owned,
}

/// What is left to do for a completion, where nothing is borrowed.
pub(crate) enum Followup {
    Nothing,
    Wake(Waker),
    Sink { sink: Rc<dyn Sink>, more: bool },
    Discard { owned: Owned, result: i32 },
}

/// All operations of a reactor: a slab, so that steady I/O allocates nothing.
#[derive(Default)]
pub(crate) struct Ops {
    slots: Vec<Slot>,
    free: Vec<u32>,
    in_flight: usize,
}

impl Ops {
    /// Operations whose last completion has not come.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Room for an operation that somebody will wait for.
    pub(crate) fn insert(&mut self, owned: Owned) -> OpKey {
        self.in_flight += 1;
        self.place(owned, Stage::Waiting(None))
    }

    /// Room for an operation whose completions go to `sink`.
    pub(crate) fn insert_with_sink(&mut self, owned: Owned, sink: Rc<dyn Sink>) -> OpKey {
        self.in_flight += 1;
        self.place(owned, Stage::Sink(sink))
    }

    /// An operation that ended before it began.
    pub(crate) fn insert_refused(&mut self, owned: Owned) -> OpKey {
        self.place(owned, Stage::Done(-libc::ECANCELED))
    }

    fn place(&mut self, owned: Owned, stage: Stage) -> OpKey {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, stage: Stage::Free, owned: Owned::Nothing });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.stage = stage;
        slot.owned = owned;
        OpKey { index, generation: slot.generation }
    }

    fn slot(&mut self, key: OpKey) -> &mut Slot {
        let slot = &mut self.slots[key.index as usize];
        assert_eq!(
            slot.generation, key.generation,
            "an operation's key is used up with its last completion"
        );
        slot
    }

    fn remove(&mut self, key: OpKey) -> Owned {
        let slot = self.slot(key);
        // All ones is reserved for operations that nobody waits for.
        slot.generation = (slot.generation + 1) % u32::MAX;
        slot.stage = Stage::Free;
        let owned = std::mem::replace(&mut slot.owned, Owned::Nothing);
        self.free.push(key.index);
        owned
    }

    /// Takes note of a completion.
    pub(crate) fn complete(&mut self, completion: &Completion) -> Followup {
        let key = OpKey::of_user_data(completion.user_data);
        let more = cqueue::more(completion.flags);
        if !more {
            self.in_flight -= 1;
        }
        match std::mem::replace(&mut self.slot(key).stage, Stage::Free) {
            Stage::Waiting(waker) => {
                self.slot(key).stage = Stage::Done(completion.result);
                waker.map_or(Followup::Nothing, Followup::Wake)
            }
            Stage::Sink(sink) => {
                if more {
                    self.slot(key).stage = Stage::Sink(sink.clone());
                } else {
                    self.remove(key);
                }
                Followup::Sink { sink, more }
            }
            Stage::Abandoned => {
                Followup::Discard { owned: self.remove(key), result: completion.result }
            }
            Stage::Free | Stage::Done(_) => {
                unreachable!("a completion for an operation that has ended")
            }
        }
    }

    /// The result, once it is there; then the operation is forgotten.
    pub(crate) fn poll(&mut self, key: OpKey, waker: &Waker) -> Poll<(i32, Owned)> {
        let slot = self.slot(key);
        match &mut slot.stage {
            Stage::Done(result) => {
                let result = *result;
                Poll::Ready((result, self.remove(key)))
            }
            Stage::Waiting(Some(known)) if known.will_wake(waker) => Poll::Pending,
            Stage::Waiting(place) => {
                *place = Some(waker.clone());
                Poll::Pending
            }
            _ => unreachable!("only the future of an operation polls it"),
        }
    }

    /// The future is gone. Returns what it leaves behind if the kernel is done already.
    pub(crate) fn abandon(&mut self, key: OpKey) -> Option<(Owned, i32)> {
        let slot = self.slot(key);
        match std::mem::replace(&mut slot.stage, Stage::Abandoned) {
            Stage::Done(result) => Some((self.remove(key), result)),
            _ => None,
        }
    }
}

/// Ends what nobody waits for.
pub(crate) fn discard(owned: Owned, result: i32) {
    if matches!(owned, Owned::NewDescriptor) && result >= 0 {
        // SAFETY: the kernel has just made this descriptor for an operation whose future is gone,
        // so nobody else knows it.
        drop(unsafe { OwnedFd::from_raw_fd(result) });
    }
}

/// A kernel result as Rust's: the count, or the error.
pub(crate) fn outcome(result: i32) -> io::Result<u32> {
    u32::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}
