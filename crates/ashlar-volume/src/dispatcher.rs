//! How one reactor, or any other thread, has something done on another.

use std::future::Future;
use std::rc::Rc;

use crate::drive_provider::DriveProvider;
use crate::reactor_pools::ReactorPools;
use crate::table::ReactorIndex;

/// The reactor that was asked has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the daemon is stopping")]
pub struct Gone;

/// Brings work to the reactors of a node.
pub trait Dispatcher<B: DriveProvider>: Clone + 'static {
    /// How many there are.
    fn reactors(&self) -> usize;

    /// Calls `make` on the reactor `to` with the pools that live there, and runs the future that it
    /// returns to its end, whether or not the caller waits for it. It is sent by the call, not by
    /// what is returned; and what a reactor sends to another arrives in that order.
    fn call<M, F>(
        &self,
        to: ReactorIndex,
        make: M,
    ) -> impl Future<Output = Result<F::Output, Gone>> + Send + use<Self, B, M, F>
    where
        M: FnOnce(Rc<ReactorPools<B>>) -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static;
}
