//! Accepting connections.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use io_uring::{opcode, types};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::net::TcpStream;
use crate::op::{OnDrop, Op};
use crate::ops::Owned;
use crate::reactor::{self, Reactor};

/// How long nothing comes from a peer before it is asked whether it is there: a host that lost its
/// power says no goodbye, and without a question its connection would stay for ever. The kernel
/// asks; nothing of ours wakes up.
const ASKED_AFTER: Duration = Duration::from_secs(60);
/// Between two such questions.
const ASKED_EVERY: Duration = Duration::from_secs(10);
/// Questions without an answer until the connection is broken: a few, so that lost packets break
/// none.
const ASKED_TIMES: u32 = 3;
/// The same where something was sent and is not acknowledged, which the kernel by itself tries for
/// a quarter of an hour: as long as for a peer to which nothing was sent.
const UNACKNOWLEDGED_MAX: Duration =
    Duration::from_secs(ASKED_AFTER.as_secs() + ASKED_TIMES as u64 * ASKED_EVERY.as_secs());

/// How to listen.
#[derive(Clone, Debug)]
pub struct BindOptions {
    /// Lets several reactors listen on one address, each taking a share of the connections
    /// (SO_REUSEPORT).
    pub reuse_port: bool,
    /// Connections that may wait to be accepted; the kernel bounds it further (net.core.somaxconn).
    pub backlog: i32,
}

impl Default for BindOptions {
    fn default() -> Self {
        BindOptions { reuse_port: false, backlog: 1024 }
    }
}

/// A socket that listens. Dropping it closes it.
pub struct TcpListener {
    reactor: Rc<Reactor>,
    socket: Option<OwnedFd>,
    local: SocketAddr,
    /// The accept under way. It is the listener's and not its caller's, so that a caller that loses
    /// interest loses no connection.
    accept: RefCell<Option<Op>>,
}

impl TcpListener {
    /// Listens on `address`; port 0 takes a free one. Blocks no longer than its few system calls.
    /// An IPv6 address takes IPv6 alone: IPv4 has a listener of its own, on the same port if need
    /// be.
    ///
    /// # Errors
    /// What the operating system reports: the address in use, not this machine's, not permitted.
    pub fn bind(address: SocketAddr, options: &BindOptions) -> io::Result<Self> {
        let socket = bound(address, options.reuse_port)?;
        notice_who_is_gone(&socket)?;
        rustix::net::listen(&socket, options.backlog)?;
        let local = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
        let reactor = reactor::current();
        Ok(TcpListener { reactor, socket: Some(socket), local, accept: RefCell::default() })
    }

    /// Whether nobody listens on `address`, not even who would let others listen there as well
    /// (SO_REUSEPORT).
    ///
    /// # Errors
    /// As of [`Self::bind`].
    pub fn check_free(address: SocketAddr) -> io::Result<()> {
        bound(address, false).map(drop)
    }

    /// The address listened on, with the port that was taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The next connection, with TCP_NODELAY set. One caller at a time. It breaks by itself a
    /// minute and a half after its peer has gone without a word.
    ///
    /// # Errors
    /// What the operating system reports. The listener goes on: an error concerns one connection
    /// (ECONNABORTED), or a shortage that passes (EMFILE, ENOBUFS), which is worth a moment's wait
    /// before the next call.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let descriptor = poll_fn(|cx| self.poll_accept(cx)).await?;
        // SAFETY: the kernel has just made this descriptor for us.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
        sockopt::set_tcp_nodelay(&socket, true)?;
        let stream = TcpStream::of_socket(self.reactor.clone(), socket)?;
        let peer = stream.peer_addr();
        Ok((stream, peer))
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<u32>> {
        let mut accept = self.accept.borrow_mut();
        let op = accept.get_or_insert_with(|| self.begin_accept());
        let poll = Pin::new(op).poll(cx);
        poll.map(|(descriptor, _)| {
            *accept = None;
            descriptor
        })
    }

    fn begin_accept(&self) -> Op {
        let socket = types::Fd(self.socket.as_ref().expect("open until dropped").as_raw_fd());
        let entry = opcode::Accept::new(socket, std::ptr::null_mut(), std::ptr::null_mut())
            .flags(libc::SOCK_CLOEXEC)
            .build();
        // SAFETY: it names no memory, and `drop` closes the socket through the reactor.
        unsafe { self.reactor.begin(entry, Owned::NewDescriptor, OnDrop::Cancel) }
    }
}

fn bound(address: SocketAddr, reuse_port: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if reuse_port {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

/// Has the kernel break connections whose peer is gone. What is accepted inherits it.
fn notice_who_is_gone(listening: &OwnedFd) -> io::Result<()> {
    sockopt::set_socket_keepalive(listening, true)?;
    sockopt::set_tcp_keepidle(listening, ASKED_AFTER)?;
    sockopt::set_tcp_keepintvl(listening, ASKED_EVERY)?;
    sockopt::set_tcp_keepcnt(listening, ASKED_TIMES)?;
    Ok(sockopt::set_tcp_user_timeout(listening, UNACKNOWLEDGED_MAX.as_millis() as u32)?)
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        // The cancellation goes first; it would find nothing to cancel after the close.
        drop(self.accept.take());
        if let Some(socket) = self.socket.take() {
            self.reactor.close(socket);
        }
    }
}
