//! Memory for the rows of batches: it is used again, with its reference count, once drives have let
//! go of it.

use ashlar_block::SECTOR_BYTES;
use bytes::{Bytes, BytesMut};

/// What a pool keeps, in bytes: enough for all full batches of one stream that may be in flight, of
/// stripes of 4+1.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// Buffers for rows.
#[derive(Default)]
pub struct RowBuffers {
    kept: Vec<BytesMut>,
    kept_bytes: usize,
}

impl RowBuffers {
    /// A buffer of `bytes` or more, with any content, that begins where drives can take it from.
    pub fn take(&mut self, bytes: usize) -> BytesMut {
        let kept = self.kept.pop();
        self.kept_bytes -= kept.as_ref().map_or(0, BytesMut::len);
        kept.filter(|buf| buf.len() >= bytes).unwrap_or_else(|| allocate(bytes.next_power_of_two()))
    }

    /// Takes a buffer back. If somebody still has a part of it, it is not kept.
    pub fn give_back(&mut self, buf: Bytes) {
        let bytes = buf.len();
        if self.kept_bytes + bytes <= KEPT_BYTES_MAX
            && let Ok(buf) = buf.try_into_mut()
        {
            self.kept_bytes += bytes;
            self.kept.push(buf);
        }
    }
}

fn allocate(bytes: usize) -> BytesMut {
    let mut buf = BytesMut::zeroed(bytes + SECTOR_BYTES);
    let before = buf.as_ptr().align_offset(SECTOR_BYTES);
    // What is cut off and what is left count their references together, and go on to do so.
    drop(buf.split_to(before));
    buf
}

#[cfg(test)]
mod tests;
