//! What ends a pool whose work has panicked, and nothing else.
//!
//! All work of a pool runs under its [`Fuse`]: the tasks of its store through [`PoolWorld`], what
//! hosts and operators want of it through [`Fuse::guard`] and [`Fuse::call`]. A panic in any of it
//! blows the fuse. Nothing of the pool runs from then on: each piece of work is dropped when it is
//! polled next, as by a crash, and whoever waits for it is told [`Blown`]. What is on the drives is
//! as a crash leaves it, which the next opening replays.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ashlar_block::{
    Cause, Clock, IoError, Nanos, Notify, Panicked, PoolUuid, Rng, Spawn, World, contain, wait_for,
};
use slab::Slab;

/// A pool's work has panicked, and nothing of the pool runs any more.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a fault in Ashlar itself has stopped the pool: {why}")]
pub struct Blown {
    /// What the panic said.
    pub why: Arc<str>,
}

impl From<Blown> for IoError {
    fn from(blown: Blown) -> Self {
        IoError::new(Cause::NotReady, blown)
    }
}

/// One pool's. Stays on its reactor.
pub(crate) struct Fuse {
    pool: PoolUuid,
    blown: RefCell<Option<Blown>>,
    /// Those who are to be polled once it has blown.
    waiting: RefCell<Slab<Waker>>,
    /// Pieces of work that have begun and are not dropped yet.
    under_way: Cell<usize>,
    /// The pool is being closed.
    retired: Cell<bool>,
    changed: Notify,
    /// Told at once when it blows, unless the pool is being closed.
    told: Box<dyn Fn(&Blown)>,
}

impl Fuse {
    /// The fuse of `pool`. `told` hears at once of a panic, unless the pool is being closed.
    pub fn new(pool: PoolUuid, told: impl Fn(&Blown) + 'static) -> Rc<Self> {
        let told = Box::new(told);
        let (blown, waiting) = (RefCell::default(), RefCell::default());
        Rc::new(Fuse {
            pool,
            blown,
            waiting,
            under_way: Cell::new(0),
            retired: Cell::new(false),
            changed: Notify::new(),
            told,
        })
    }

    /// # Errors
    /// When it has blown.
    pub fn holds(&self) -> Result<(), Blown> {
        self.blown.borrow().clone().map_or(Ok(()), Err)
    }

    /// Does a piece of the pool's work that waits for nothing.
    ///
    /// # Errors
    /// When the fuse has blown, or blows by this.
    pub fn call<T>(&self, work: impl FnOnce() -> T) -> Result<T, Blown> {
        self.holds()?;
        contain(self.pool, work).map_err(|panicked| self.blow(panicked))
    }

    /// Drops what is left of the pool once the fuse has blown. A panic in it changes nothing.
    pub fn discard(&self, work: impl FnOnce()) {
        let _ = contain(self.pool, work);
    }

    /// `work` under the fuse.
    ///
    /// # Errors
    /// When the fuse has blown, or blows meanwhile.
    pub fn guard<F: Future>(self: &Rc<Self>, work: F) -> Guarded<F> {
        self.under_way.set(self.under_way.get() + 1);
        Guarded { work: Some(work), seat: Seat { fuse: self.clone(), key: None } }
    }

    /// Whoever closes the pool hears if it blows from now on, and nobody else.
    pub fn retire(&self) {
        self.retired.set(true);
        self.changed.notify_waiters();
    }

    /// Returns once it has blown and all work under it has been dropped, or, with nothing, once it
    /// is retired.
    pub async fn spent(&self) -> Option<Blown> {
        wait_for(&self.changed, || {
            let blown = || self.blown.borrow().clone().filter(|_| self.under_way.get() == 0);
            if self.retired.get() { Some(None) } else { blown().map(Some) }
        })
        .await
    }

    fn blow(&self, panicked: Panicked) -> Blown {
        if let Err(first) = self.holds() {
            return first;
        }
        let blown = Blown { why: panicked.text.into() };
        if !self.retired.get() {
            (self.told)(&blown);
        }
        self.blown.replace(Some(blown.clone()));
        self.waiting.borrow().iter().for_each(|(_, waker)| waker.wake_by_ref());
        self.changed.notify_waiters();
        blown
    }
}

/// A place among those who are woken when the fuse blows.
struct Seat {
    fuse: Rc<Fuse>,
    key: Option<usize>,
}

impl Seat {
    fn wait(&mut self, waker: &Waker) {
        let mut waiting = self.fuse.waiting.borrow_mut();
        match self.key {
            Some(key) => waiting[key].clone_from(waker),
            None => self.key = Some(waiting.insert(waker.clone())),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.fuse.waiting.borrow_mut().remove(key);
        }
        self.fuse.under_way.set(self.fuse.under_way.get() - 1);
        if self.fuse.blown.borrow().is_some() {
            self.fuse.changed.notify_waiters();
        }
    }
}

pin_project_lite::pin_project! {
    /// Work of a pool: see [`Fuse::guard`].
    pub(crate) struct Guarded<F> {
        #[pin]
        work: Option<F>,
        seat: Seat,
    }

    impl<F> PinnedDrop for Guarded<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let dropped = contain(this.seat.fuse.pool, || this.work.set(None));
            if let Err(panicked) = dropped {
                this.seat.fuse.blow(panicked);
            }
        }
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Blown>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Seat { fuse, .. } = this.seat;
        let fuse = fuse.clone();
        let step = || this.work.as_mut().as_pin_mut().expect("polled after its end").poll(cx);
        match fuse.call(step) {
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Ok(Poll::Pending) => {
                this.seat.wait(cx.waker());
                Poll::Pending
            }
            Err(blown) => {
                fuse.discard(|| this.work.set(None));
                Poll::Ready(Err(blown))
            }
        }
    }
}

/// The world of one pool: that of its reactor, with the pool's tasks under its fuse.
pub struct PoolWorld<W> {
    world: W,
    fuse: Rc<Fuse>,
}

impl<W: Clone> Clone for PoolWorld<W> {
    fn clone(&self) -> Self {
        PoolWorld { world: self.world.clone(), fuse: self.fuse.clone() }
    }
}

impl<W> PoolWorld<W> {
    pub(crate) fn new(world: W, fuse: Rc<Fuse>) -> Self {
        PoolWorld { world, fuse }
    }

    pub(crate) fn fuse(&self) -> &Rc<Fuse> {
        &self.fuse
    }
}

impl<W: World> World for PoolWorld<W> {
    type Device = W::Device;
}

impl<W: World> Clock for PoolWorld<W> {
    fn now(&self) -> Nanos {
        self.world.now()
    }

    fn unix_seconds(&self) -> u64 {
        self.world.unix_seconds()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.world.sleep(duration)
    }
}

impl<W: World> Rng for PoolWorld<W> {
    fn random_u64(&self) -> u64 {
        self.world.random_u64()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.world.fill_random(bytes);
    }
}

impl<W: World> Spawn for PoolWorld<W> {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let guarded = self.fuse.guard(task);
        self.world.spawn(async move { drop(guarded.await) });
    }

    fn yield_now(&self) -> impl Future<Output = ()> + 'static {
        self.world.yield_now()
    }
}

#[cfg(test)]
mod tests;
