//! TCP over the ring.

mod address;
mod listener;
mod recv;
mod send;
mod stream;

pub(crate) use address::Address;
pub use listener::{BindOptions, TcpListener};
pub use send::SendList;
pub(crate) use send::SendParts;
pub use stream::TcpStream;

pub use crate::pool::RecvBuf;

#[cfg(test)]
mod tests;
