//! A TCP connection.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

use ashlar_block::AlignedBuf;
use io_uring::{opcode, types};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::net::recv::RecvQueue;
use crate::net::{Address, RecvBuf, SendList};
use crate::op::OnDrop;
use crate::ops::Owned;
use crate::reactor::{self, Reactor};

/// A TCP connection. One task may receive while another sends; share it in an `Rc`.
///
/// Dropping it closes the connection, in order after what was begun on it.
pub struct TcpStream {
    reactor: Rc<Reactor>,
    socket: Option<OwnedFd>,
    peer: SocketAddr,
    queue: Rc<RecvQueue>,
    sending: Cell<bool>,
}

impl TcpStream {
    pub(crate) fn of_socket(reactor: Rc<Reactor>, socket: OwnedFd) -> io::Result<Self> {
        // A peer that is gone already may have no address any more.
        let peer = rustix::net::getpeername(&socket)?.ok_or(io::ErrorKind::NotConnected)?;
        Ok(Self::of_peer(reactor, socket, SocketAddr::try_from(peer)?))
    }

    fn of_peer(reactor: Rc<Reactor>, socket: OwnedFd, peer: SocketAddr) -> Self {
        let queue = RecvQueue::new(socket.as_raw_fd());
        TcpStream { reactor, socket: Some(socket), peer, queue, sending: Cell::new(false) }
    }

    /// Connects to `address`, with TCP_NODELAY set.
    ///
    /// # Errors
    /// What the operating system reports: refused, unreachable, timed out.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket =
            rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        let stream = Self::of_peer(reactor::current(), socket, address);
        let target = Box::new(Address::from(address));
        let entry = target.connect(stream.fd()).build();
        // SAFETY: the entry points into the boxed address, which is handed over.
        let op = unsafe { stream.reactor.begin(entry, Owned::Address(target), OnDrop::Cancel) };
        op.await.0?;
        Ok(stream)
    }

    /// The other side's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// This side's address.
    ///
    /// # Errors
    /// What the operating system reports.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::try_from(rustix::net::getsockname(self.socket())?)?)
    }

    /// Whether small segments are sent at once. On from the start.
    ///
    /// # Errors
    /// What the operating system reports.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(self.socket(), nodelay)?)
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        self.socket.as_ref().expect("open until dropped")
    }

    fn fd(&self) -> types::Fd {
        types::Fd(self.socket().as_raw_fd())
    }

    /// The next bytes, however many have come; `None` once the peer has closed its side. One caller
    /// at a time. Dropping the future loses nothing.
    ///
    /// A caller that stops asking lets at most
    /// [`recv_queued_bytes_max`](crate::Config::recv_queued_bytes_max) and what is already on its
    /// way gather; then the peer is stopped by TCP itself.
    ///
    /// # Errors
    /// What the operating system reports, ECONNRESET for instance; then on every later call.
    pub async fn recv(&self) -> io::Result<Option<RecvBuf>> {
        poll_fn(|cx| self.queue.poll_chunk(&self.reactor, cx)).await
    }

    /// Receives at most 4 KiB at a time, and no more before that is taken; or as usual again. For a
    /// peer that is not to cost more memory, at the price of an operation for each chunk.
    ///
    /// Holds from the next receive on: say it before the first one.
    pub fn receive_sparingly(&self, sparing: bool) {
        self.queue.set_sparing(sparing);
    }

    /// Makes `chunk`, which was received and not used, the first to be received again.
    pub fn unrecv(&self, chunk: RecvBuf) {
        self.queue.put_back(chunk);
    }

    /// Bytes that have come and are not taken yet: what a reader that is behind costs in memory.
    pub fn queued_bytes(&self) -> usize {
        self.queue.queued_bytes()
    }

    /// Fills `buf` from byte `filled` to its end. The buffer comes back in either case.
    ///
    /// For a payload whose length is known from its header: what is still missing is written by the
    /// kernel straight into `buf` if it is large (at least
    /// [`direct_recv_bytes_min`](crate::Config::direct_recv_bytes_min)), and copied out of the
    /// shared buffers otherwise. After a large one, the connection expects another: it receives the
    /// header between them in a small receive of its own, so that hardly any of the next payload is
    /// copied, and returns to multishot receives after some small messages.
    ///
    /// Dropping the future loses the place in the stream: every later receive fails with ECANCELED.
    ///
    /// # Errors
    /// `UnexpectedEof` when the peer closes before the buffer is full; otherwise as [`Self::recv`].
    pub async fn recv_exact(
        &self,
        mut buf: AlignedBuf,
        mut filled: usize,
    ) -> (io::Result<()>, AlignedBuf) {
        loop {
            filled += self.queue.take_into(&mut buf[filled..]);
            let missing = buf.len() - filled;
            if missing == 0 {
                return (Ok(()), buf);
            }
            let step = if missing < self.reactor.config.direct_recv_bytes_min || self.queue.ended()
            {
                self.recv_more(missing).await
            } else if self.stopped_without_news().await {
                let (result, returned) = self.recv_direct(buf, filled).await;
                buf = returned;
                result.map(|count| filled += count)
            } else {
                Ok(())
            };
            if let Err(error) = step {
                return (Err(error), buf);
            }
        }
    }

    /// Waits until another chunk is in the queue; `missing` bytes are wanted.
    async fn recv_more(&self, missing: usize) -> io::Result<()> {
        self.queue.expect(missing);
        match poll_fn(|cx| self.queue.poll_news(&self.reactor, cx)).await? {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Stops the receive under way. Whether it brought nothing, so that the next byte is the
    /// socket's.
    async fn stopped_without_news(&self) -> bool {
        poll_fn(|cx| self.queue.poll_stopped(&self.reactor, cx)).await;
        self.queue.is_quiet()
    }

    async fn recv_direct(
        &self,
        mut buf: AlignedBuf,
        filled: usize,
    ) -> (io::Result<usize>, AlignedBuf) {
        let missing = &mut buf[filled..];
        let entry = opcode::Recv::new(self.fd(), missing.as_mut_ptr(), missing.len() as u32)
            .flags(libc::MSG_WAITALL)
            .build();
        let place = LosesPlace { queue: &self.queue, lost: true };
        // SAFETY: the address points into the buffer, which is handed over; `drop` closes the
        // socket through the reactor.
        let op = unsafe { self.reactor.begin(entry, Owned::Buf(buf), OnDrop::Cancel) };
        let (result, owned) = op.await;
        place.kept();
        let result = match result {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            other => other.map(|count| count as usize),
        };
        (result, owned.into_buf())
    }

    /// Sends every piece of `list`, in order, with one system call's work if the socket takes it at
    /// once. The list comes back in either case, to be cleared and used again.
    ///
    /// One caller at a time. Dropping the future leaves it open how much was sent: every later send
    /// fails.
    ///
    /// # Errors
    /// What the operating system reports; `ResourceBusy` when another send is under way or was
    /// dropped.
    pub async fn send(&self, mut list: SendList) -> (io::Result<()>, SendList) {
        if self.sending.replace(true) {
            let busy = io::Error::new(
                io::ErrorKind::ResourceBusy,
                "a send on this connection has not ended",
            );
            return (Err(busy), list);
        }
        while !list.0.is_sent() {
            let (result, returned) = self.send_some(list).await;
            list = returned;
            if let Err(error) = result {
                return (Err(error), list);
            }
        }
        self.sending.set(false);
        (Ok(()), list)
    }

    async fn send_some(&self, mut list: SendList) -> (io::Result<()>, SendList) {
        let header = list.0.next_call();
        // With MSG_WAITALL the kernel itself goes on after a short send.
        let flags = (libc::MSG_WAITALL | libc::MSG_NOSIGNAL) as u32;
        let entry = opcode::SendMsg::new(self.fd(), header).flags(flags).build();
        // SAFETY: the header and all that it names belong to the list, which is handed over.
        let op = unsafe { self.reactor.begin(entry, Owned::Send(list.0), OnDrop::Cancel) };
        let (result, owned) = op.await;
        let mut list = SendList(owned.into_send());
        let result = match result {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            other => other.map(|count| list.0.sent(count as usize)),
        };
        (result, list)
    }

    /// Ends one or both directions for both sides, in order after what was sent.
    ///
    /// # Errors
    /// What the operating system reports; ENOTCONN when the peer was faster.
    pub async fn shutdown(&self, direction: Shutdown) -> io::Result<()> {
        let how = match direction {
            Shutdown::Read => libc::SHUT_RD,
            Shutdown::Write => libc::SHUT_WR,
            Shutdown::Both => libc::SHUT_RDWR,
        };
        let entry = opcode::Shutdown::new(self.fd(), how).build();
        // SAFETY: it names no memory, and `drop` closes the socket through the reactor.
        let op = unsafe { self.reactor.begin(entry, Owned::Nothing, OnDrop::Finish) };
        op.await.0.map(drop)
    }
}

/// Makes the connection unreadable if a direct receive is dropped: nobody knows then how much it
/// took.
struct LosesPlace<'a> {
    queue: &'a RecvQueue,
    lost: bool,
}

impl LosesPlace<'_> {
    fn kept(mut self) {
        self.lost = false;
    }
}

impl Drop for LosesPlace<'_> {
    fn drop(&mut self) {
        if self.lost {
            self.queue.fail(libc::ECANCELED);
        }
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        // A receive under way would hold the connection open after the close.
        self.queue.stop(&self.reactor);
        self.queue.clear();
        if let Some(socket) = self.socket.take() {
            self.reactor.close(socket);
        }
    }
}

impl std::fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TcpStream({})", self.peer)
    }
}
