//! One queue: a connection, its commands, and its reader.

mod reader;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ashlar_block::{AlignedBuf, Notify, wait_for};
use ashlar_nvme::cqe::Cqe;
use ashlar_nvme::pdu::{DataHeader, Digests, Framing, IcReq, Pdu, R2t};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_reactor::net::TcpStream;
use ashlar_reactor::{JoinHandle, spawn_joined};
use bytes::Bytes;

use super::error::{CommandError, ConnectError};
use super::output::Output;

/// Data of a command.
pub(super) enum Data {
    /// None.
    None,
    /// Goes to the target.
    Write(Bytes),
    /// Comes from the target: this many bytes at most.
    Read(usize),
}

/// How a command ended.
pub(super) struct Completion {
    pub(super) cqe: Cqe,
    /// What was read; empty otherwise.
    pub(super) data: AlignedBuf,
}

/// A command that is not answered.
struct Pending {
    write: Bytes,
    read: Option<AlignedBuf>,
    received: usize,
    digest_failed: bool,
    result: Option<Result<Completion, CommandError>>,
    waiting: Option<Waker>,
    /// Nobody waits for the answer any more.
    abandoned: bool,
}

struct State {
    slots: Vec<Option<Pending>>,
    free: Vec<u16>,
    broken: Option<CommandError>,
}

/// What a target allows on a queue.
#[derive(Clone, Copy)]
pub(super) struct QueueLimits {
    /// Commands outstanding.
    pub(super) depth: u16,
    /// Write data that go within the capsule.
    pub(super) in_capsule_bytes: u32,
}

/// One connection to a target.
pub(super) struct Queue {
    stream: TcpStream,
    output: Output,
    framing: Cell<Framing>,
    h2c_data_bytes_max: Cell<u32>,
    in_capsule_bytes: Cell<u32>,
    state: RefCell<State>,
    /// An identifier is free, or the queue has shaken hands, or is broken.
    changed: Notify,
    tasks: RefCell<Vec<JoinHandle<()>>>,
}

impl Queue {
    /// Connects and shakes hands.
    pub(super) async fn open(
        address: SocketAddr,
        digests: Digests,
        limits: QueueLimits,
    ) -> Result<Rc<Self>, ConnectError> {
        let stream = TcpStream::connect(address).await;
        let stream = stream
            .map_err(|source| ConnectError::Unreachable { address, source: Rc::new(source) })?;
        let state = State {
            slots: (0..limits.depth).map(|_| None).collect(),
            free: (0..limits.depth).rev().collect(),
            broken: None,
        };
        let queue = Rc::new(Queue {
            stream,
            output: Output::default(),
            framing: Cell::new(Framing::HANDSHAKE),
            h2c_data_bytes_max: Cell::new(0),
            in_capsule_bytes: Cell::new(limits.in_capsule_bytes),
            state: RefCell::new(state),
            changed: Notify::new(),
            tasks: RefCell::default(),
        });
        let request = IcReq { format_version: 0, data_alignment_bytes: 4, digests, r2t_max: 1 };
        queue.output.send(&Pdu::IcReq(request), Bytes::new(), Framing::HANDSHAKE);
        let handshake = reader::start(&queue);
        queue.tasks.borrow_mut().push(spawn_joined(write(queue.clone())));
        queue.tasks.borrow_mut().push(spawn_joined(handshake.read()));
        queue.shaken().await.map_err(|reason| ConnectError::Broken { address, reason })?;
        Ok(queue)
    }

    /// Until the target has answered the handshake.
    async fn shaken(&self) -> Result<(), CommandError> {
        wait_for(&self.changed, || match self.broken() {
            Some(broken) => Some(Err(broken)),
            None => (self.h2c_data_bytes_max.get() > 0).then_some(Ok(())),
        })
        .await
    }

    /// Why the queue is broken, if it is.
    pub(super) fn broken(&self) -> Option<CommandError> {
        self.state.borrow().broken.clone()
    }

    /// Sends a command and waits for its answer. Waits for a free entry first.
    ///
    /// Dropping the future gives up the answer, not the command.
    pub(super) async fn submit(&self, sqe: Sqe, data: Data) -> Result<Completion, CommandError> {
        let [cid] = self.free_cids().await?;
        self.send(cid, sqe, data).wait().await
    }

    /// Sends two commands that follow each other on the wire, and waits for both answers.
    pub(super) async fn submit_pair(
        &self,
        first: (Sqe, Bytes),
        second: (Sqe, Bytes),
    ) -> Result<(Completion, Completion), CommandError> {
        let [first_cid, second_cid] = self.free_cids().await?;
        let first = self.send(first_cid, first.0, Data::Write(first.1));
        let second = self.send(second_cid, second.0, Data::Write(second.1));
        Ok((first.wait().await?, second.wait().await?))
    }

    /// Sends a command under an identifier that is its own now.
    fn send(&self, cid: Cid, mut sqe: Sqe, data: Data) -> Answer<'_> {
        sqe.cid = cid.0.into();
        let pending = self.begin(&mut sqe, data);
        let in_capsule = match sqe.sgl {
            sgl if sgl == SglDescriptor::in_capsule(pending.write.len() as u32) => {
                pending.write.clone()
            }
            _ => Bytes::new(),
        };
        {
            let mut state = self.state.borrow_mut();
            let broken = state.broken.clone();
            let slot = state.slots[usize::from(cid.0)].insert(pending);
            slot.result = broken.map(Err);
        }
        self.output.send(&Pdu::Command(sqe), in_capsule, self.framing.get());
        Answer { queue: self, cid, done: false }
    }

    /// What is kept of a command, and where its data are to be found.
    fn begin(&self, sqe: &mut Sqe, data: Data) -> Pending {
        let (write, read) = match data {
            Data::None => (Bytes::new(), None),
            Data::Write(bytes) => (bytes, None),
            Data::Read(bytes) => (Bytes::new(), Some(AlignedBuf::stale(bytes))),
        };
        let length = read.as_ref().map_or(write.len(), |buf| buf.len()) as u32;
        let goes_in_capsule = !write.is_empty() && length <= self.in_capsule_bytes.get();
        sqe.sgl = if goes_in_capsule {
            SglDescriptor::in_capsule(length)
        } else {
            SglDescriptor::transport(length)
        };
        Pending {
            write,
            read,
            received: 0,
            digest_failed: false,
            result: None,
            waiting: None,
            abandoned: false,
        }
    }

    /// As many identifiers that no command has, once there are so many: who held some and waited
    /// for more would wait for others that do the same.
    async fn free_cids<const COUNT: usize>(&self) -> Result<[Cid; COUNT], CommandError> {
        wait_for(&self.changed, || {
            let mut state = self.state.borrow_mut();
            if let Some(broken) = &state.broken {
                return Some(Err(broken.clone()));
            }
            if COUNT > state.slots.len() {
                return Some(Err(CommandError::Invalid(
                    "the queue has too few entries for it".to_owned(),
                )));
            }
            let left = state.free.len().checked_sub(COUNT)?;
            let mut free = state.free.drain(left..).rev().map(Cid);
            Some(Ok(std::array::from_fn(|_| free.next().expect("so many are there"))))
        })
        .await
    }

    /// The identifier is free again. All who wait look: for the first of them it may be too few.
    fn release(&self, cid: Cid) {
        self.state.borrow_mut().free.push(cid.0);
        self.changed.notify_waiters();
    }

    /// Fails every command, now and later.
    pub(super) fn fail(&self, error: CommandError) {
        let mut state = self.state.borrow_mut();
        if state.broken.is_some() {
            return;
        }
        state.broken = Some(error.clone());
        for pending in state.slots.iter_mut().flatten().filter(|pending| pending.result.is_none()) {
            pending.finish(Err(error.clone()));
        }
        self.changed.notify_waiters();
    }

    /// Ends the connection.
    pub(super) fn close(&self) {
        self.fail(CommandError::Closed);
        self.tasks.borrow_mut().drain(..).for_each(JoinHandle::abort);
    }

    fn send_data(&self, r2t: R2t) -> Option<()> {
        let state = self.state.borrow();
        let pending = state.slots.get(usize::from(r2t.cid.0))?.as_ref()?;
        let end = r2t.offset.checked_add(r2t.length)?;
        let data = pending
            .write
            .get(r2t.offset as usize..end as usize)
            .map(|part| pending.write.slice_ref(part))?;
        let piece_bytes = self.h2c_data_bytes_max.get() as usize;
        for start in (0..data.len()).step_by(piece_bytes) {
            let piece = data.slice(start..data.len().min(start + piece_bytes));
            let header = DataHeader {
                cid: r2t.cid,
                ttag: r2t.ttag,
                offset: r2t.offset + start as u32,
                length: piece.len() as u32,
                last: start + piece.len() == data.len(),
                success: false,
            };
            self.output.send(&Pdu::H2cData(header), piece, self.framing.get());
        }
        Some(())
    }

    /// Takes an answer. None if no command of that identifier is outstanding.
    fn complete(&self, cqe: Cqe) -> Option<()> {
        let mut state = self.state.borrow_mut();
        let slot = state.slots.get_mut(usize::from(cqe.cid().0))?;
        let pending = slot.as_mut().filter(|pending| pending.result.is_none())?;
        let data = pending.read.take().map(|mut buf| {
            buf.truncate(pending.received);
            buf
        });
        let data = data.unwrap_or_else(AlignedBuf::empty);
        let result = if pending.digest_failed {
            Err(CommandError::Status(Status::TRANSIENT_TRANSPORT_ERROR))
        } else {
            Ok(Completion { cqe, data })
        };
        pending.finish(result);
        if pending.abandoned {
            *slot = None;
            drop(state);
            self.release(cqe.cid());
        }
        Some(())
    }
}

impl Pending {
    fn finish(&mut self, result: Result<Completion, CommandError>) {
        self.result = Some(result);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

/// Waits for a command's answer, and frees its entry.
struct Answer<'a> {
    queue: &'a Queue,
    cid: Cid,
    done: bool,
}

impl Answer<'_> {
    async fn wait(mut self) -> Result<Completion, CommandError> {
        let result = poll_fn(|cx| self.poll(cx)).await;
        self.done = true;
        result
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<Completion, CommandError>> {
        let mut state = self.queue.state.borrow_mut();
        let slot = &mut state.slots[usize::from(self.cid.0)];
        let pending = slot.as_mut().expect("the entry is this command's until it is answered");
        let Some(result) = pending.result.take() else {
            pending.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        };
        *slot = None;
        drop(state);
        self.queue.release(self.cid);
        Poll::Ready(result)
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut state = self.queue.state.borrow_mut();
        let slot = &mut state.slots[usize::from(self.cid.0)];
        match slot {
            Some(pending) if pending.result.is_none() => pending.abandoned = true,
            _ => {
                *slot = None;
                drop(state);
                self.queue.release(self.cid);
            }
        }
    }
}

async fn write(queue: Rc<Queue>) {
    let error = queue.output.write_to(&queue.stream).await;
    queue.fail(CommandError::lost(error));
}
