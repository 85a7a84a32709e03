//! What a pool does in the background, one job a file: collection, recompression, merges, sweeps,
//! purges, rebuild, rebalance, scrub, audit, verify, trim.
//!
//! A job knows what it wants and does one step of it. It must not know what other jobs want:
//! `upkeep` chooses.
//!
//! 1. A job is done in steps, and hosts go on between two of them.
//! 2. A step that a crash cuts short has changed nothing that counts: the job is begun anew.
//! 3. Rebuild, rebalance, recompression, scrub and verify keep to their share of the time;
//!    collection goes by the pace of what hosts write.

pub(crate) mod audit;
pub(crate) mod collect;
pub(crate) mod merge;
pub(crate) mod moves;
pub(crate) mod progress;
pub(crate) mod purge;
pub(crate) mod rebalance;
pub(crate) mod rebuild;
pub(crate) mod recompress;
pub(crate) mod relocate;
pub(crate) mod scrub;
pub(crate) mod share;
pub(crate) mod sweep;
pub(crate) mod trim;
pub(crate) mod verify;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use ashlar_block::VolumeId;
use collect::worth::Worth;
use moves::Moves;
use purge::Purge;
use rebalance::Rebalance;
use rebuild::Rebuild;
use recompress::Recompression;
use relocate::Relocation;
use scrub::Scrub;
use sweep::Sweep;
use trim::Trim;
use verify::Verify;

/// How far each job has come.
#[derive(Default)]
pub(crate) struct Jobs {
    pub collecting: Worth,
    /// The sweep that is on its way.
    pub sweep: Cell<Option<Sweep>>,
    /// The purge of a deleted volume, if one is under way.
    pub purge: Cell<Option<Purge>>,
    /// Deleted volumes of which a part of the map cannot be read.
    pub unpurgeable: RefCell<BTreeSet<VolumeId>>,
    pub rebuild: Rebuild,
    pub rebalance: Rebalance,
    pub recompression: Recompression,
    pub relocation: Relocation,
    /// What those have come to that move data.
    pub moves: Moves,
    pub scrub: Scrub,
    pub trim: Trim,
    pub verify: Verify,
}
