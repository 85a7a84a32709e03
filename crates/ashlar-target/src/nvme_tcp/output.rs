//! What a connection has to send: replies gather, and one writer sends all that has gathered with
//! one call.

use std::cell::{OnceCell, RefCell};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use ashlar_block::AlignedBuf;
use ashlar_block::latency::UnderWay;
use ashlar_nvme::pdu::{Framing, Pdu, crc32c};
use ashlar_reactor::net::{SendList, TcpStream};
use ashlar_reactor::{now, timeout, yield_now};

use super::host_meter::{HostCounts, HostMeter};
use super::memory::Payload;

/// Answers that no [`Payload`] stands for and that are not sent, in bytes, beyond which
/// [`Output::room`] lets nothing more begin: more than the small answers of a queue of 1,024
/// entries, so that mostly a host that does not read gets there. One answer, and those of the
/// commands that have begun already, still come on top.
const UNSENT_BYTES_MAX: usize = 64 << 10;
/// The same until Connect is done, which takes two small answers.
const UNSENT_BYTES_BEFORE_CONNECT_MAX: usize = 8 << 10;

/// PDUs that are sent together.
#[derive(Default)]
struct Batch {
    list: SendList,
    /// Memory that is free again once the batch is sent.
    held: Vec<Payload>,
    /// Commands that are answered by it.
    answered: Vec<UnderWay>,
    /// Bytes of the list that are in no budget.
    unbudgeted_bytes: usize,
    zeros: ZerosDigest,
}

/// The digest of the last answer of zeros, and how many they were: the next one is most often as
/// long.
#[derive(Clone, Copy, Default)]
struct ZerosDigest {
    bytes: usize,
    digest: u32,
}

impl ZerosDigest {
    /// The digest of `data`, computed where it is not known already.
    fn digest_of(&mut self, data: &AlignedBuf) -> u32 {
        if !data.is_untouched_zeros() {
            return crc32c(data);
        }
        if self.bytes != data.len() {
            *self = ZerosDigest { bytes: data.len(), digest: crc32c(data) };
        }
        self.digest
    }
}

impl Batch {
    /// Adds a PDU. `held` is the memory that `data` take, if they are in a budget.
    fn add(&mut self, pdu: &Pdu, data: AlignedBuf, framing: Framing, held: Option<Payload>) {
        let budgeted_bytes = if held.is_some() { data.len() } else { 0 };
        let bytes_before = self.list.len_bytes();
        self.held.extend(held);
        self.list.push_written(|headers| pdu.encode(data.len() as u32, framing, headers));
        self.add_data(data, framing);
        self.unbudgeted_bytes += self.list.len_bytes() - bytes_before - budgeted_bytes;
    }

    fn add_data(&mut self, data: AlignedBuf, framing: Framing) {
        if data.is_empty() {
            return;
        }
        let digest = framing.digests.data.then(|| self.zeros.digest_of(&data).to_le_bytes());
        self.list.push_buf(data);
        if let Some(digest) = digest {
            self.list.push_written(|headers| headers.extend_from_slice(&digest));
        }
    }

    /// Its commands end now: one look at the clock for all of them.
    fn end_commands(&mut self, meters: &[Arc<HostMeter>]) {
        if self.answered.is_empty() {
            return;
        }
        let at = now();
        let mut counts = HostCounts::default();
        for command in self.answered.drain(..) {
            counts.note(command.kind(), command.bytes());
            command.ended(at);
        }
        meters.iter().for_each(|meter| meter.add(&counts));
    }

    /// Forgets what it has, keeps the room.
    fn clear(&mut self) {
        self.list.clear();
        self.held.clear();
        self.unbudgeted_bytes = 0;
    }
}

#[derive(Default)]
struct State {
    batch: Batch,
    /// [`Batch::unbudgeted_bytes`] of the batch that is being sent.
    sending_bytes: usize,
    /// Connect is done.
    is_connected: bool,
    /// What is added is dropped.
    closed: bool,
    /// What has gathered is still sent, then the writer ends.
    finishing: bool,
    /// The writer, where it waits for something to send.
    waiting: Option<Waker>,
    /// The reader, where it waits for room.
    wants_room: Option<Waker>,
}

/// The sending side of a connection.
#[derive(Default)]
pub(super) struct Output {
    state: RefCell<State>,
    /// Who counts what is answered, once it is known whom it is for.
    meters: OnceCell<[Arc<HostMeter>; 2]>,
}

impl Output {
    /// Adds a PDU.
    pub(super) fn send(&self, pdu: &Pdu, framing: Framing) {
        self.add(pdu, AlignedBuf::empty(), framing, None, None);
    }

    /// Adds the answer to a command, which ends as it is sent.
    pub(super) fn send_answer(&self, pdu: &Pdu, framing: Framing, command: Option<UnderWay>) {
        self.add(pdu, AlignedBuf::empty(), framing, None, command);
    }

    /// Adds the answer to a command with payload; `held` is dropped once it is sent.
    pub(super) fn send_data(
        &self,
        pdu: &Pdu,
        data: AlignedBuf,
        framing: Framing,
        held: Option<Payload>,
        command: Option<UnderWay>,
    ) {
        self.add(pdu, data, framing, held, command);
    }

    fn add(
        &self,
        pdu: &Pdu,
        data: AlignedBuf,
        framing: Framing,
        held: Option<Payload>,
        command: Option<UnderWay>,
    ) {
        let mut state = self.state.borrow_mut();
        if state.closed {
            return;
        }
        state.batch.add(pdu, data, framing, held);
        state.batch.answered.extend(command);
        state.wake();
    }

    /// What is answered from now on is counted by these.
    pub(super) fn count_by(&self, meters: [Arc<HostMeter>; 2]) {
        let _ = self.meters.set(meters);
    }

    /// Connect is done: more may be unsent from now on.
    pub(super) fn connected(&self) {
        self.state.borrow_mut().is_connected = true;
    }

    /// Whether the other side is so far behind that nothing more should begin.
    pub(super) fn is_full(&self) -> bool {
        self.state.borrow().is_full()
    }

    /// Until the other side has taken enough. One caller at a time.
    pub(super) async fn room(&self) {
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if !state.is_full() {
                return Poll::Ready(());
            }
            state.wants_room = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Drops what has gathered and all that comes: the other side is gone.
    pub(super) fn close(&self) {
        let mut state = self.state.borrow_mut();
        state.closed = true;
        state.batch = Batch::default();
        state.sent();
    }

    /// Adds a terminate request after [`Output::close`]: the one PDU that is sent then.
    pub(super) fn send_last(&self, term: &Pdu, header: &[u8]) {
        let mut state = self.state.borrow_mut();
        state.batch = Batch::default();
        state.batch.add(term, AlignedBuf::copy_of(header), Framing::HANDSHAKE, None);
        state.wake();
    }

    /// Lets the writer end once everything is sent.
    pub(super) fn finish(&self) {
        let mut state = self.state.borrow_mut();
        state.finishing = true;
        state.wake();
    }

    /// Exchanges what has gathered, once there is something, for `spare`, which has nothing.
    /// Returns false at the end.
    async fn next_batch(&self, spare: &mut Batch) -> bool {
        let more = poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if !state.batch.list.is_empty() {
                return Poll::Ready(true);
            }
            if state.finishing {
                return Poll::Ready(false);
            }
            state.waiting = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        if more {
            // The other commands of this turn answer first: their replies go with the same call.
            yield_now().await;
            let mut state = self.state.borrow_mut();
            std::mem::swap(&mut state.batch, spare);
            state.sending_bytes = spare.unbudgeted_bytes;
            spare.end_commands(self.meters.get().map_or(&[], |meters| meters));
        }
        more
    }

    /// Sends until the end. Returns false if the connection broke, or the other side did not take
    /// what is sent within `patience`.
    pub(super) async fn write_to(&self, stream: &TcpStream, patience: Duration) -> bool {
        let mut batch = Batch::default();
        while self.next_batch(&mut batch).await {
            let Batch { list, held, answered, unbudgeted_bytes, zeros } = batch;
            let Ok((Ok(()), list)) = timeout(patience, stream.send(list)).await else {
                self.close();
                return false;
            };
            batch = Batch { list, held, answered, unbudgeted_bytes, zeros };
            batch.clear();
            self.state.borrow_mut().sent();
        }
        true
    }
}

impl State {
    fn is_full(&self) -> bool {
        let bytes_max =
            if self.is_connected { UNSENT_BYTES_MAX } else { UNSENT_BYTES_BEFORE_CONNECT_MAX };
        self.sending_bytes + self.batch.unbudgeted_bytes > bytes_max
    }

    /// Nothing is being sent any more.
    fn sent(&mut self) {
        self.sending_bytes = 0;
        if let Some(waker) = self.wants_room.take() {
            waker.wake();
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}
