//! The control for benchmarks of a target: a server that does nothing but move the same bytes over
//! the same reactor as NVMe/TCP would, so that the cost of everything else shows as a ratio.
//!
//! A message begins with its length and the length of the reply that it wants, four bytes each. A 4
//! KiB read is a message of 72 bytes with a reply of 24 + 4096 + 24; a 128 KiB write is one of 72
//! bytes with a reply of 24 (the R2T), followed by one of 24 + 131,072 with a reply of 24.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Nanos};
use ashlar_reactor::net::{SendList, TcpListener, TcpStream};
use ashlar_reactor::{now, spawn, spawn_joined};
use bytes::Bytes;

use crate::cpu::CpuClock;
use crate::load::{Content, Direction, Load};
use crate::wire_bench::{BenchError, Figures, Meter};

/// Bytes of a command capsule without data.
const COMMAND_BYTES: u32 = 72;
/// Bytes of a response capsule, an R2T, or a data PDU's header.
const HEADER_BYTES: u32 = 24;
/// Writes up to this size go within the capsule.
const IN_CAPSULE_BYTES_MAX: u32 = 16 << 10;
/// Longest message or reply that the server takes part in.
const MESSAGE_BYTES_MAX: u32 = 4 << 20;
/// Bytes of a message's own header.
const LENGTHS_BYTES: usize = 8;
/// From how many missing bytes on a message is received straight into a buffer.
const DIRECT_BYTES_MIN: usize = 4096;
/// From how many missing bytes on a reply is received straight into a buffer, as hosts do with what
/// they read. That sets how many messages a host hands over at a time.
const DIRECT_REPLY_BYTES_MIN: usize = 32 << 10;

/// One exchange of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Exchange {
    message_bytes: u32,
    reply_bytes: u32,
}

/// The exchanges that NVMe/TCP needs for one operation.
fn exchanges(load: &Load) -> Vec<Exchange> {
    match load.direction {
        Direction::Read => vec![Exchange {
            message_bytes: COMMAND_BYTES,
            reply_bytes: HEADER_BYTES + load.bytes + HEADER_BYTES,
        }],
        Direction::Write if load.bytes <= IN_CAPSULE_BYTES_MAX => {
            vec![Exchange { message_bytes: COMMAND_BYTES + load.bytes, reply_bytes: HEADER_BYTES }]
        }
        Direction::Write => vec![
            Exchange { message_bytes: COMMAND_BYTES, reply_bytes: HEADER_BYTES },
            Exchange { message_bytes: HEADER_BYTES + load.bytes, reply_bytes: HEADER_BYTES },
        ],
    }
}

/// Serves connections of `listener` until the reactor ends.
///
/// # Errors
/// Accepting fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let zeros = AlignedBuf::zeroed(MESSAGE_BYTES_MAX as usize).freeze();
    loop {
        let (stream, peer) = listener.accept().await?;
        let zeros = zeros.clone();
        spawn(async move {
            if let Err(error) = serve_one(&stream, &zeros).await {
                tracing::debug!(%peer, %error, "echo connection ends");
            }
        });
    }
}

/// Cuts a stream of messages.
#[derive(Default)]
struct Cutter {
    lengths: [u8; LENGTHS_BYTES],
    have: usize,
    /// Bytes of the current message that have not come; meaningful once its lengths have.
    left: usize,
}

impl Cutter {
    /// Takes bytes of the stream; calls `reply` for each message that ends in them.
    fn take(&mut self, mut input: &[u8], mut reply: impl FnMut(u32)) -> io::Result<()> {
        while !input.is_empty() {
            if self.have < LENGTHS_BYTES {
                let count = (LENGTHS_BYTES - self.have).min(input.len());
                self.lengths[self.have..self.have + count].copy_from_slice(&input[..count]);
                self.have += count;
                input = &input[count..];
                if self.have == LENGTHS_BYTES {
                    self.left = self.body_bytes()?;
                }
            }
            let count = self.left.min(input.len());
            self.skip(count, &mut reply);
            input = &input[count..];
        }
        Ok(())
    }

    fn skip(&mut self, count: usize, reply: &mut impl FnMut(u32)) {
        self.left -= count;
        if self.have == LENGTHS_BYTES && self.left == 0 {
            self.have = 0;
            reply(self.number(4));
        }
    }

    fn number(&self, place: usize) -> u32 {
        u32::from_le_bytes(self.lengths[place..place + 4].try_into().expect("four bytes"))
    }

    fn body_bytes(&self) -> io::Result<usize> {
        let (message, reply) = (self.number(0), self.number(4));
        if !(LENGTHS_BYTES as u32..=MESSAGE_BYTES_MAX).contains(&message)
            || reply > MESSAGE_BYTES_MAX
        {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(message as usize - LENGTHS_BYTES)
    }
}

/// Answers the messages of one connection: all that have come at a time with one send.
async fn serve_one(stream: &TcpStream, zeros: &Bytes) -> io::Result<()> {
    let mut cutter = Cutter::default();
    let mut list = SendList::new();
    while let Some(chunk) = stream.recv().await? {
        cutter.take(&chunk, |bytes| list.push(zeros.slice(..bytes as usize)))?;
        drop(chunk);
        if cutter.left >= DIRECT_BYTES_MIN {
            let (result, buf) = stream.recv_exact(AlignedBuf::stale(cutter.left), 0).await;
            result?;
            cutter.skip(buf.len(), &mut |bytes| list.push(zeros.slice(..bytes as usize)));
        }
        if stream.queued_bytes() == 0 && !list.is_empty() {
            let (result, returned) = stream.send(list).await;
            result?;
            list = returned;
            list.clear();
        }
    }
    Ok(())
}

/// Runs `load` against the server at `address`, and measures it; of the server's processor time
/// what `clock` observes.
///
/// # Errors
/// See [`BenchError`].
pub async fn measure(
    address: SocketAddr,
    load: Load,
    clock: Option<&CpuClock>,
) -> Result<Figures, BenchError> {
    assert!(load.per_second.is_none(), "an echo is asked for as much as it can do");
    let meter = Rc::new(Meter::default());
    let mut workers = Vec::new();
    for _ in 0..load.connections {
        let stream = TcpStream::connect(address).await?;
        workers.push(spawn_joined(work(stream, load, meter.clone())));
    }
    let figures = meter.measure(load, clock).await?;
    for worker in workers {
        worker.await?;
    }
    Ok(figures)
}

/// An operation under way: when it began, and its next exchange.
struct Operation {
    start: Nanos,
    next: usize,
}

/// One connection's load: replies come in the order of messages.
struct Loader {
    exchanges: Vec<Exchange>,
    messages: Vec<Bytes>,
    waiting: VecDeque<Operation>,
    /// What is to be sent next.
    list: SendList,
    /// Bytes of replies that have come and are not counted.
    come: usize,
    meter: Rc<Meter>,
}

async fn work(stream: TcpStream, load: Load, meter: Rc<Meter>) -> io::Result<()> {
    let mut loader = Loader::new(&load, meter);
    while !loader.waiting.is_empty() {
        if stream.queued_bytes() == 0 && !loader.list.is_empty() {
            let (result, list) = stream.send(std::mem::take(&mut loader.list)).await;
            result?;
            loader.list = list;
            loader.list.clear();
        }
        let chunk = stream.recv().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        loader.come += chunk.len();
        drop(chunk);
        while loader.take_reply() {}
        let missing = loader.missing_bytes();
        if missing >= DIRECT_REPLY_BYTES_MIN {
            let (result, buf) = stream.recv_exact(AlignedBuf::stale(missing), 0).await;
            result?;
            loader.come += buf.len();
            while loader.take_reply() {}
        }
    }
    Ok(())
}

impl Loader {
    fn new(load: &Load, meter: Rc<Meter>) -> Self {
        let exchanges = exchanges(load);
        let messages = exchanges.iter().map(message).collect();
        let (waiting, list) = (VecDeque::new(), SendList::new());
        let mut loader = Loader { exchanges, messages, waiting, list, come: 0, meter };
        (0..load.depth).for_each(|_| loader.begin(now(), 0));
        loader
    }

    /// Sends message `number` of an operation.
    fn begin(&mut self, start: Nanos, number: usize) {
        self.list.push(self.messages[number].clone());
        self.waiting.push_back(Operation { start, next: number + 1 });
    }

    /// What has not come of the oldest reply, if something of it has.
    fn missing_bytes(&self) -> usize {
        let reply_bytes =
            |operation: &Operation| self.exchanges[operation.next - 1].reply_bytes as usize;
        let missing = |operation| reply_bytes(operation) - self.come;
        self.waiting.front().filter(|_| self.come > 0).map_or(0, missing)
    }

    /// Takes the oldest reply, if all of it has come, and goes on with what it was for.
    fn take_reply(&mut self) -> bool {
        let Some(Operation { start, next }) = self.waiting.front() else { return false };
        let (start, next) = (*start, *next);
        let reply_bytes = self.exchanges[next - 1].reply_bytes as usize;
        if self.come < reply_bytes {
            return false;
        }
        self.come -= reply_bytes;
        self.waiting.pop_front();
        if next < self.messages.len() {
            self.begin(start, next);
            return true;
        }
        self.meter.count(now().since(start));
        if !self.meter.is_stopped() {
            self.begin(now(), 0);
        }
        true
    }
}

fn message(exchange: &Exchange) -> Bytes {
    let mut message = Content::Incompressible.bytes(exchange.message_bytes as usize).to_vec();
    message[..4].copy_from_slice(&exchange.message_bytes.to_le_bytes());
    message[4..8].copy_from_slice(&exchange.reply_bytes.to_le_bytes());
    message.into()
}

#[cfg(test)]
mod tests;
