//! How one reactor, or any other thread, has something done on another.

use std::future::Future;
use std::rc::Rc;

use crate::bay::DriveBay;
use crate::home::Home;
use crate::table::ReactorIndex;

/// The reactor that was asked has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the daemon is stopping")]
pub struct Gone;

/// Brings work to the reactors of a node.
pub trait Courier<B: DriveBay>: Clone + 'static {
    /// How many there are.
    fn reactors(&self) -> usize;

    /// Calls `make` on the reactor `to` with the pools that live there, and runs the future that it
    /// returns to its end, whether or not the caller waits for it.
    fn call<M, F>(
        &self,
        to: ReactorIndex,
        make: M,
    ) -> impl Future<Output = Result<F::Output, Gone>> + Send + use<Self, B, M, F>
    where
        M: FnOnce(Rc<Home<B>>) -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static;
}
