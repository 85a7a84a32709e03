//! What a connection has to send: replies gather, and one writer sends all that has gathered with one call.

use std::cell::RefCell;
use std::future::poll_fn;
use std::ops::Range;
use std::task::{Poll, Waker};
use std::time::Duration;

use ashlar_nvme::pdu::{DataDigest, Framing, Pdu};
use ashlar_reactor::net::{SendList, TcpStream};
use ashlar_reactor::{timeout, yield_now};
use bytes::Bytes;

use super::memory::Payload;

enum Piece {
    /// A part of the batch's headers.
    Header(Range<usize>),
    /// Payload, sent from where it is.
    Data(Bytes),
}

/// PDUs that are sent together.
#[derive(Default)]
struct Batch {
    headers: Vec<u8>,
    pieces: Vec<Piece>,
    /// Memory that is free again once the batch is sent.
    held: Vec<Payload>,
}

impl Batch {
    /// Notes that `headers` has grown since it was `start` long.
    fn note_header(&mut self, start: usize) {
        let end = self.headers.len();
        match self.pieces.last_mut() {
            Some(Piece::Header(range)) if range.end == start => range.end = end,
            _ => self.pieces.push(Piece::Header(start..end)),
        }
    }

    fn add(&mut self, pdu: &Pdu, data: Option<Bytes>, framing: Framing) {
        let start = self.headers.len();
        pdu.encode(data.as_ref().map_or(0, |data| data.len() as u32), framing, &mut self.headers);
        self.note_header(start);
        let Some(data) = data.filter(|data| !data.is_empty()) else { return };
        let digest = framing.digests.data.then(|| {
            let mut digest = DataDigest::default();
            digest.update(&data);
            digest.to_bytes()
        });
        self.pieces.push(Piece::Data(data));
        if let Some(digest) = digest {
            let start = self.headers.len();
            self.headers.extend_from_slice(&digest);
            self.note_header(start);
        }
    }

    /// The pieces in order. Headers are shared slices of one allocation.
    fn fill(self, list: &mut SendList) -> Vec<Payload> {
        let headers = Bytes::from(self.headers);
        for piece in self.pieces {
            match piece {
                Piece::Header(range) => list.push(headers.slice(range)),
                Piece::Data(data) => list.push(data),
            }
        }
        self.held
    }
}

#[derive(Default)]
struct State {
    batch: Batch,
    /// What is added is dropped.
    closed: bool,
    /// What has gathered is still sent, then the writer ends.
    finishing: bool,
    waiting: Option<Waker>,
}

/// The sending side of a connection.
#[derive(Default)]
pub(super) struct Output {
    state: RefCell<State>,
}

impl Output {
    /// Adds a PDU.
    pub(super) fn send(&self, pdu: &Pdu, framing: Framing) {
        self.add(pdu, None, framing, None);
    }

    /// Adds a PDU with payload; `held` is dropped once it is sent.
    pub(super) fn send_data(&self, pdu: &Pdu, data: Bytes, framing: Framing, held: Option<Payload>) {
        self.add(pdu, Some(data), framing, held);
    }

    fn add(&self, pdu: &Pdu, data: Option<Bytes>, framing: Framing, held: Option<Payload>) {
        let mut state = self.state.borrow_mut();
        if state.closed {
            return;
        }
        state.batch.add(pdu, data, framing);
        state.batch.held.extend(held);
        state.wake();
    }

    /// Drops what has gathered and all that comes: the other side is gone.
    pub(super) fn close(&self) {
        let mut state = self.state.borrow_mut();
        state.closed = true;
        state.batch = Batch::default();
    }

    /// Adds a terminate request after [`Output::close`]: the one PDU that is sent then.
    pub(super) fn send_last(&self, term: &Pdu, header: Bytes) {
        let mut state = self.state.borrow_mut();
        state.batch = Batch::default();
        state.batch.add(term, Some(header), Framing::HANDSHAKE);
        state.wake();
    }

    /// Lets the writer end once everything is sent.
    pub(super) fn finish(&self) {
        let mut state = self.state.borrow_mut();
        state.finishing = true;
        state.wake();
    }

    /// What has gathered, once there is something; `None` at the end.
    async fn next_batch(&self) -> Option<Batch> {
        let more = poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if !state.batch.pieces.is_empty() {
                return Poll::Ready(true);
            }
            if state.finishing {
                return Poll::Ready(false);
            }
            state.waiting = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        if !more {
            return None;
        }
        // The other commands of this turn answer first: their replies go with the same call.
        yield_now().await;
        let mut state = self.state.borrow_mut();
        Some(std::mem::take(&mut state.batch))
    }

    /// Sends until the end. Returns false if the connection broke, or the other side did not take what is
    /// sent within `patience`.
    pub(super) async fn write_to(&self, stream: &TcpStream, patience: Duration) -> bool {
        let mut list = SendList::new();
        while let Some(batch) = self.next_batch().await {
            let held = batch.fill(&mut list);
            let Ok((Ok(()), returned)) = timeout(patience, stream.send(list)).await else {
                self.close();
                return false;
            };
            list = returned;
            list.clear();
            drop(held);
        }
        true
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}
