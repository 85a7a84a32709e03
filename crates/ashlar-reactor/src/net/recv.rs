//! What has come for a connection and is not taken yet, and how the next bytes are asked for.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use io_uring::{cqueue, opcode, squeue, types};

use ashlar_block::copies;

use crate::config::Config;
use crate::ops::{OpKey, Owned, Sink};
use crate::pool::{GROUP, Held, RecvBuf};
use crate::reactor::Reactor;

/// Chunks that may wait for a connection's reader before receiving pauses: bounds the cost of many
/// tiny ones.
const QUEUED_CHUNKS_MAX: usize = 64;
/// Chunks after the last large payload, at which one operation again receives many.
const CHUNKS_UNTIL_MULTISHOT: u32 = 8;
/// What a single receive takes between two large payloads: some headers, little of the next
/// payload.
const SINGLE_RECV_BYTES_MAX: u32 = 4 << 10;

/// How to ask for the next bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// One operation receives until it is stopped: best for many small requests.
    Multishot,
    /// One operation, one chunk, and a small one, so that the large payload behind it can go
    /// straight to its own memory: stopping a multishot receive each time would cost a turn.
    Single {
        /// Chunks until small requests are assumed again.
        chunks_left: u32,
    },
    /// As `Single`, until told otherwise: what a connection costs whose bytes are not taken is one
    /// chunk.
    Sparing,
}

impl Mode {
    pub(crate) fn after_payload(self) -> Self {
        match self {
            Mode::Sparing => Mode::Sparing,
            _ => Mode::Single { chunks_left: CHUNKS_UNTIL_MULTISHOT },
        }
    }

    pub(crate) fn after_chunk(self) -> Self {
        match self {
            Mode::Single { chunks_left } if chunks_left > 1 => {
                Mode::Single { chunks_left: chunks_left - 1 }
            }
            Mode::Sparing => Mode::Sparing,
            _ => Mode::Multishot,
        }
    }
}

/// Whether a chunk that has come may keep its shared buffer. A connection keeps its share while at
/// least a quarter of all buffers is left for the others; so one slow reader, or many, cannot
/// starve the rest.
pub(crate) fn may_hold(held: u32, held_max: u32, available: u16, count: u16) -> bool {
    held < held_max && u32::from(available) * 4 >= u32::from(count)
}

#[derive(Clone, Copy, Debug)]
enum End {
    Closed,
    Failed(i32),
}

#[derive(Default)]
struct State {
    chunks: VecDeque<RecvBuf>,
    queued_bytes: usize,
    armed: Option<OpKey>,
    stopping: bool,
    end: Option<End>,
    waiting: Option<Waker>,
}

/// The receiving side of a connection.
pub(crate) struct RecvQueue {
    socket: RawFd,
    mode: Cell<Mode>,
    /// What the next single receive may take.
    single_bytes: Cell<u32>,
    state: RefCell<State>,
    /// Shared buffers that this connection holds, those given to its reader, and kept by whoever it
    /// gave parts, included.
    held: Held,
}

impl RecvQueue {
    pub(crate) fn new(socket: RawFd) -> Rc<Self> {
        Rc::new(RecvQueue {
            socket,
            mode: Cell::new(Mode::Multishot),
            single_bytes: Cell::new(SINGLE_RECV_BYTES_MAX),
            state: RefCell::default(),
            held: Rc::default(),
        })
    }

    /// The next chunk; `None` once the peer has closed.
    pub(crate) fn poll_chunk(
        self: &Rc<Self>,
        reactor: &Reactor,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<RecvBuf>>> {
        let Some(chunk) = self.pop() else {
            return self.poll_news(reactor, cx).map_ok(|_| None);
        };
        if self.mode.get() == Mode::Multishot {
            self.arm_if_wanted(reactor);
        }
        Poll::Ready(Ok(Some(chunk)))
    }

    /// Whether there are chunks: false once the peer has closed and all is used.
    pub(crate) fn poll_news(
        self: &Rc<Self>,
        reactor: &Reactor,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        self.arm_if_wanted(reactor);
        let mut state = self.state.borrow_mut();
        match state.end {
            _ if !state.chunks.is_empty() => Poll::Ready(Ok(true)),
            Some(End::Closed) => Poll::Ready(Ok(false)),
            Some(End::Failed(errno)) => Poll::Ready(Err(io::Error::from_raw_os_error(errno))),
            None => {
                state.waiting = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn pop(&self) -> Option<RecvBuf> {
        let mut state = self.state.borrow_mut();
        let chunk = state.chunks.pop_front()?;
        state.queued_bytes -= chunk.len();
        self.mode.set(self.mode.get().after_chunk());
        Some(chunk)
    }

    /// Puts back what a reader did not use: it comes first again.
    pub(crate) fn put_back(&self, chunk: RecvBuf) {
        if !chunk.is_empty() {
            let mut state = self.state.borrow_mut();
            state.queued_bytes += chunk.len();
            state.chunks.push_front(chunk);
        }
    }

    /// Asks for more: after a pause only when half of what had queued up is used, and in single
    /// mode only when nothing is left, so that a payload can still go straight to its memory.
    fn arm_if_wanted(self: &Rc<Self>, reactor: &Reactor) {
        let wanted = {
            let state = self.state.borrow();
            let room = match self.mode.get() {
                Mode::Multishot => {
                    state.queued_bytes <= reactor.config.recv_queued_bytes_max / 2
                        && state.chunks.len() <= QUEUED_CHUNKS_MAX / 2
                }
                Mode::Single { .. } | Mode::Sparing => state.chunks.is_empty(),
            };
            room && state.armed.is_none() && state.end.is_none()
        };
        if wanted {
            self.arm(reactor);
        }
    }

    fn arm(self: &Rc<Self>, reactor: &Reactor) {
        let entry = self.entry();
        // SAFETY: the memory is the pool's, which outlives the ring; the stream closes its socket
        // through the reactor.
        let key = unsafe { reactor.begin_with_sink(entry, Owned::Nothing, self.clone()) };
        let mut state = self.state.borrow_mut();
        state.armed = key;
        if key.is_none() {
            state.end = Some(End::Failed(libc::ECANCELED));
        }
    }

    fn entry(&self) -> squeue::Entry {
        let socket = types::Fd(self.socket);
        match self.mode.get() {
            Mode::Multishot => opcode::RecvMulti::new(socket, GROUP).build(),
            Mode::Single { .. } | Mode::Sparing => {
                let bytes = self.single_bytes.replace(SINGLE_RECV_BYTES_MAX);
                opcode::Recv::new(socket, std::ptr::null_mut(), bytes)
                    .buf_group(GROUP)
                    .build()
                    .flags(squeue::Flags::BUFFER_SELECT)
            }
        }
    }

    /// From the next receive on: little at a time, or as usual.
    pub(crate) fn set_sparing(&self, sparing: bool) {
        self.mode.set(if sparing { Mode::Sparing } else { Mode::Multishot });
    }

    /// Lets the next single receive take all of `bytes`, which are known to be wanted in shared
    /// buffers.
    pub(crate) fn expect(&self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.single_bytes.set(bytes.max(SINGLE_RECV_BYTES_MAX));
    }

    /// Moves what has come into `buf`, from its front. Returns how many bytes.
    pub(crate) fn take_into(&self, buf: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buf.len() {
            let Some(mut chunk) = self.pop() else { break };
            let count = chunk.len().min(buf.len() - filled);
            buf[filled..filled + count].copy_from_slice(&chunk[..count]);
            copies::note(count);
            chunk.advance(count);
            filled += count;
            self.put_back(chunk);
        }
        filled
    }

    /// Ready once no receive is under way, so that the next bytes of the socket can go elsewhere.
    /// What the last one brought is in the queue then.
    pub(crate) fn poll_stopped(&self, reactor: &Reactor, cx: &mut Context<'_>) -> Poll<()> {
        self.mode.set(self.mode.get().after_payload());
        self.stop(reactor);
        let mut state = self.state.borrow_mut();
        if state.armed.is_none() {
            return Poll::Ready(());
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends the receive under way, if any.
    pub(crate) fn stop(&self, reactor: &Reactor) {
        let mut state = self.state.borrow_mut();
        let Some(key) = state.armed else { return };
        if !std::mem::replace(&mut state.stopping, true) {
            reactor.cancel(key);
        }
    }

    /// Nothing after this can be received: the bytes that come next are not at a known place.
    pub(crate) fn fail(&self, errno: i32) {
        self.state.borrow_mut().end = Some(End::Failed(errno));
    }

    pub(crate) fn ended(&self) -> bool {
        self.state.borrow().end.is_some()
    }

    /// Bytes that have come and are not taken yet.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.state.borrow().queued_bytes
    }

    /// Nothing queued, nothing under way, not ended.
    pub(crate) fn is_quiet(&self) -> bool {
        let state = self.state.borrow();
        state.chunks.is_empty() && state.armed.is_none() && state.end.is_none()
    }

    /// Forgets what nobody will read.
    pub(crate) fn clear(&self) {
        let chunks = std::mem::take(&mut self.state.borrow_mut().chunks);
        drop(chunks);
        self.state.borrow_mut().queued_bytes = 0;
        self.fail(libc::ECANCELED);
    }

    fn chunk_of(&self, reactor: &Reactor, buffer: u16, len: usize) -> RecvBuf {
        let (available, count) = reactor.pool.available();
        let held = self.held.get();
        let chunk = RecvBuf::taken(&reactor.pool, buffer, len, &self.held);
        if may_hold(held, reactor.config.recv_held_per_connection_max, available, count) {
            return chunk;
        }
        reactor.counters.recv_copies.add(1);
        chunk.into_copied()
    }

    fn take_note(&self, reactor: &Reactor, result: i32, chunk: Option<RecvBuf>, more: bool) {
        let mut state = self.state.borrow_mut();
        if !more {
            state.armed = None;
            state.stopping = false;
        }
        match result {
            0 => state.end = state.end.or(Some(End::Closed)),
            // The shared buffers ran out, or we stopped it: the next look at the queue asks again.
            _ if -result == libc::ENOBUFS => {
                reactor.counters.recv_exhausted.add(1);
                reactor.pool.exhausted();
            }
            _ if -result == libc::ECANCELED || -result == libc::EINTR => {}
            _ if result < 0 => state.end = state.end.or(Some(End::Failed(-result))),
            _ => {}
        }
        // After a failure set from outside, what still comes is dropped.
        if let Some(chunk) = chunk.filter(|chunk| !chunk.is_empty() && state.end.is_none()) {
            state.queued_bytes += chunk.len();
            state.chunks.push_back(chunk);
        }
    }

    fn is_over_full(&self, config: &Config) -> bool {
        let state = self.state.borrow();
        state.queued_bytes > config.recv_queued_bytes_max || state.chunks.len() > QUEUED_CHUNKS_MAX
    }
}

impl Sink for RecvQueue {
    fn complete(self: Rc<Self>, reactor: &Rc<Reactor>, result: i32, flags: u32, more: bool) {
        let len = usize::try_from(result).unwrap_or(0);
        let chunk = cqueue::buffer_select(flags).map(|buffer| self.chunk_of(reactor, buffer, len));
        self.take_note(reactor, result, chunk, more);
        if more && self.is_over_full(&reactor.config) {
            reactor.counters.recv_pauses.add(1);
            self.stop(reactor);
        }
        let waiting = self.state.borrow_mut().waiting.take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests;
