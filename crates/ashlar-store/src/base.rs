//! What every part of the store speaks of: options, lists that are used again, whether the pool
//! takes writes, what is asked of its upkeep, what is done in the background, its newest root.
//!
//! It must not know any other part.

pub(crate) mod activity;
pub(crate) mod halt;
pub(crate) mod options;
pub(crate) mod recycle;
pub(crate) mod requests;
pub(crate) mod root_watch;
