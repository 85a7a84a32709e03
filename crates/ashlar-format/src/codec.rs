//! Little-endian reading and writing of records, with a reader that cannot run past the end.

use ashlar_raid::{ChunkAddr, Geometry};

/// A record is shorter than what it claims to hold, or holds what it may not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("malformed {what}")]
pub struct Malformed {
    /// Which structure.
    pub what: &'static str,
}

/// CRC32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Appends numbers to a record.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// That many zeros.
    pub fn zeros(&mut self, count: usize) -> &mut Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// Overwrites four bytes that were left for `value`.
    pub fn patch_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Columns as the segment table and batch headers hold them, without their counts.
    pub fn columns(&mut self, geometry: &Geometry) -> &mut Self {
        for column in &geometry.columns {
            self.u16(column.drive.0).u32(column.chunk);
        }
        self
    }
}

/// Takes numbers from a record.
pub struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes`, which should be a `what`.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, what }
    }

    /// The error of this record.
    pub fn malformed(&self) -> Malformed {
        Malformed { what: self.what }
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(self.malformed())?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(self.malformed())?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// What has not been taken yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// A geometry of `data` and `parity` columns.
    pub fn geometry(&mut self, data: u8, parity: u8) -> Result<Geometry, Malformed> {
        let count = usize::from(data) + usize::from(parity);
        if data == 0 || count > 32 {
            return Err(self.malformed());
        }
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            columns
                .push(ChunkAddr { drive: ashlar_block::DriveId(self.u16()?), chunk: self.u32()? });
        }
        Ok(Geometry::new(columns.into(), usize::from(parity)))
    }
}
