//! A command that must be answered, exactly once.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use ashlar_block::latency::{OpKind, UnderWay};
use ashlar_block::{AlignedBuf, Nanos};
use ashlar_nvme::cqe::Cqe;
use ashlar_nvme::pdu::{DataHeader, Pdu, Ttag};
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_reactor::turn_began;
use ashlar_volume::VolumeIo;
use bytes::Bytes;

use super::connection::Wire;
use super::memory::Payload;
use super::transfer::Capsule;

/// Commands that a queue keeps the memory of for the next ones: about as many as hosts usually have
/// outstanding.
const SPARE_CAPSULES_MAX: usize = 128;

/// Words of a set of all command identifiers.
const CID_WORDS: usize = (1 << 16) / 64;

/// The commands of a queue that are not answered yet.
pub(super) struct Outstanding {
    cids: RefCell<Box<[u64]>>,
    count: Cell<u32>,
    waiting: RefCell<Option<Waker>>,
    /// Memory for the next commands.
    #[expect(clippy::vec_box, reason = "a command stays where it is until it is answered")]
    spare: RefCell<Vec<Box<Capsule>>>,
}

impl Outstanding {
    pub(super) fn new() -> Self {
        let cids = RefCell::new(vec![0; CID_WORDS].into());
        Outstanding {
            cids,
            count: Cell::new(0),
            waiting: RefCell::default(),
            spare: RefCell::default(),
        }
    }

    /// Puts a command where it stays until it is answered.
    fn keep(&self, capsule: Capsule) -> Box<Capsule> {
        let Some(mut place) = self.spare.borrow_mut().pop() else { return Box::new(capsule) };
        *place = capsule;
        place
    }

    fn recycle(&self, mut place: Box<Capsule>) {
        // The data go now, and not with the next command.
        place.data = Bytes::new();
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_CAPSULES_MAX {
            spare.push(place);
        }
    }

    /// Gives back the memory that is kept for the next commands.
    pub(super) fn give_back(&self) {
        self.spare.take();
    }

    fn place(cid: Cid) -> (usize, u64) {
        (usize::from(cid.0 / 64), 1 << (cid.0 % 64))
    }

    /// Takes a command in, if nobody has its identifier.
    fn begin(&self, cid: Cid) -> Option<Claim> {
        let (word, bit) = Self::place(cid);
        let mut cids = self.cids.borrow_mut();
        if cids[word] & bit != 0 {
            return None;
        }
        cids[word] |= bit;
        self.count.set(self.count.get() + 1);
        Some(Claim::Own)
    }

    /// Takes a command in that has its identifier beside another one.
    fn begin_beside(&self) -> Claim {
        self.count.set(self.count.get() + 1);
        Claim::Shared
    }

    fn end(&self, cid: Cid, claim: Claim) {
        let (word, bit) = Self::place(cid);
        if claim == Claim::Own {
            self.cids.borrow_mut()[word] &= !bit;
        }
        self.count.set(self.count.get() - 1);
        if self.count.get() == 0
            && let Some(waker) = self.waiting.borrow_mut().take()
        {
            waker.wake();
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count.get()
    }

    /// Until every command has been answered or abandoned. One caller at a time.
    pub(super) async fn none_left(&self) {
        poll_fn(|cx| {
            if self.count.get() == 0 {
                return Poll::Ready(());
            }
            *self.waiting.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// A command's right to its identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    /// It is free once the command has ended.
    Own,
    /// Another command has it, and keeps it.
    Shared,
}

/// A command taken from the wire.
///
/// It is answered by [`Ticket::complete`], [`Ticket::reject`] or [`Ticket::complete_with_data`].
/// Where no answer is possible any more it is given up by [`Ticket::abandon`]. Dropping it
/// otherwise is a fault of the program, and panics.
pub(super) struct Ticket {
    wire: Rc<Wire>,
    /// None once it is answered.
    capsule: Option<Box<Capsule>>,
    claim: Claim,
    /// No later than when it came whole.
    arrived: Nanos,
    /// Set once it is known what it is for, if its volume counts such commands.
    under_way: Option<UnderWay>,
}

impl Ticket {
    /// Takes the command in; none if its identifier is in use, which has been answered then. One
    /// that `may_share` the identifier is taken all the same.
    pub(super) fn take(
        wire: &Rc<Wire>,
        capsule: Capsule,
        may_share: impl FnOnce(&Sqe) -> bool,
    ) -> Option<Self> {
        let sqe = &capsule.sqe;
        let shared = || may_share(sqe).then(|| wire.outstanding.begin_beside());
        if let Some(claim) = wire.outstanding.begin(sqe.cid()).or_else(shared) {
            let capsule = wire.outstanding.keep(capsule);
            return Some(Ticket {
                wire: wire.clone(),
                capsule: Some(capsule),
                claim,
                arrived: turn_began(),
                under_way: None,
            });
        }
        let status =
            wire.note_error(sqe, Status::COMMAND_ID_CONFLICT.dnr(), ErrorLocation::byte(2));
        wire.respond(sqe.cid(), status, 0, None);
        None
    }

    pub(super) fn capsule(&self) -> &Capsule {
        self.capsule.as_ref().expect("a ticket is used up with its answer")
    }

    pub(super) fn sqe(&self) -> &Sqe {
        &self.capsule().sqe
    }

    pub(super) fn cid(&self) -> Cid {
        self.sqe().cid()
    }

    pub(super) fn nsid(&self) -> u32 {
        self.sqe().nsid.get()
    }

    pub(super) fn wire(&self) -> &Rc<Wire> {
        &self.wire
    }

    /// No later than when it came whole.
    pub(super) fn arrived(&self) -> Nanos {
        self.arrived
    }

    /// The command is for so many bytes of `volume`, which counts what it takes from its arrival
    /// until its answer is sent.
    pub(super) fn measure(&mut self, kind: OpKind, volume: &impl VolumeIo, bytes: u64) {
        self.under_way = volume.meter().map(|meter| meter.begin(kind, bytes, self.arrived));
    }

    /// The data that came with the command. They are there once.
    pub(super) fn take_data(&mut self) -> Bytes {
        self.capsule.as_mut().map(|capsule| std::mem::take(&mut capsule.data)).unwrap_or_default()
    }

    /// Ends the command. Returns its identifier, which is free again unless another command has it,
    /// too; and what is to be told when its answer is sent.
    fn end(&mut self) -> (Cid, Option<UnderWay>) {
        let capsule = self.capsule.take().expect("a ticket is used up with its answer");
        let cid = capsule.sqe.cid();
        self.wire.outstanding.recycle(capsule);
        self.wire.outstanding.end(cid, self.claim);
        (cid, self.under_way.take())
    }

    /// Answers with `status` and the command's result dwords.
    pub(super) fn complete(mut self, status: Status, result: u64) {
        let (cid, under_way) = self.end();
        self.wire.respond(cid, status, result, under_way);
    }

    /// Answers with success and nothing else.
    pub(super) fn succeed(self) {
        self.complete(Status::SUCCESS, 0);
    }

    /// Refuses the command; the error log says where the fault lies.
    pub(super) fn reject(self, rejection: impl Into<Rejection>) {
        self.reject_with_result(rejection, 0);
    }

    /// As [`Ticket::reject`], with result dwords.
    pub(super) fn reject_with_result(self, rejection: impl Into<Rejection>, result: u64) {
        let Rejection { status, location } = rejection.into();
        let status = self.wire.note_error(self.sqe(), status, location);
        self.complete(status, result);
    }

    /// Answers with data, and with success. `held` is the memory that they take until they are
    /// sent.
    pub(super) fn complete_with_data(mut self, data: AlignedBuf, held: Option<Payload>) {
        let (cid, under_way) = self.end();
        self.wire.respond_with_data(cid, data, held, under_way);
    }

    /// Ends the command without an answer: its connection is ending.
    pub(super) fn abandon(mut self) {
        self.end();
    }

    /// Refuses or abandons, whichever it is.
    pub(super) fn stop(self, stop: Stop) {
        match stop {
            Stop::Reject(rejection) => self.reject(rejection),
            Stop::Abandon => self.abandon(),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(capsule) = &self.capsule else { return };
        // A service that is dropped whole takes its commands with it; and one panic is enough.
        let excused = self.wire.is_discarded() || std::thread::panicking();
        assert!(excused, "command {:?} was dropped without an answer", capsule.sqe.cid());
    }
}

/// Why a command goes no further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// It is refused.
    Reject(Rejection),
    /// Its connection is ending.
    Abandon,
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Stop::Reject(rejection)
    }
}

impl From<Status> for Stop {
    fn from(status: Status) -> Self {
        Stop::Reject(status.into())
    }
}

impl Wire {
    /// Sends a response capsule.
    fn respond(&self, cid: Cid, status: Status, result: u64, under_way: Option<UnderWay>) {
        let mut cqe = Cqe::new(cid, status, result);
        cqe.sq_head = self.next_sq_head().into();
        self.output.send_answer(&Pdu::Response(cqe), self.framing.get(), under_way);
    }

    /// Sends C2HData, and a response capsule where the data PDU may not stand for it (TCP Transport
    /// 1.1, section 3.3.2.2: the SUCCESS flag needs SQ flow control to be off).
    fn respond_with_data(
        &self,
        cid: Cid,
        data: AlignedBuf,
        held: Option<Payload>,
        under_way: Option<UnderWay>,
    ) {
        let success = !self.has_flow_control();
        let header = DataHeader {
            cid,
            ttag: Ttag(0),
            offset: 0,
            length: data.len() as u32,
            last: true,
            success,
        };
        let framing = self.framing.get();
        self.output.send_data(&Pdu::C2hData(header), data, framing, held, under_way);
        if !success {
            self.respond(cid, Status::SUCCESS, 0, None);
        }
    }
}
