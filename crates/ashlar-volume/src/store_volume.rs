//! One volume over its store: bytes above, whole blocks below.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::{Rc, Weak};

use ashlar_block::latency::OpKind;
use ashlar_block::{AlignedBuf, BLOCK_BYTES, Cause, IoError, Lba, VolumeId, World, copies};
use ashlar_store::{Store, Usage, VolumeUpdate};
use bytes::Bytes;
use futures_util::lock::Mutex;

use crate::attributes::Attributes;
use crate::door::VolumeIo;
use crate::gate::Gate;
use crate::qos::fair::{FairShare, Turn, VolumeShare};
use crate::ranges::{Mode, Ranges};

mod erasing;

pub(crate) use erasing::Erasing;

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Bytes that a verify has in memory at a time.
const VERIFY_BYTES: u64 = 1 << 20;

/// A volume on the reactor that its pool lives on. Clones are the same volume.
pub struct StoreVolume<W: World> {
    core: Rc<Core<W>>,
    /// The turn that the next command has had already. Clones have none.
    turn: Cell<Option<Turn<W>>>,
}

impl<W: World> Clone for StoreVolume<W> {
    fn clone(&self) -> Self {
        Self::of(self.core.clone())
    }
}

/// A volume for as long as its pool is open. Whoever keeps one does not keep the pool's drives.
pub(crate) struct WeakVolume<W: World> {
    core: Weak<Core<W>>,
}

impl<W: World> Clone for WeakVolume<W> {
    fn clone(&self) -> Self {
        WeakVolume { core: self.core.clone() }
    }
}

impl<W: World> WeakVolume<W> {
    /// The volume, if its pool is open.
    pub fn upgrade(&self) -> Option<StoreVolume<W>> {
        self.core.upgrade().map(StoreVolume::of)
    }
}

struct Core<W: World> {
    store: Store<W>,
    id: VolumeId,
    gate: Gate,
    /// Who goes first of the pool's volumes, and its part in that.
    fair: Rc<FairShare<W>>,
    share: Rc<VolumeShare>,
    writing: Ranges,
    size_bytes: Cell<u64>,
    write_protected: Cell<bool>,
    /// It is being formatted or erased.
    formatting: Cell<bool>,
    /// An erase has failed, and goes on at the next start.
    erase_failed: Cell<bool>,
    attributes: RefCell<Attributes>,
    changing_attributes: Mutex<()>,
}

/// A format that has begun. Until it is dropped nobody else changes the volume.
pub(crate) struct Formatting<W: World>(StoreVolume<W>);

impl<W: World> Drop for Formatting<W> {
    fn drop(&mut self) {
        self.0.core.formatting.set(false);
    }
}

impl<W: World> Formatting<W> {
    /// Discards all that the volume holds and gives it sectors of `lba_bytes`. Hosts are refused
    /// from the beginning to the end: that of a large volume takes its time.
    pub async fn run(self, lba_bytes: u32) -> Result<(), IoError> {
        let core = &self.0.core;
        let _alone = core.gate.alone_refusing(Cause::Formatting).await;
        core.store.zero(core.id, Lba(0), core.size_bytes.get() / BLOCK).await?;
        self.0.change_attributes(|attributes| Attributes { lba_bytes, ..attributes }).await
    }
}

/// The blocks that a range of bytes touches, and the bytes before it in the first of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    first: u64,
    end: u64,
    lead: usize,
    bytes: usize,
}

impl Span {
    fn of(offset: u64, bytes: usize) -> Self {
        let first = offset / BLOCK;
        Span {
            first,
            end: (offset + bytes as u64).div_ceil(BLOCK),
            lead: (offset - first * BLOCK) as usize,
            bytes,
        }
    }

    fn count(&self) -> usize {
        (self.end - self.first) as usize
    }

    fn covered_bytes(&self) -> usize {
        self.count() * BLOCK_BYTES
    }

    fn is_whole(&self) -> bool {
        self.bytes == self.covered_bytes()
    }

    fn blocks(&self) -> Range<u64> {
        self.first..self.end
    }

    /// The range's bytes within its blocks.
    fn within(&self) -> Range<usize> {
        self.lead..self.lead + self.bytes
    }
}

impl<W: World> StoreVolume<W> {
    fn of(core: Rc<Core<W>>) -> Self {
        StoreVolume { core, turn: Cell::default() }
    }

    /// The volume `id` of `store`, which has `blocks` blocks and takes turns with no other.
    pub fn new(store: Store<W>, id: VolumeId, blocks: u64, attributes: Attributes) -> Self {
        let fair = FairShare::new(store.world().clone());
        Self::taking_turns(store, &fair, id, blocks, attributes)
    }

    /// The same, which takes turns with others by `fair`.
    pub(crate) fn taking_turns(
        store: Store<W>,
        fair: &Rc<FairShare<W>>,
        id: VolumeId,
        blocks: u64,
        attributes: Attributes,
    ) -> Self {
        let core = Core {
            fair: fair.clone(),
            share: fair.volume(),
            store,
            id,
            gate: Gate::default(),
            writing: Ranges::default(),
            size_bytes: Cell::new(blocks * BLOCK),
            write_protected: Cell::new(attributes.write_protected),
            formatting: Cell::new(false),
            erase_failed: Cell::new(false),
            attributes: RefCell::new(attributes),
            changing_attributes: Mutex::default(),
        };
        let volume = Self::of(Rc::new(core));
        volume.refuse_if_being_erased();
        volume
    }

    /// The same, for who may outlive the pool.
    pub(crate) fn downgrade(&self) -> WeakVolume<W> {
        WeakVolume { core: Rc::downgrade(&self.core) }
    }

    pub(crate) fn store(&self) -> &Store<W> {
        &self.core.store
    }

    /// Its number in the pool.
    pub(crate) fn id(&self) -> VolumeId {
        self.core.id
    }

    /// What it is beyond its blocks.
    pub(crate) fn attributes(&self) -> Attributes {
        self.core.attributes.borrow().clone()
    }

    /// Looks at what it is beyond its blocks, without a copy of who may see it.
    pub(crate) fn with_attributes<T>(&self, look: impl FnOnce(&Attributes) -> T) -> T {
        look(&self.core.attributes.borrow())
    }

    /// Its size as hosts see it.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.core.size_bytes.get()
    }

    /// Changes its part where volumes want more than the pool can do.
    pub(crate) fn set_weight(&self, weight: u16) {
        self.core.share.set_weight(weight);
    }

    /// Waits for the turn of a command for so many bytes, without the volume.
    pub(crate) fn next_turn(
        &self,
        kind: OpKind,
        bytes: u64,
    ) -> impl Future<Output = Turn<W>> + use<W> {
        let (fair, share) = (self.core.fair.clone(), self.core.share.clone());
        async move { fair.enter(&share, kind, bytes).await }
    }

    /// Waits for the turn of a command for so many bytes, unless it has had it.
    async fn turn(&self, kind: OpKind, bytes: u64) -> Turn<W> {
        match self.turn.take().filter(|turn| turn.is_of(&self.core.share)) {
            Some(turn) => turn.with_data(),
            None => self.next_turn(kind, bytes).await.stored(),
        }
    }

    /// The same, for a command that has had its turn, if it has.
    pub(crate) fn in_turn(self, turn: Option<Turn<W>>) -> Self {
        self.turn.set(turn);
        self
    }

    /// Bytes that the store writes as one.
    pub(crate) fn atomic_write_bytes(&self) -> u32 {
        self.core.store.atomic_write_bytes()
    }

    /// What it stores.
    pub(crate) fn usage(&self) -> Usage {
        self.core.store.usage(self.core.id)
    }

    /// Reads, writes and other operations of hosts that have begun so far.
    pub(crate) fn operations(&self) -> u64 {
        self.core.gate.entered()
    }

    /// Changes its attributes, durably.
    pub(crate) async fn change_attributes(
        &self,
        change: impl FnOnce(Attributes) -> Attributes,
    ) -> Result<(), IoError> {
        self.update(VolumeUpdate::default(), change).await
    }

    /// Changes it as one, durably: that, and its attributes. One change follows another: a format
    /// changes attributes as well, at its end, and whoever may see the volume is changed meanwhile.
    /// A change of the size waits for what is under way.
    pub(crate) async fn update(
        &self,
        update: VolumeUpdate,
        change: impl FnOnce(Attributes) -> Attributes,
    ) -> Result<(), IoError> {
        let core = &self.core;
        let _alone = match update.blocks {
            Some(_) => Some(core.gate.alone().await),
            None => None,
        };
        let _changing = core.changing_attributes.lock().await;
        let attributes = change(self.attributes());
        if attributes.write_protected && !self.attributes().write_protected {
            // From the moment that the host is told, nothing more is written: what is under way
            // ends first.
            core.write_protected.set(true);
            core.gate.settle().await;
        }
        let blocks = update.blocks;
        let update = VolumeUpdate { attributes: Some(attributes.encode().into()), ..update };
        let stored = core.store.update_volume(core.id, update).await;
        if stored.is_ok() {
            *core.attributes.borrow_mut() = attributes;
            blocks.into_iter().for_each(|blocks| core.size_bytes.set(blocks * BLOCK));
        }
        core.write_protected.set(core.attributes.borrow().write_protected);
        stored
    }

    /// Begins to format it.
    ///
    /// # Errors
    /// It may not be written to, or is being formatted already.
    pub(crate) fn begin_format(&self) -> Result<Formatting<W>, IoError> {
        self.check_writable()?;
        self.check_changeable()?;
        self.check_not_erased()?;
        self.core.formatting.set(true);
        Ok(Formatting(self.clone()))
    }

    /// Refuses changes while it is being formatted: they would wait for the end of that, and others
    /// of the pool behind them.
    pub(crate) fn check_changeable(&self) -> Result<(), IoError> {
        if self.core.formatting.get() { Err(self.why_changing().into()) } else { Ok(()) }
    }

    /// Deletes it: nothing is let in any more, what is under way ends, and then it is gone. After
    /// an error it is as it was.
    pub(crate) async fn delete(&self) -> Result<(), IoError> {
        let core = &self.core;
        self.close(Cause::NoSuchVolume).await;
        let deleted = core.store.delete_volume(core.id).await;
        if deleted.is_err() {
            core.gate.close(None);
            self.refuse_if_being_erased();
        }
        deleted
    }

    /// Lets nothing in any more and returns once what is under way has ended.
    pub(crate) async fn close(&self, cause: Cause) {
        self.core.gate.close(Some(cause));
        drop(self.core.gate.alone().await);
    }

    fn check_writable(&self) -> Result<(), IoError> {
        if self.core.write_protected.get() { Err(Cause::WriteProtected.into()) } else { Ok(()) }
    }

    fn check_range(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= self.core.size_bytes.get());
        if fits { Ok(()) } else { Err(Cause::OutOfRange.into()) }
    }

    fn span(&self, offset: u64, bytes: usize) -> Result<Span, IoError> {
        self.check_range(offset, bytes as u64)?;
        Ok(Span::of(offset, bytes))
    }

    async fn read_blocks(&self, first: u64, count: usize) -> Result<AlignedBuf, IoError> {
        self.core.store.read(self.core.id, Lba(first), count).await
    }

    async fn write_blocks(&self, first: u64, data: Bytes) -> Result<(), IoError> {
        self.core.store.write(self.core.id, Lba(first), data).await
    }

    async fn zero_blocks(&self, blocks: Range<u64>) -> Result<(), IoError> {
        self.core.store.zero(self.core.id, Lba(blocks.start), blocks.end - blocks.start).await
    }

    /// The blocks of `span` as they are; those that `span` covers whole are of any content.
    async fn read_edges(&self, span: Span) -> Result<AlignedBuf, IoError> {
        if span.count() <= 2 {
            return self.read_blocks(span.first, span.count()).await;
        }
        let mut covered = AlignedBuf::stale(span.covered_bytes());
        if span.lead != 0 {
            covered[..BLOCK_BYTES].copy_from_slice(&self.read_blocks(span.first, 1).await?);
        }
        if span.within().end != span.covered_bytes() {
            let last = span.covered_bytes() - BLOCK_BYTES;
            covered[last..].copy_from_slice(&self.read_blocks(span.end - 1, 1).await?);
        }
        Ok(covered)
    }

    /// Changes the bytes of `span`, whose blocks the caller has alone.
    async fn modify(&self, span: Span, change: impl FnOnce(&mut [u8])) -> Result<(), IoError> {
        let mut covered = self.read_edges(span).await?;
        change(&mut covered[span.within()]);
        self.write_blocks(span.first, covered.freeze()).await
    }

    async fn zero_part(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        if bytes == 0 {
            return Ok(());
        }
        self.modify(Span::of(offset, bytes as usize), |part| part.fill(0)).await
    }
}

impl<W: World> VolumeIo for StoreVolume<W> {
    async fn read(&self, offset: u64, bytes: usize) -> Result<AlignedBuf, IoError> {
        let _entry = self.core.gate.enter().await?;
        let _turn = self.turn(OpKind::Read, bytes as u64).await;
        let span = self.span(offset, bytes)?;
        let mut covered = self.read_blocks(span.first, span.count()).await?;
        if span.lead > 0 && !covered.is_untouched_zeros() {
            covered.copy_within(span.within(), 0);
            copies::note(bytes);
        }
        covered.truncate(bytes);
        Ok(covered)
    }

    async fn write(&self, offset: u64, data: Bytes) -> Result<(), IoError> {
        let _entry = self.core.gate.enter().await?;
        let _turn = self.turn(OpKind::Write, data.len() as u64).await;
        self.check_writable()?;
        let span = self.span(offset, data.len())?;
        if span.is_whole() {
            let _taken = self.core.writing.take(span.blocks(), Mode::Shared).await;
            return self.write_blocks(span.first, data).await;
        }
        let _taken = self.core.writing.take(span.blocks(), Mode::Alone).await;
        self.modify(span, |part| part.copy_from_slice(&data)).await
    }

    async fn write_zeroes(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        let _entry = self.core.gate.enter().await?;
        let _turn = self.turn(OpKind::Trim, 0).await;
        self.check_writable()?;
        self.check_range(offset, bytes)?;
        let end = offset + bytes;
        let (whole_start, whole_end) = (offset.next_multiple_of(BLOCK), end / BLOCK * BLOCK);
        let is_whole = whole_start == offset && whole_end == end;
        let mode = if is_whole { Mode::Shared } else { Mode::Alone };
        let _taken = self.core.writing.take(offset / BLOCK..end.div_ceil(BLOCK), mode).await;
        if whole_start > whole_end {
            return self.zero_part(offset, bytes).await;
        }
        self.zero_part(offset, whole_start - offset).await?;
        if whole_start < whole_end {
            self.zero_blocks(whole_start / BLOCK..whole_end / BLOCK).await?;
        }
        self.zero_part(whole_end, end - whole_end).await
    }

    async fn deallocate(&self, range: Range<u64>) -> Result<(), IoError> {
        let _entry = self.core.gate.enter().await?;
        let _turn = self.turn(OpKind::Trim, 0).await;
        self.check_writable()?;
        self.check_range(range.start, range.end.saturating_sub(range.start))?;
        let blocks = range.start.div_ceil(BLOCK)..range.end / BLOCK;
        if blocks.is_empty() {
            return Ok(());
        }
        let _taken = self.core.writing.take(blocks.clone(), Mode::Shared).await;
        self.zero_blocks(blocks).await
    }

    async fn compare(&self, offset: u64, expected: Bytes) -> Result<(), IoError> {
        let _entry = self.core.gate.enter().await?;
        let _turn = self.turn(OpKind::Read, expected.len() as u64).await;
        let span = self.span(offset, expected.len())?;
        let covered = self.read_blocks(span.first, span.count()).await?;
        if covered[span.within()] == expected[..] { Ok(()) } else { Err(Cause::Miscompare.into()) }
    }

    async fn compare_and_write(
        &self,
        offset: u64,
        expected: Bytes,
        data: Bytes,
    ) -> Result<(), IoError> {
        let _entry = self.core.gate.enter().await?;
        let _turn = self.turn(OpKind::Write, data.len() as u64).await;
        self.check_writable()?;
        if expected.len() != data.len() {
            return Err(IoError::new(Cause::Internal, "a compare-and-write of two lengths"));
        }
        let span = self.span(offset, data.len())?;
        let _taken = self.core.writing.take(span.blocks(), Mode::Alone).await;
        let mut covered = self.read_blocks(span.first, span.count()).await?;
        if covered[span.within()] != expected[..] {
            return Err(Cause::Miscompare.into());
        }
        covered[span.within()].copy_from_slice(&data);
        self.write_blocks(span.first, covered.freeze()).await
    }

    async fn verify(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        let _entry = self.core.gate.enter().await?;
        let _turn = self.turn(OpKind::Read, bytes).await;
        self.check_range(offset, bytes)?;
        let (mut at, end) = (offset / BLOCK, (offset + bytes).div_ceil(BLOCK));
        while at < end {
            let count = (end - at).min(VERIFY_BYTES / BLOCK);
            self.read_blocks(at, count as usize).await?;
            at += count;
        }
        Ok(())
    }

    async fn flush(&self) -> Result<(), IoError> {
        if let Some(cause) = self.core.gate.refusal() {
            return Err(cause.into());
        }
        // What was acknowledged is durable already.
        self.core.gate.settle().await;
        Ok(())
    }
}
