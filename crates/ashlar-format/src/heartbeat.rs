//! The heartbeat: who has the pool open, on every drive, written anew while it is.

use ashlar_block::{PoolUuid, SECTOR_BYTES};

use super::codec::{Malformed, Reader, Writer, crc32c};

const MAGIC: &[u8; 8] = b"ASHLBEAT";
const CRC_AT: usize = 8;

/// Longest name of a machine, in bytes.
pub const HOLDER_NAME_BYTES_MAX: usize = 255;

/// The sector behind the first superblock.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | magic `ASHLBEAT` |
/// | 8 | 4 | CRC of the 4096 bytes with this field zero |
/// | 12 | 1 + 3 | 1: open, 0: handed back; zero |
/// | 16 | 16 | pool UUID |
/// | 32 | 16 | holder: whose it is |
/// | 48 | 8 | epoch: one more than was seen on any drive when the pool was opened |
/// | 56 | 8 | session: drawn at random then |
/// | 64 | 8 | count of heartbeats in it |
/// | 72 | 8 | written at (Unix seconds) |
/// | 80 | 1 + 255 | name of the holder: length, UTF-8 |
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heartbeat {
    /// The pool.
    pub pool: PoolUuid,
    /// The holder has it open; not: has handed it back.
    pub is_open: bool,
    /// Whose it is.
    pub holder: [u8; 16],
    /// Which opening of the pool, counted. A lower one is over.
    pub epoch: u64,
    /// Tells two openings of one epoch from each other.
    pub session: u64,
    /// Which heartbeat of the opening.
    pub count: u64,
    /// Unix seconds, for people.
    pub written_at: u64,
    /// What people call the holder.
    pub holder_name: String,
}

impl Heartbeat {
    /// Where it is.
    pub const OFFSET: u64 = SECTOR_BYTES as u64;

    /// The sector to write.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.bytes(MAGIC).u32(0).u8(u8::from(self.is_open)).zeros(3);
        w.bytes(&self.pool.0).bytes(&self.holder).u64(self.epoch).u64(self.session);
        w.u64(self.count).u64(self.written_at);
        w.u8(self.holder_name.len() as u8).bytes(self.holder_name.as_bytes());
        w.zeros(SECTOR_BYTES - w.0.len());
        let crc = crc32c(&w.0);
        w.patch_u32(CRC_AT, crc);
        w.0
    }

    /// The heartbeat that a sector holds.
    ///
    /// # Errors
    /// [`Malformed`]: there is none, or not a whole one.
    pub fn decode(sector: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new("heartbeat", sector);
        let (magic, crc): ([u8; 8], u32) = (r.array()?, r.u32()?);
        let mut zeroed = sector.to_vec();
        zeroed[CRC_AT..CRC_AT + 4].fill(0);
        if magic != *MAGIC || crc32c(&zeroed) != crc {
            return Err(r.malformed());
        }
        let (state, pool) = (r.u8()?, {
            r.bytes(3)?;
            PoolUuid(r.array()?)
        });
        let (holder, epoch, session, count, written_at) =
            (r.array()?, r.u64()?, r.u64()?, r.u64()?, r.u64()?);
        let name_bytes = usize::from(r.u8()?);
        let name = std::str::from_utf8(r.bytes(name_bytes)?).map_err(|_| r.malformed())?.to_owned();
        // It is printed.
        if state > 1 || name.chars().any(char::is_control) {
            return Err(r.malformed());
        }
        Ok(Heartbeat {
            pool,
            is_open: state == 1,
            holder,
            epoch,
            session,
            count,
            written_at,
            holder_name: name,
        })
    }
}
