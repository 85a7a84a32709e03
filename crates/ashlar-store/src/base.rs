//! What all parts of the store use: options, limits, counters, recycled lists, names of activities,
//! whether the pool takes writes, requests to upkeep, the newest root, zstd.
//!
//! Base must not know any other part.
//!
//! 1. A pool that has halted takes no writes until it is opened again.
//! 2. Who asks upkeep for something asks here, and waits for the answer here.

pub(crate) mod activity;
pub(crate) mod counters;
pub(crate) mod halt;
pub(crate) mod limits;
pub(crate) mod options;
pub(crate) mod recycle;
pub(crate) mod requests;
pub(crate) mod root_watch;
pub(crate) mod zstd;
