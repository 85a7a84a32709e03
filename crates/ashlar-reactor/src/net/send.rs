//! What is to be sent, as a list of pieces that are not copied together.

use std::fmt;
use std::ops::Range;

use ashlar_block::AlignedBuf;
use bytes::Bytes;

/// Pieces per system call that the kernel accepts (UIO_MAXIOV).
const PIECES_PER_CALL_MAX: usize = 1024;

/// A piece of what is to be sent.
enum Piece {
    /// Sent from where others may have it, too.
    Shared(Bytes),
    /// Sent from where it is, and then given back.
    Owned(AlignedBuf),
    /// A part of what the list itself keeps.
    Kept(Range<usize>),
}

/// Pieces and the kernel's view of those that are left to send.
pub(crate) struct SendParts {
    pieces: Vec<Piece>,
    /// Small pieces, end to end.
    kept: Vec<u8>,
    iovecs: Vec<libc::iovec>,
    header: libc::msghdr,
    bytes: usize,
    sent_bytes: usize,
}

impl Default for SendParts {
    fn default() -> Self {
        // SAFETY: a message header of zeros names no memory.
        let header = unsafe { std::mem::zeroed() };
        SendParts {
            pieces: Vec::new(),
            kept: Vec::new(),
            iovecs: Vec::new(),
            header,
            bytes: 0,
            sent_bytes: 0,
        }
    }
}

impl SendParts {
    pub(crate) fn is_sent(&self) -> bool {
        self.sent_bytes == self.bytes
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent_bytes += bytes;
    }

    /// The header of the next call, over the first pieces that are left. It and all that it names
    /// stay in place until the parts are changed, even if the box is moved.
    pub(crate) fn next_call(self: &mut Box<Self>) -> *const libc::msghdr {
        self.iovecs.clear();
        let mut skip = self.sent_bytes;
        for piece in &self.pieces {
            let bytes = match piece {
                Piece::Shared(bytes) => &bytes[..],
                Piece::Owned(buf) => &buf[..],
                Piece::Kept(range) => &self.kept[range.clone()],
            };
            if skip >= bytes.len() {
                skip -= bytes.len();
                continue;
            }
            let rest = &bytes[std::mem::take(&mut skip)..];
            self.iovecs.push(libc::iovec {
                iov_base: rest.as_ptr().cast_mut().cast(),
                iov_len: rest.len(),
            });
            if self.iovecs.len() == PIECES_PER_CALL_MAX {
                break;
            }
        }
        self.header.msg_iov = self.iovecs.as_mut_ptr();
        self.header.msg_iovlen = self.iovecs.len();
        &raw const self.header
    }
}

/// Pieces to send in one go. Kept and refilled, it allocates nothing once it has grown.
#[derive(Default)]
pub struct SendList(pub(crate) Box<SendParts>);

impl SendList {
    /// Nothing yet.
    pub fn new() -> Self {
        SendList::default()
    }

    /// Adds a piece at the end; an empty one is left out.
    pub fn push(&mut self, piece: Bytes) {
        self.add(piece.len(), Piece::Shared(piece));
    }

    /// Adds a buffer at the end, which is recycled once the list is cleared; an empty one is left
    /// out.
    pub fn push_buf(&mut self, buf: AlignedBuf) {
        self.add(buf.len(), Piece::Owned(buf));
    }

    fn add(&mut self, bytes: usize, piece: Piece) {
        if bytes > 0 {
            self.0.bytes += bytes;
            self.0.pieces.push(piece);
        }
    }

    /// Adds what `write` appends, which the list keeps itself: for headers and other small pieces.
    pub fn push_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.0.kept.len();
        write(&mut self.0.kept);
        let end = self.0.kept.len();
        match self.0.pieces.last_mut() {
            Some(Piece::Kept(last)) => {
                last.end = end;
                self.0.bytes += end - start;
            }
            _ => self.add(end - start, Piece::Kept(start..end)),
        }
    }

    /// Bytes in all pieces.
    pub fn len_bytes(&self) -> usize {
        self.0.bytes
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.0.bytes == 0
    }

    /// Forgets the pieces, keeps the room.
    pub fn clear(&mut self) {
        self.0.pieces.clear();
        self.0.kept.clear();
        self.0.iovecs.clear();
        self.0.bytes = 0;
        self.0.sent_bytes = 0;
    }
}

impl FromIterator<Bytes> for SendList {
    fn from_iter<I: IntoIterator<Item = Bytes>>(pieces: I) -> Self {
        let mut list = SendList::new();
        pieces.into_iter().for_each(|piece| list.push(piece));
        list
    }
}

impl From<Vec<Bytes>> for SendList {
    fn from(pieces: Vec<Bytes>) -> Self {
        pieces.into_iter().collect()
    }
}

impl From<Bytes> for SendList {
    fn from(piece: Bytes) -> Self {
        [piece].into_iter().collect()
    }
}

impl fmt::Debug for SendList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendList({} bytes in {} pieces)", self.0.bytes, self.0.pieces.len())
    }
}
