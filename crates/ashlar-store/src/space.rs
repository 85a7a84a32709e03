//! Room on the drives: segments, their chunks and live counts, windows, how much may live, and how
//! fast hosts may write while space is short.
//!
//! Owns the state of every segment. It must not know what the blocks in them mean.

pub(crate) mod after_loss;
pub(crate) mod capacity;
pub(crate) mod ledger;
pub(crate) mod pace;
pub(crate) mod refusals;
pub(crate) mod segments;
pub(crate) mod stripes;
pub(crate) mod window;
