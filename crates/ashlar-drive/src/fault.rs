//! Faults on demand: an ordinary drive that does what bad ones do, for tests of everything above.

use std::cell::{Cell, RefCell, RefMut};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ashlar_block::{DeviceError, DeviceOp, Notify, wait_for};

use crate::disk::of_os;

/// Controls the faults of one drive. Clones control the same. Ranges are in bytes; an operation
/// meets a fault if it touches the range.
#[derive(Clone, Default)]
pub struct Faults(Rc<Shared>);

#[derive(Default)]
struct Shared {
    plan: RefCell<Plan>,
    released: Notify,
    held: Cell<u64>,
}

/// An operation that a stall may hold: counted until it goes on, or is given up.
struct Held<'a>(&'a Cell<u64>);

impl<'a> Held<'a> {
    fn new(held: &'a Cell<u64>) -> Self {
        held.set(held.get() + 1);
        Held(held)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Where faults are asked for while the program runs.
struct Asked {
    file: Arc<Path>,
    drive: String,
}

impl Asked {
    /// What the file asks for, if that is for this drive. It is taken by that.
    fn take(&self) -> Option<Panicking> {
        let text = fs::read_to_string(&self.file).ok()?;
        let (word, path) = text.trim_end().split_once(' ')?;
        let panicking = match word {
            "once" => Panicking::Once,
            "twice" => Panicking::Twice,
            _ => return None,
        };
        let is_meant = self.drive.contains(path) && fs::remove_file(&self.file).is_ok();
        is_meant.then_some(panicking)
    }
}

#[derive(Default)]
struct Plan {
    failing: Vec<Failing>,
    vanished: bool,
    stalled: bool,
    delay: Duration,
    panics: Option<Panicking>,
    asked: Option<Asked>,
}

/// An operation that panics where it is called, as a broken invariant does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Panicking {
    /// Once.
    Once,
    /// And again while its values are being dropped, which ends the process.
    Twice,
}

/// A value of work that must not be dropped.
struct Undroppable;

impl Drop for Undroppable {
    fn drop(&mut self) {
        panic!("a fault that was asked for, while its values were dropped");
    }
}

struct Failing {
    op: DeviceOp,
    range: Range<u64>,
    errno: i32,
    once: bool,
}

impl Failing {
    fn meets(&self, op: DeviceOp, range: &Range<u64>) -> bool {
        self.op == op
            && (op == DeviceOp::Flush
                || (self.range.start < range.end && range.start < self.range.end))
    }
}

impl Faults {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of `drive` that `file` asks for: `once PATH` or `twice PATH`, where PATH is a part of
    /// how the drive is named, has its next write panic as [`Self::panic_at_next_write`] does.
    pub fn asked_for_in(file: Arc<Path>, drive: &str) -> Self {
        let faults = Faults::new();
        faults.plan().asked = Some(Asked { file, drive: drive.to_owned() });
        faults
    }

    /// Reads that touch `range` fail with `errno` from now on.
    pub fn fail_reads(&self, range: Range<u64>, errno: i32) {
        self.add(Failing { op: DeviceOp::Read, range, errno, once: false });
    }

    /// Writes that touch `range` fail with `errno` from now on, and write nothing.
    pub fn fail_writes(&self, range: Range<u64>, errno: i32) {
        self.add(Failing { op: DeviceOp::Write, range, errno, once: false });
    }

    /// The next write that touches `range` fails with `errno`, and writes nothing.
    pub fn fail_next_write(&self, range: Range<u64>, errno: i32) {
        self.add(Failing { op: DeviceOp::Write, range, errno, once: true });
    }

    /// The next flush fails with `errno`; later ones would succeed.
    pub fn fail_next_flush(&self, errno: i32) {
        self.add(Failing { op: DeviceOp::Flush, range: 0..0, errno, once: true });
    }

    /// The next write panics.
    pub fn panic_at_next_write(&self, panicking: Panicking) {
        self.plan().panics = Some(panicking);
    }

    /// Every operation fails as if the drive had been pulled.
    pub fn vanish(&self) {
        self.plan().vanished = true;
        self.release();
    }

    /// Operations wait, those that begin from now on, until [`Self::resume`] or [`Self::vanish`].
    pub fn stall(&self) {
        self.plan().stalled = true;
    }

    /// Ends a stall.
    pub fn resume(&self) {
        self.plan().stalled = false;
        self.release();
    }

    /// Operations that a stall holds now.
    pub fn held(&self) -> u64 {
        self.0.held.get()
    }

    /// Operations that begin from now on take longer by this, until [`Self::heal`].
    pub fn slow_down(&self, delay: Duration) {
        self.plan().delay = delay;
    }

    /// No faults any more. (A drive that is not believed any more stays so.)
    pub fn heal(&self) {
        self.plan().failing.clear();
        self.plan().vanished = false;
        self.plan().delay = Duration::ZERO;
        self.plan().panics = None;
        self.resume();
    }

    fn plan(&self) -> RefMut<'_, Plan> {
        self.0.plan.borrow_mut()
    }

    fn add(&self, failing: Failing) {
        self.plan().failing.push(failing);
    }

    fn release(&self) {
        self.0.released.notify_waiters();
    }

    fn panic_if_asked(&self) {
        let mut plan = self.plan();
        let asked = plan.panics.take().or_else(|| plan.asked.as_ref()?.take());
        drop(plan);
        let Some(panicking) = asked else { return };
        let _held = (panicking == Panicking::Twice).then(|| Undroppable);
        panic!("a fault that was asked for");
    }

    async fn wait_out_stall(&self) {
        let _held = Held::new(&self.0.held);
        let goes_on = || {
            let plan = self.plan();
            (!plan.stalled || plan.vanished).then_some(())
        };
        wait_for(&self.0.released, goes_on).await;
    }

    /// What happens to an operation before it reaches the drive.
    pub(crate) async fn meet(&self, op: DeviceOp, range: Range<u64>) -> Result<(), DeviceError> {
        self.wait_out_stall().await;
        let delay = self.plan().delay;
        if !delay.is_zero() {
            ashlar_reactor::sleep(delay).await;
        }
        if op == DeviceOp::Write {
            self.panic_if_asked();
        }
        let mut plan = self.plan();
        if plan.vanished {
            return Err(DeviceError::Gone);
        }
        let Some(index) = plan.failing.iter().position(|failing| failing.meets(op, &range)) else {
            return Ok(());
        };
        let errno = plan.failing[index].errno;
        if plan.failing[index].once {
            plan.failing.remove(index);
        }
        Err(of_os(op, range.start, &io::Error::from_raw_os_error(errno)))
    }
}
