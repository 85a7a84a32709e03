//! The check of everything.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use ashlar_reactor::{JoinHandle, now, spawn_joined};

use super::model::{BLOCK_BYTES, Model};
use super::report::{Progress, VerifyError};
use super::run::{check_blocks, check_fit, read_blocks};
use crate::initiator::Namespace;

/// Blocks of one read.
const BLOCKS_PER_READ: u64 = 32;

/// Reads every block of the model, `depth` reads at a time, and checks it. Returns the blocks
/// checked.
///
/// # Errors
/// The first wrong data, or the first read that failed.
pub async fn read_back(
    namespace: &Namespace,
    model: &Rc<RefCell<Model>>,
    depth: u32,
    progress: impl Fn(Progress) + 'static,
) -> Result<u64, VerifyError> {
    check_fit(namespace, &model.borrow())?;
    let total = model.borrow().blocks();
    let factor = (BLOCK_BYTES as u32 / namespace.lba_bytes()).max(1);
    let per_read = BLOCKS_PER_READ.min((namespace.transfer_blocks_max() / factor).max(1).into());
    let start = now();
    let (next, done) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let progress = Rc::new(progress);
    let readers: Vec<JoinHandle<Result<(), VerifyError>>> = (0..depth.max(1))
        .map(|_| {
            let (namespace, model) = (namespace.clone(), model.clone());
            let (next, done, progress) = (next.clone(), done.clone(), progress.clone());
            spawn_joined(async move {
                while let Some(range) = take(&next, per_read, total) {
                    read_one(&namespace, &model, range.clone()).await?;
                    done.set(done.get() + range.end - range.start);
                    progress(Progress {
                        elapsed: now().since(start),
                        operations: done.get().div_ceil(per_read),
                        blocks_total: Some(total),
                        blocks: done.get(),
                        ..Progress::default()
                    });
                }
                Ok(())
            })
        })
        .collect();
    for reader in readers {
        reader.await?;
    }
    Ok(total)
}

/// The next blocks that nobody has taken.
fn take(next: &Cell<u64>, count: u64, total: u64) -> Option<Range<u64>> {
    let start = next.get();
    let end = total.min(start + count);
    next.set(end);
    (start < end).then_some(start..end)
}

async fn read_one(
    namespace: &Namespace,
    model: &RefCell<Model>,
    range: Range<u64>,
) -> Result<(), VerifyError> {
    let content =
        read_blocks(namespace, range.clone()).await.map_err(|source| VerifyError::Command {
            operation: "reading",
            block: range.start,
            count: (range.end - range.start) as u32,
            source,
        })?;
    Ok(check_blocks(&mut model.borrow_mut(), range, &content)?)
}
