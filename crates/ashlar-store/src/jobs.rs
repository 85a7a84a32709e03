//! What a pool does in the background, one job a file: collection, merges, sweeps, purges, rebuild,
//! rebalance, scrub, audit, trim.
//!
//! A job knows what it wants and does one step of it. It must not know what other jobs want:
//! `upkeep` chooses.

pub(crate) mod audit;
pub(crate) mod collect;
pub(crate) mod merge;
pub(crate) mod progress;
pub(crate) mod purge;
pub(crate) mod rebalance;
pub(crate) mod rebuild;
pub(crate) mod relocate;
pub(crate) mod scrub;
pub(crate) mod share;
pub(crate) mod sweep;
pub(crate) mod trim;
