//! The map: from a block to where it is stored. Log-structured, in 64 shards.

pub mod buffer;
pub mod cache;
pub mod deltas;
pub mod index;
pub mod need;
pub mod shard;
