//! From blocks to rows on the drives: compression, batches, streams, group commit, the journal and
//! its destaging, pages of the map.
//!
//! Owns LSNs, open segments and what waits to be written. It must not know who writes.

pub(crate) mod append;
pub(crate) mod batch;
pub(crate) mod commit;
pub(crate) mod compress;
pub(crate) mod destage;
pub(crate) mod heat;
pub(crate) mod lsns;
pub(crate) mod moves;
pub(crate) mod pages;
pub(crate) mod rows;
pub(crate) mod zeroing;
