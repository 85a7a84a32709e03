use ashlar_block::PoolUuid;

use super::*;

/// A heartbeat of an opening.
pub fn heartbeat(epoch: u64, session: u64, count: u64) -> Heartbeat {
    Heartbeat {
        pool: PoolUuid([1; 16]),
        is_open: true,
        holder: [7; 16],
        epoch,
        session,
        count,
        written_at: 0,
        holder_name: "one".to_owned(),
    }
}
