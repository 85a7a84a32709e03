//! What a queue has to send: what gathers in one turn goes with one call.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use ashlar_nvme::pdu::{Framing, Pdu, crc32c};
use ashlar_reactor::net::{SendList, TcpStream};
use ashlar_reactor::yield_now;
use bytes::Bytes;

/// The sending side of a queue.
#[derive(Default)]
pub(super) struct Output {
    batch: RefCell<SendList>,
    waiting: RefCell<Option<Waker>>,
}

impl Output {
    pub(super) fn send(&self, pdu: &Pdu, data: Bytes, framing: Framing) {
        add(&mut self.batch.borrow_mut(), pdu, data, framing);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// Exchanges what has gathered, once there is something, for `spare`, which has nothing.
    async fn next_batch(&self, spare: &mut SendList) {
        poll_fn(|cx| {
            if !self.batch.borrow().is_empty() {
                return Poll::Ready(());
            }
            self.waiting.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
        yield_now().await;
        std::mem::swap(&mut *self.batch.borrow_mut(), spare);
    }

    /// Sends until the connection breaks.
    pub(super) async fn write_to(&self, stream: &TcpStream) -> std::io::Error {
        let mut list = SendList::new();
        loop {
            self.next_batch(&mut list).await;
            let (result, returned) = stream.send(list).await;
            list = returned;
            list.clear();
            if let Err(error) = result {
                return error;
            }
        }
    }
}

/// Adds a PDU and its payload, with its digest if `framing` has one.
fn add(list: &mut SendList, pdu: &Pdu, data: Bytes, framing: Framing) {
    list.push_written(|headers| pdu.encode(data.len() as u32, framing, headers));
    if data.is_empty() {
        return;
    }
    let digest = framing.digests.data.then(|| crc32c(&data).to_le_bytes());
    list.push(data);
    if let Some(digest) = digest {
        list.push_written(|headers| headers.extend_from_slice(&digest));
    }
}
