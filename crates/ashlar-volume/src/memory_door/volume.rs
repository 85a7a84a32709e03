use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use ashlar_block::latency::OpKind;
use ashlar_block::{AlignedBuf, BLOCK_BYTES, Cause, IoError, Nanos, Notify, wait_for};
use bytes::Bytes;

use crate::door::VolumeIo;

/// One volume in memory. Clones are the same volume.
#[derive(Clone)]
pub struct MemoryVolume {
    shared: Arc<Shared>,
    keeps_nothing: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    released: Notify,
}

#[derive(Default)]
struct State {
    size_bytes: u64,
    blocks: BTreeMap<u64, Box<[u8]>>,
    failing: Option<Cause>,
    /// What its hosts are told while it is erased.
    refusal: Option<Cause>,
    held: bool,
    waiting: usize,
    /// Nothing of a host may begin.
    limited: bool,
    /// Nobody's turn comes.
    turns_held: bool,
}

/// An operation that waits, until dropped.
struct Waiting<'a>(&'a MemoryVolume);

impl<'a> Waiting<'a> {
    fn new(volume: &'a MemoryVolume) -> Self {
        volume.state().waiting += 1;
        Waiting(volume)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

impl MemoryVolume {
    pub(super) fn new(size_bytes: u64, keeps_nothing: bool) -> Self {
        let state = State { size_bytes, ..State::default() };
        let shared = Shared { state: Mutex::new(state), released: Notify::new() };
        MemoryVolume { shared: Arc::new(shared), keeps_nothing }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("no holder of the lock panics")
    }

    pub(super) fn used_bytes(&self) -> u64 {
        (self.state().blocks.len() * BLOCK_BYTES) as u64
    }

    pub(super) fn resize(&self, size_bytes: u64) {
        let mut state = self.state();
        state.size_bytes = size_bytes;
        let _ = state.blocks.split_off(&size_bytes.div_ceil(BLOCK_BYTES as u64));
    }

    pub(super) async fn clear(&self) -> Result<(), IoError> {
        self.admit_anyway(0..0).await?.blocks.clear();
        Ok(())
    }

    /// Refuses every operation of a host at once, or none any more.
    pub(super) fn refuse_with(&self, refusal: Option<Cause>) {
        self.state().refusal = refusal;
    }

    /// Makes every operation fail with `cause` until told otherwise.
    pub fn fail_with(&self, cause: Option<Cause>) {
        self.state().failing = cause;
    }

    /// Makes every operation, Format and write protection too, wait, or lets those that wait and
    /// all later ones go on.
    pub fn hold(&self, held: bool) {
        self.state().held = held;
        self.shared.released.notify_waiters();
    }

    /// Operations that wait because of [`MemoryVolume::hold`], and commands because of
    /// [`MemoryVolume::limit`] or [`MemoryVolume::hold_turns`].
    pub fn held_count(&self) -> usize {
        self.state().waiting
    }

    /// Lets no command of a host begin, as limits do that are spent, or all that wait and all later
    /// ones.
    pub fn limit(&self, limited: bool) {
        self.state().limited = limited;
        self.shared.released.notify_waiters();
    }

    /// Has commands of hosts wait for their turn, as where volumes want more than their pool can
    /// do, or lets all that wait and all later ones have theirs.
    pub fn hold_turns(&self, held: bool) {
        self.state().turns_held = held;
        self.shared.released.notify_waiters();
    }

    /// Takes the volume for one operation within `range`, once it is not held.
    async fn admit(&self, range: Range<u64>) -> Result<MutexGuard<'_, State>, IoError> {
        let refusal = self.state().refusal;
        refusal.map_or(Ok(()), |cause| Err(IoError::from(cause)))?;
        self.admit_anyway(range).await
    }

    async fn admit_anyway(&self, range: Range<u64>) -> Result<MutexGuard<'_, State>, IoError> {
        if self.state().held {
            let _waiting = Waiting::new(self);
            wait_for(&self.shared.released, || (!self.state().held).then_some(())).await;
        }
        let state = self.state();
        match state.failing {
            Some(cause) => Err(cause.into()),
            None if range.end > state.size_bytes => Err(Cause::OutOfRange.into()),
            None => Ok(state),
        }
    }
}

fn range_of(offset: u64, bytes: usize) -> Range<u64> {
    offset..offset.saturating_add(bytes as u64)
}

/// The blocks that `range` touches: index, the part of the block, the part of the caller's data.
fn pieces(range: Range<u64>) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        (at < range.end).then(|| {
            let within = (at % BLOCK_BYTES as u64) as usize;
            let bytes = (BLOCK_BYTES - within).min((range.end - at) as usize);
            let index = at / BLOCK_BYTES as u64;
            let part = (at - range.start) as usize;
            at += bytes as u64;
            (index, within..within + bytes, part..part + bytes)
        })
    })
}

impl State {
    fn read(&self, range: Range<u64>) -> AlignedBuf {
        let mut buf = AlignedBuf::zeroed((range.end - range.start) as usize);
        if self.blocks.is_empty() {
            return buf;
        }
        for (index, within, part) in pieces(range) {
            if let Some(block) = self.blocks.get(&index) {
                buf[part].copy_from_slice(&block[within]);
            }
        }
        buf
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        for (index, within, part) in pieces(range_of(offset, data.len())) {
            let block = self.blocks.entry(index).or_insert_with(|| vec![0; BLOCK_BYTES].into());
            block[within].copy_from_slice(&data[part]);
        }
    }

    fn zero(&mut self, range: Range<u64>) {
        for (index, within, _) in pieces(range) {
            if within.len() == BLOCK_BYTES {
                self.blocks.remove(&index);
            } else if let Some(block) = self.blocks.get_mut(&index) {
                block[within].fill(0);
            }
        }
    }

    fn compare(&self, offset: u64, expected: &[u8]) -> Result<(), IoError> {
        let same = *self.read(range_of(offset, expected.len())) == *expected;
        if same { Ok(()) } else { Err(Cause::Miscompare.into()) }
    }
}

impl VolumeIo for MemoryVolume {
    fn try_admit(&self, _: OpKind, _: u64) -> bool {
        !self.state().limited
    }

    async fn admit(&self, _: OpKind, _: u64, _: Nanos) {
        let _waiting = Waiting::new(self);
        wait_for(&self.shared.released, || (!self.state().limited).then_some(())).await;
    }

    fn needs_turn(&self, _: OpKind, _: u64) -> bool {
        self.state().turns_held
    }

    async fn take_turn(&self, _: OpKind, _: u64) {
        let _waiting = Waiting::new(self);
        wait_for(&self.shared.released, || (!self.state().turns_held).then_some(())).await;
    }

    async fn read(&self, offset: u64, bytes: usize) -> Result<AlignedBuf, IoError> {
        let range = range_of(offset, bytes);
        let state = self.admit(range.clone()).await?;
        Ok(state.read(range))
    }

    async fn write(&self, offset: u64, data: Bytes) -> Result<(), IoError> {
        let mut state = self.admit(range_of(offset, data.len())).await?;
        if !self.keeps_nothing {
            state.write(offset, &data);
        }
        Ok(())
    }

    async fn write_zeroes(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        self.deallocate(offset..offset.saturating_add(bytes)).await
    }

    async fn deallocate(&self, range: Range<u64>) -> Result<(), IoError> {
        let mut state = self.admit(range.clone()).await?;
        if !self.keeps_nothing {
            state.zero(range);
        }
        Ok(())
    }

    async fn compare(&self, offset: u64, expected: Bytes) -> Result<(), IoError> {
        self.admit(range_of(offset, expected.len())).await?.compare(offset, &expected)
    }

    async fn compare_and_write(
        &self,
        offset: u64,
        expected: Bytes,
        data: Bytes,
    ) -> Result<(), IoError> {
        let mut state = self.admit(range_of(offset, data.len())).await?;
        state.compare(offset, &expected)?;
        if !self.keeps_nothing {
            state.write(offset, &data);
        }
        Ok(())
    }

    async fn verify(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        self.admit(offset..offset.saturating_add(bytes)).await.map(drop)
    }

    async fn flush(&self) -> Result<(), IoError> {
        self.admit(0..0).await.map(drop)
    }
}
