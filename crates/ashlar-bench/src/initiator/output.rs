//! What a queue has to send: what gathers in one turn goes with one call.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use ashlar_nvme::pdu::{DataDigest, Framing, Pdu};
use ashlar_reactor::net::{SendList, TcpStream};
use ashlar_reactor::yield_now;
use bytes::Bytes;

#[derive(Default)]
struct Batch {
    /// Headers of all PDUs, end to end.
    headers: Vec<u8>,
    /// Payloads, each with the length of `headers` at which it comes in.
    data: Vec<(usize, Bytes)>,
}

impl Batch {
    fn add(&mut self, pdu: &Pdu, data: Bytes, framing: Framing) {
        pdu.encode(data.len() as u32, framing, &mut self.headers);
        if data.is_empty() {
            return;
        }
        let mut digest = DataDigest::default();
        if framing.digests.data {
            digest.update(&data);
        }
        self.data.push((self.headers.len(), data));
        if framing.digests.data {
            self.headers.extend_from_slice(&digest.to_bytes());
        }
    }

    fn fill(self, list: &mut SendList) {
        let headers = Bytes::from(self.headers);
        let mut start = 0;
        for (end, data) in self.data {
            list.push(headers.slice(start..end));
            list.push(data);
            start = end;
        }
        list.push(headers.slice(start..));
    }
}

/// The sending side of a queue.
#[derive(Default)]
pub(super) struct Output {
    batch: RefCell<Batch>,
    waiting: RefCell<Option<Waker>>,
}

impl Output {
    pub(super) fn send(&self, pdu: &Pdu, data: Bytes, framing: Framing) {
        self.batch.borrow_mut().add(pdu, data, framing);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    async fn next_batch(&self) -> Batch {
        poll_fn(|cx| {
            if !self.batch.borrow().headers.is_empty() {
                return Poll::Ready(());
            }
            self.waiting.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
        yield_now().await;
        self.batch.take()
    }

    /// Sends until the connection breaks.
    pub(super) async fn write_to(&self, stream: &TcpStream) -> std::io::Error {
        let mut list = SendList::new();
        loop {
            self.next_batch().await.fill(&mut list);
            let (result, returned) = stream.send(list).await;
            list = returned;
            list.clear();
            if let Err(error) = result {
                return error;
            }
        }
    }
}
