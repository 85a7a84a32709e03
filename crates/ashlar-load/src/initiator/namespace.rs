//! A namespace to read and write.

use std::ops::Range;

use ashlar_block::AlignedBuf;
use ashlar_nvme::identify::IdentifyNamespace;
use ashlar_nvme::io::{BlockRange, DsmRange, IoCommand};
use ashlar_nvme::sqe::{Cid, Fuse, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::{FromBytes, IntoBytes};
use bytes::Bytes;

use super::controller::{Controller, Payload};
use super::error::CommandError;

/// Most ranges of one Dataset Management.
const DSM_RANGES_MAX: usize = 256;
/// Most blocks that one command can name.
const BLOCKS_MAX: u32 = 1 << 16;

/// A namespace. Blocks are its logical blocks.
#[derive(Clone)]
pub struct Namespace {
    controller: Controller,
    nsid: u32,
    lba_bytes: u32,
    blocks: u64,
    transfer_blocks_max: u32,
}

impl Namespace {
    pub(super) fn new(
        controller: Controller,
        nsid: u32,
        identify: &[u8],
        transfer_bytes_max: Option<u64>,
    ) -> Result<Self, CommandError> {
        let unusable = |why: &str| CommandError::Invalid(format!("namespace {nsid} {why}"));
        let identify = IdentifyNamespace::read_from_bytes(identify)
            .map_err(|_| unusable("is described by too few bytes"))?;
        if identify.size.get() == 0 {
            return Err(unusable("does not exist for this host"));
        }
        let format = identify.lba_formats[usize::from(identify.lba_format & 0xf)];
        if format.metadata_bytes.get() != 0 || !(9..=16).contains(&format.size_exponent) {
            return Err(unusable("has metadata, or blocks of an odd size"));
        }
        let lba_bytes = 1 << format.size_exponent;
        let transfer = transfer_bytes_max.map_or(u64::MAX, |bytes| bytes / u64::from(lba_bytes));
        let transfer_blocks_max = u32::try_from(transfer).unwrap_or(u32::MAX).min(BLOCKS_MAX);
        Ok(Namespace {
            controller,
            nsid,
            lba_bytes,
            blocks: identify.size.get(),
            transfer_blocks_max,
        })
    }

    /// Its number.
    pub fn nsid(&self) -> u32 {
        self.nsid
    }

    /// Bytes of a block.
    pub fn lba_bytes(&self) -> u32 {
        self.lba_bytes
    }

    /// Blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Most blocks that one command may transfer.
    pub fn transfer_blocks_max(&self) -> u32 {
        self.transfer_blocks_max
    }

    /// The controller that it belongs to.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Reads `count` blocks from `start`.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn read(&self, start: u64, count: u32) -> Result<AlignedBuf, CommandError> {
        let range = self.range(start, count, self.transfer_blocks_max)?;
        let bytes = count as usize * self.lba_bytes as usize;
        let completion = self.execute(IoCommand::Read(range), Payload::Read(bytes)).await?;
        if completion.len() != bytes {
            let why = format!("the target sent {} bytes instead of {bytes}", completion.len());
            return Err(CommandError::Invalid(why));
        }
        Ok(completion)
    }

    /// Writes `data`, whole blocks, from `start`.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn write(&self, start: u64, data: Bytes) -> Result<(), CommandError> {
        let range = self.range_of_data(start, &data)?;
        let write = IoCommand::Write { range, force_unit_access: false };
        self.execute(write, Payload::Write(data)).await.map(drop)
    }

    /// Makes blocks read as zeros, and lets their space go if `deallocate`.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn write_zeroes(
        &self,
        start: u64,
        count: u32,
        deallocate: bool,
    ) -> Result<(), CommandError> {
        let range = self.range(start, count, BLOCKS_MAX)?;
        let command = IoCommand::WriteZeroes { range, deallocate, force_unit_access: false };
        self.execute(command, Payload::None).await.map(drop)
    }

    /// Deallocates up to 256 ranges of blocks.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn deallocate(&self, ranges: &[Range<u64>]) -> Result<(), CommandError> {
        if !(1..=DSM_RANGES_MAX).contains(&ranges.len()) {
            return Err(CommandError::Invalid(format!("{} ranges, not 1 to 256", ranges.len())));
        }
        let mut data = Vec::with_capacity(size_of_val(ranges));
        for range in ranges {
            let count = u32::try_from(range.end.saturating_sub(range.start));
            let count = count
                .map_err(|_| CommandError::Invalid("a range has too many blocks".to_owned()))?;
            let range =
                DsmRange { attributes: 0.into(), count: count.into(), start: range.start.into() };
            data.extend_from_slice(range.as_bytes());
        }
        let command =
            IoCommand::DatasetManagement { range_count: ranges.len() as u16, deallocate: true };
        self.execute(command, Payload::Write(data.into())).await.map(drop)
    }

    /// Compares blocks from `start` with `data`; Compare Failure if they differ.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn compare(&self, start: u64, data: Bytes) -> Result<(), CommandError> {
        let range = self.range_of_data(start, &data)?;
        self.execute(IoCommand::Compare(range), Payload::Write(data)).await.map(drop)
    }

    /// Writes `data` if the blocks are `expected`, as one atomic pair of fused commands. Not sent
    /// again when the connection breaks.
    ///
    /// # Errors
    /// Compare Failure if the blocks are others; otherwise see [`CommandError`].
    pub async fn compare_and_write(
        &self,
        start: u64,
        expected: Bytes,
        data: Bytes,
    ) -> Result<(), CommandError> {
        let range = self.range_of_data(start, &data)?;
        if expected.len() != data.len() {
            return Err(CommandError::Invalid(
                "what to compare and what to write differ in length".to_owned(),
            ));
        }
        let mut compare = self.sqe(IoCommand::Compare(range));
        compare.set_fuse(Fuse::First);
        let mut write = self.sqe(IoCommand::Write { range, force_unit_access: false });
        write.set_fuse(Fuse::Second);
        let (compared, written) =
            self.controller.execute_pair((compare, expected), (write, data)).await?;
        let failed = [compared.cqe.status(), written.cqe.status()]
            .into_iter()
            .filter(|status| !status.is_success())
            .min_by_key(|status| status.code() == Status::ABORTED_FAILED_FUSED);
        failed.map_or(Ok(()), |status| Err(CommandError::Status(status)))
    }

    /// Lets the target check blocks without sending them.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn verify(&self, start: u64, count: u32) -> Result<(), CommandError> {
        let range = self.range(start, count, BLOCKS_MAX)?;
        self.execute(IoCommand::Verify(range), Payload::None).await.map(drop)
    }

    /// Makes completed writes durable.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn flush(&self) -> Result<(), CommandError> {
        self.execute(IoCommand::Flush, Payload::None).await.map(drop)
    }

    fn range(&self, start: u64, count: u32, count_max: u32) -> Result<BlockRange, CommandError> {
        if (1..=count_max).contains(&count) {
            return Ok(BlockRange { start, count });
        }
        Err(CommandError::Invalid(format!("{count} blocks in one command, not 1 to {count_max}")))
    }

    fn range_of_data(&self, start: u64, data: &Bytes) -> Result<BlockRange, CommandError> {
        if !data.len().is_multiple_of(self.lba_bytes as usize) {
            let why = format!("{} bytes are no whole blocks of {}", data.len(), self.lba_bytes);
            return Err(CommandError::Invalid(why));
        }
        let count = u32::try_from(data.len() / self.lba_bytes as usize).unwrap_or(u32::MAX);
        self.range(start, count, self.transfer_blocks_max)
    }

    fn sqe(&self, command: IoCommand) -> Sqe {
        command.to_sqe(Cid(0), self.nsid)
    }

    async fn execute(
        &self,
        command: IoCommand,
        payload: Payload,
    ) -> Result<AlignedBuf, CommandError> {
        Ok(self.controller.execute_io(self.sqe(command), &payload).await?.data)
    }
}
