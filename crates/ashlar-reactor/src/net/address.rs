//! Socket addresses as the kernel reads them.

use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

use io_uring::opcode;
use io_uring::types::Fd;

/// An address in the kernel's form. Boxed while an operation uses it.
pub(crate) enum Address {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(address) => Address::V4(v4(address)),
            SocketAddr::V6(address) => Address::V6(v6(address)),
        }
    }
}

fn v4(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn v6(address: SocketAddrV6) -> libc::sockaddr_in6 {
    libc::sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: address.port().to_be(),
        sin6_flowinfo: address.flowinfo(),
        sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
        sin6_scope_id: address.scope_id(),
    }
}

impl Address {
    /// The operation that connects `socket` to this address. It points into `self`.
    pub(crate) fn connect(&self, socket: Fd) -> opcode::Connect {
        match self {
            Address::V4(address) => opcode::Connect::new(
                socket,
                (&raw const *address).cast(),
                size_of_val(address) as u32,
            ),
            Address::V6(address) => opcode::Connect::new(
                socket,
                (&raw const *address).cast(),
                size_of_val(address) as u32,
            ),
        }
    }
}
