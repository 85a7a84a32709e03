//! The workload itself.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{AlignedBuf, Nanos, XorShift};
use ashlar_nvme::status::Status;
use ashlar_reactor::{now, sleep, spawn};

use super::model::{BLOCK_BYTES, Mismatch, Model, Word, ZEROS};
use super::operation::{Operation, choose};
use super::report::{Options, Progress, Report, VerifyError};
use crate::initiator::{CommandError, Namespace};
use crate::latency::Latencies;
use crate::pace::Pace;

/// What all workers of a run share.
struct Run {
    namespace: Namespace,
    model: Rc<RefCell<Model>>,
    options: Options,
    start: Nanos,
    random: RefCell<XorShift>,
    /// Blocks of operations that are under way: no two touch the same one.
    busy: RefCell<BTreeSet<u64>>,
    begun: Cell<u64>,
    done: Cell<u64>,
    /// Workers that there were.
    depth: u32,
    workers: Cell<u32>,
    /// When the last worker ended.
    end: Cell<Nanos>,
    error: RefCell<Option<VerifyError>>,
    figures: RefCell<Figures>,
}

#[derive(Default)]
struct Figures {
    read: Latencies,
    write: Latencies,
    trim: Latencies,
    /// Of all kinds, since progress was told.
    recent: Latencies,
    blocks_checked: u64,
    blocks_written: u64,
    blocks_trimmed: u64,
}

/// Whether the model's blocks are blocks of the namespace.
pub(super) fn check_fit(namespace: &Namespace, model: &Model) -> Result<(), VerifyError> {
    let lba_bytes = u64::from(namespace.lba_bytes());
    if !(BLOCK_BYTES as u64).is_multiple_of(lba_bytes) {
        return Err(VerifyError::Unfit(format!(
            "the volume's blocks have {lba_bytes} bytes, not 512 to 4096"
        )));
    }
    let blocks = namespace.blocks() * lba_bytes / BLOCK_BYTES as u64;
    if blocks < model.blocks() || model.blocks() == 0 {
        let expected = model.blocks();
        return Err(VerifyError::Unfit(format!(
            "the volume has {blocks} blocks of 4 KiB, the workload {expected}"
        )));
    }
    Ok(())
}

/// Runs operations at random until the duration or the number of operations is reached, and tells
/// of progress. What is outstanding then is awaited.
///
/// # Errors
/// The first wrong data, or the first command that failed. The model stays right: a write without
/// an answer may have been done or not.
pub async fn run(
    namespace: &Namespace,
    model: &Rc<RefCell<Model>>,
    options: Options,
    mut progress: impl FnMut(Progress),
) -> Result<Report, VerifyError> {
    check_fit(namespace, &model.borrow())?;
    let reconnections = namespace.controller().reconnections();
    let run = Rc::new(Run::new(namespace, model, options));
    for worker in 0..run.workers.get() {
        spawn(work(run.clone(), worker));
    }
    while run.workers.get() > 0 {
        sleep(run.options.progress_interval).await;
        progress(run.progress());
    }
    if let Some(error) = run.error.take() {
        return Err(error);
    }
    let reconnections = namespace.controller().reconnections() - reconnections;
    Ok(Report { reconnections, ..run.report() })
}

/// `worker`: which of those outstanding.
async fn work(run: Rc<Run>, worker: u32) {
    let mut pace = Pace::new(run.options.per_second, worker, run.depth);
    loop {
        let start = pace.next().await;
        if !run.goes_on() {
            break;
        }
        if let Err(error) = run.one_operation(start).await {
            run.error.borrow_mut().get_or_insert(error);
        }
    }
    run.workers.set(run.workers.get() - 1);
    run.end.set(now());
}

impl Run {
    fn new(namespace: &Namespace, model: &Rc<RefCell<Model>>, options: Options) -> Self {
        // More workers than blocks would wait for each other for ever.
        let depth = u64::from(options.depth.max(1)).min(model.borrow().blocks().div_ceil(4)) as u32;
        Run {
            namespace: namespace.clone(),
            model: model.clone(),
            start: now(),
            random: RefCell::new(XorShift::new(options.seed)),
            busy: RefCell::default(),
            begun: Cell::new(0),
            done: Cell::new(0),
            depth,
            workers: Cell::new(depth),
            end: Cell::default(),
            error: RefCell::default(),
            figures: RefCell::default(),
            options,
        }
    }

    fn goes_on(&self) -> bool {
        let in_time =
            self.options.duration.is_none_or(|duration| now().since(self.start) < duration);
        let in_number = self.options.operations_max.is_none_or(|max| self.begun.get() < max);
        in_time && in_number && !self.options.stop.is_stopped() && self.error.borrow().is_none()
    }

    fn progress(&self) -> Progress {
        let mut figures = self.figures.borrow_mut();
        Progress {
            recent: std::mem::take(&mut figures.recent),
            elapsed: now().since(self.start),
            operations: self.done.get(),
            blocks_total: None,
            blocks: figures.blocks_checked + figures.blocks_written + figures.blocks_trimmed,
        }
    }

    fn report(&self) -> Report {
        let figures = self.figures.borrow();
        let seconds = self.end.get().since(self.start).as_secs_f64();
        Report {
            seconds,
            iops: self.done.get() as f64 / seconds,
            blocks_checked: figures.blocks_checked,
            blocks_written: figures.blocks_written,
            blocks_trimmed: figures.blocks_trimmed,
            read: figures.read.summary(),
            write: figures.write.summary(),
            trim: figures.trim.summary(),
            reconnections: 0,
        }
    }

    /// Blocks that one operation may have at most.
    fn blocks_max(&self, operation: Operation) -> u64 {
        let factor = (BLOCK_BYTES as u32 / self.namespace.lba_bytes()).max(1);
        let transfer =
            (self.namespace.transfer_blocks_max() / factor).min(self.options.blocks_max).max(1);
        operation.blocks_max(transfer.into())
    }

    /// Blocks that nobody works on, taken for one operation: one mostly, sometimes many.
    fn take_blocks(&self, count_max: u64) -> Range<u64> {
        if count_max == 0 {
            return 0..0;
        }
        let mut random = self.random.borrow_mut();
        let mut busy = self.busy.borrow_mut();
        let total = self.model.borrow().blocks();
        let mut count = if random.below(10) < 7 { 1 } else { 1 + random.below(count_max) };
        loop {
            count = count.min(total);
            let start = random.below(total - count + 1);
            let range = start..start + count;
            if busy.range(range.clone()).next().is_none() {
                busy.extend(range.clone());
                return range;
            }
            count = (count / 2).max(1);
        }
    }

    /// `start`: when it was to begin.
    async fn one_operation(&self, start: Nanos) -> Result<(), VerifyError> {
        self.begun.set(self.begun.get() + 1);
        let operation = choose(self.options.mix, &mut self.random.borrow_mut());
        let range = self.take_blocks(self.blocks_max(operation));
        let result = self.perform(operation, range.clone()).await;
        range.clone().for_each(|block| {
            self.busy.borrow_mut().remove(&block);
        });
        result?;
        self.count(operation, range.end - range.start, now().since(start));
        Ok(())
    }

    fn count(&self, operation: Operation, blocks: u64, latency: Duration) {
        self.done.set(self.done.get() + 1);
        let mut figures = self.figures.borrow_mut();
        figures.recent.record(latency);
        match operation {
            Operation::Read => {
                figures.blocks_checked += blocks;
                figures.read.record(latency);
            }
            Operation::Write | Operation::CompareAndWrite => {
                figures.blocks_written += blocks;
                figures.write.record(latency);
            }
            Operation::Deallocate | Operation::WriteZeroes => {
                figures.blocks_trimmed += blocks;
                figures.trim.record(latency);
            }
            Operation::Flush => {}
        }
    }

    async fn perform(&self, operation: Operation, range: Range<u64>) -> Result<(), VerifyError> {
        let failed = |source| VerifyError::Command {
            operation: operation.name(),
            block: range.start,
            count: (range.end - range.start) as u32,
            source,
        };
        match operation {
            Operation::Read => {
                let content = read_blocks(&self.namespace, range.clone()).await.map_err(failed)?;
                check_blocks(&mut self.model.borrow_mut(), range.clone(), &content)
                    .map_err(VerifyError::from)
            }
            Operation::Write => self.write(range.clone()).await.map_err(failed),
            Operation::Deallocate | Operation::WriteZeroes => {
                self.trim(operation, range.clone()).await.map_err(failed)
            }
            Operation::CompareAndWrite => self.compare_and_write(range.start, failed).await,
            Operation::Flush => self.namespace.flush().await.map_err(failed),
        }
    }

    async fn write(&self, range: Range<u64>) -> Result<(), CommandError> {
        let (content, versions) = self.new_content(range.clone());
        let lbas = lbas_of(&self.namespace, &range);
        self.namespace.write(lbas.start, content.freeze()).await?;
        let mut model = self.model.borrow_mut();
        range.zip(versions).for_each(|(block, version)| model.settle(block, version));
        Ok(())
    }

    /// New versions of the blocks; from now on they may hold them.
    fn new_content(&self, range: Range<u64>) -> (AlignedBuf, Vec<Word>) {
        let mut model = self.model.borrow_mut();
        let mut content = AlignedBuf::stale((range.end - range.start) as usize * BLOCK_BYTES);
        let mut versions = Vec::new();
        for (block, part) in range.zip(content.chunks_exact_mut(BLOCK_BYTES)) {
            let version = model.next_version();
            model.begin(block, version);
            model.fill(block, version, part);
            versions.push(version);
        }
        (content, versions)
    }

    /// Replaces a block that holds what is expected. One time in four something else is expected:
    /// then the block must stay as it is.
    async fn compare_and_write(
        &self,
        block: u64,
        failed: impl Fn(CommandError) -> VerifyError,
    ) -> Result<(), VerifyError> {
        let held = self.model.borrow().candidates(block);
        let is_expected = self.random.borrow_mut().below(4) != 0;
        let expected = if is_expected { held[0] } else { self.model.borrow_mut().next_version() };
        let compared = self.model.borrow().content(block, expected);
        let (content, versions) = self.new_content(block..block + 1);
        let lbas = lbas_of(&self.namespace, &(block..block + 1));
        let pair =
            self.namespace.compare_and_write(lbas.start, compared.freeze(), content.freeze()).await;
        let mut model = self.model.borrow_mut();
        match pair {
            Ok(()) if is_expected => model.settle(block, versions[0]),
            Err(CommandError::Status(status)) if status.code() == Status::COMPARE_FAILURE => {
                model.rule_out(block, versions[0]);
                if held == [expected] {
                    return Err(VerifyError::Compared { block, held, expected });
                }
                model.rule_out(block, expected);
            }
            Ok(()) => return Err(VerifyError::Compared { block, held, expected }),
            Err(error) => return Err(failed(error)),
        }
        Ok(())
    }

    /// Write Zeroes makes zeros; a deallocation is a hint, after which the blocks hold zeros or
    /// what they held.
    async fn trim(&self, operation: Operation, range: Range<u64>) -> Result<(), CommandError> {
        range.clone().for_each(|block| self.model.borrow_mut().begin(block, ZEROS));
        let lbas = lbas_of(&self.namespace, &range);
        if operation == Operation::Deallocate {
            return self.namespace.deallocate(&[lbas]).await;
        }
        self.namespace.write_zeroes(lbas.start, (lbas.end - lbas.start) as u32, true).await?;
        range.for_each(|block| self.model.borrow_mut().settle(block, ZEROS));
        Ok(())
    }
}

/// The namespace's blocks that the model's blocks are.
pub(super) fn lbas_of(namespace: &Namespace, range: &Range<u64>) -> Range<u64> {
    let factor = BLOCK_BYTES as u64 / u64::from(namespace.lba_bytes());
    range.start * factor..range.end * factor
}

pub(super) async fn read_blocks(
    namespace: &Namespace,
    range: Range<u64>,
) -> Result<AlignedBuf, CommandError> {
    let lbas = lbas_of(namespace, &range);
    namespace.read(lbas.start, (lbas.end - lbas.start) as u32).await
}

pub(super) fn check_blocks(
    model: &mut Model,
    range: Range<u64>,
    content: &[u8],
) -> Result<(), Mismatch> {
    let mut blocks = range.zip(content.chunks_exact(BLOCK_BYTES));
    blocks.try_for_each(|(block, content)| model.check(block, content))
}
