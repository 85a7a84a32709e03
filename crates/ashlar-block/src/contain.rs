//! A panic in the work of one pool ends here, so that the other pools go on.
//!
//! After a panic nothing that the work has changed is trusted: whoever contains it never runs the
//! pool's work again, and drops it as a crash would. What several pools share must be whole
//! whenever a pool's work can panic.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::PoolUuid;

thread_local! {
    static CONTAINED: Cell<Option<Contained>> = const { Cell::new(None) };
    static TEXT: Cell<Option<String>> = const { Cell::new(None) };
}

/// The work that this thread does now.
#[derive(Clone, Copy)]
struct Contained {
    pool: PoolUuid,
    /// It has panicked, and its values are being dropped. A second panic cannot be caught.
    unwinds: bool,
}

/// The work panicked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text}")]
pub struct Panicked {
    /// What the panic said, and where if [`note_panic`] was told.
    pub text: String,
}

/// Does a part of the work of `pool`.
///
/// # Errors
/// [`Panicked`]: what the part has left is in an unknown state.
pub fn contain<T>(pool: PoolUuid, work: impl FnOnce() -> T) -> Result<T, Panicked> {
    let outer = CONTAINED.replace(Some(Contained { pool, unwinds: false }));
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    done.map_err(|payload| Panicked { text: TEXT.take().unwrap_or_else(|| message(&*payload)) })
}

/// The pool whose work this thread does now.
pub fn contained_pool() -> Option<PoolUuid> {
    CONTAINED.get().map(|contained| contained.pool)
}

/// For the process's panic hook: whether the panic that is being reported ends in [`contain`],
/// which gives `text` as its reason. If not, it ends the process.
pub fn note_panic(text: &str) -> bool {
    match CONTAINED.get() {
        Some(contained @ Contained { unwinds: false, .. }) => {
            CONTAINED.set(Some(Contained { unwinds: true, ..contained }));
            TEXT.set(Some(text.to_owned()));
            true
        }
        _ => false,
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests;
