use std::future::{pending, ready};
use std::pin::pin;

use futures_util::task::noop_waker;

use super::*;

const POOL: PoolUuid = PoolUuid([7; 16]);

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&noop_waker()))
}

/// Says that it was dropped.
struct Dropped(Rc<Cell<bool>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Work that holds something and never ends.
fn endless(dropped: &Rc<Cell<bool>>) -> impl Future<Output = ()> + use<> {
    let held = Dropped(dropped.clone());
    async move {
        pending::<()>().await;
        drop(held);
    }
}

fn blow(fuse: &Rc<Fuse>) {
    let blown = fuse.call(|| panic!("no room for a unit"));
    assert_eq!(&*blown.unwrap_err().why, "no room for a unit");
}

#[test]
fn work_that_does_not_panic_is_done() {
    let fuse = Fuse::new(POOL, |_| ());
    assert_eq!(fuse.call(|| 3), Ok(3));
    assert_eq!(poll(pin!(fuse.guard(ready(4)))), Poll::Ready(Ok(4)));
    assert_eq!(fuse.holds(), Ok(()));
}

#[test]
fn a_panic_in_a_poll_blows_the_fuse_and_the_first_reason_stays() {
    let fuse = Fuse::new(POOL, |_| ());
    let panics = async { panic!("the first") };
    let Poll::Ready(Err(first)) = poll(pin!(fuse.guard(panics))) else { panic!("it has panicked") };
    assert_eq!(&*first.why, "the first");
    assert_eq!(fuse.call(|| panic!("never run")), Err(first.clone()) as Result<(), _>);
    assert_eq!(fuse.holds(), Err(first));
}

#[test]
fn work_that_waits_is_woken_and_dropped_when_the_fuse_blows() {
    let fuse = Fuse::new(POOL, |_| ());
    let dropped = Rc::new(Cell::new(false));
    let mut waiting = pin!(fuse.guard(endless(&dropped)));
    assert!(poll(waiting.as_mut()).is_pending());
    assert_eq!(fuse.waiting.borrow().len(), 1);
    blow(&fuse);
    assert!(!dropped.get());
    assert!(matches!(poll(waiting.as_mut()), Poll::Ready(Err(_))));
    assert!(dropped.get());
}

#[test]
fn work_that_is_given_up_leaves_no_waker_behind() {
    let fuse = Fuse::new(POOL, |_| ());
    {
        let mut waiting = pin!(fuse.guard(pending::<()>()));
        assert!(poll(waiting.as_mut()).is_pending());
        assert!(poll(waiting.as_mut()).is_pending());
        assert_eq!(fuse.waiting.borrow().len(), 1);
    }
    assert!(fuse.waiting.borrow().is_empty());
    assert_eq!(fuse.under_way.get(), 0);
}

#[test]
fn a_blown_fuse_is_spent_once_all_work_has_been_dropped() {
    let fuse = Fuse::new(POOL, |_| ());
    let dropped = Rc::new(Cell::new(false));
    let mut spent = pin!(fuse.spent());
    {
        let mut waiting = pin!(fuse.guard(endless(&dropped)));
        assert!(poll(waiting.as_mut()).is_pending());
        assert!(poll(spent.as_mut()).is_pending());
        blow(&fuse);
        assert!(poll(spent.as_mut()).is_pending());
    }
    assert!(matches!(poll(spent.as_mut()), Poll::Ready(Some(_))));
}

#[test]
fn a_retired_fuse_tells_nobody_but_those_whose_work_it_is() {
    let told = Rc::new(Cell::new(false));
    let fuse = Fuse::new(POOL, {
        let told = told.clone();
        move |_| told.set(true)
    });
    let mut spent = pin!(fuse.spent());
    assert!(poll(spent.as_mut()).is_pending());
    fuse.retire();
    assert_eq!(poll(spent.as_mut()), Poll::Ready(None));
    blow(&fuse);
    assert!(fuse.holds().is_err());
    assert!(!told.get());
}

#[test]
fn values_that_panic_when_they_are_dropped_blow_the_fuse() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("the count is wrong");
        }
    }
    let fuse = Fuse::new(POOL, |_| ());
    let held = Panics;
    drop(fuse.guard(async move { drop(held) }));
    assert_eq!(&*fuse.holds().unwrap_err().why, "the count is wrong");
}

#[test]
fn a_panic_is_told_once_and_at_once() {
    let told = Rc::new(Cell::new(0));
    let fuse = Fuse::new(POOL, {
        let told = told.clone();
        move |_| told.set(told.get() + 1)
    });
    let dropped = Rc::new(Cell::new(false));
    let mut waiting = pin!(fuse.guard(endless(&dropped)));
    assert!(poll(waiting.as_mut()).is_pending());
    blow(&fuse);
    assert_eq!(told.get(), 1);
    assert!(matches!(poll(waiting.as_mut()), Poll::Ready(Err(_))));
    assert_eq!(told.get(), 1);
}
