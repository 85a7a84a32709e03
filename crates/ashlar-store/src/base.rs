//! What every part of the store speaks of: options, lists that are used again.
//!
//! Owns no state of a pool. It must not know any other part.

pub(crate) mod options;
pub(crate) mod recycle;
