//! Memory for the rows of batches: used again, with what counts its references, once drives have let go of it.

use std::cell::RefCell;

use ashlar_block::SECTOR_BYTES;
use bytes::{Bytes, BytesMut};

use crate::batch::IN_FLIGHT_MAX;

/// Buffers that are kept, at most: as many as batches of one stream may be in flight.
const KEPT_MAX: usize = IN_FLIGHT_MAX;

/// Buffers for rows.
#[derive(Default)]
pub struct RowBuffers {
    kept: RefCell<Vec<BytesMut>>,
}

impl RowBuffers {
    /// A buffer of `bytes` or more, with any content, that begins where drives can take it from.
    pub fn take(&self, bytes: usize) -> BytesMut {
        let kept = self.kept.borrow_mut().pop();
        kept.filter(|buf| buf.len() >= bytes).unwrap_or_else(|| allocate(bytes.next_power_of_two()))
    }

    /// Takes a buffer back. If somebody still has a part of it, it is not kept.
    pub fn give_back(&self, buf: Bytes) {
        let mut kept = self.kept.borrow_mut();
        if kept.len() < KEPT_MAX {
            kept.extend(buf.try_into_mut());
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
