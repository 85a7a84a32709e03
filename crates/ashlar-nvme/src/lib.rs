//! NVMe, NVMe over Fabrics and NVMe/TCP: bytes to types and back, for both ends of a connection.
//!
//! This crate is pure. It knows no sockets, no clock, no tasks and no volumes: what goes in is a
//! slice of bytes, what comes out is a value or the exact status that the specification wants as
//! the answer.
//!
//! | module | what it holds | specification |
//! |---|---|---|
//! | [`pdu`] | PDU headers, digests, the incremental [`pdu::Decoder`] | NVMe over TCP Transport 1.1 |
//! | [`sqe`], [`cqe`], [`sgl`], [`status`] | the 64-byte command, the 16-byte answer and what they contain | NVM Express Base 2.1 |
//! | [`admin`], [`io`], [`fabrics`] | typed commands | Base 2.1; NVM Command Set 1.1 |
//! | [`property`], [`identify`], [`feature`], [`log`], [`event`] | the structures that the commands carry | Base 2.1; NVM Command Set 1.1 |

pub mod admin;
pub mod cqe;
pub mod event;
pub mod fabrics;
pub mod feature;
pub mod identify;
pub mod io;
pub mod log;
pub mod pdu;
pub mod property;
pub mod sgl;
pub mod sqe;
pub mod status;
pub mod text;

pub use zerocopy;
pub use zerocopy::little_endian::{U16, U32, U64, U128};
