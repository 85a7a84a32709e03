//! The words for how pools and drives are: all that there are. Monitors have a series for each.

/// How a pool may be; see [`Pool::states`](super::Pool::states).
pub const POOL_STATES: [&str; 20] = [
    "online",
    "degraded",
    "rebuilding",
    "need-rebuild",
    "rebalancing",
    "scrubbing",
    "trimming",
    "evacuating",
    "reduced",
    "read-only",
    "taken",
    "uncertain",
    "nearly-full",
    "throttled",
    "short-for-loss",
    "full",
    "out-of-room",
    "volatile",
    "opening",
    "unavailable",
];

/// How a drive of a pool that is open may be; see
/// [`PoolDrive::states`](super::PoolDrive::states).
pub const DRIVE_STATES: [&str; 9] =
    ["online", "failed", "absent", "released", "returned", "evacuating", "slow", "stale", "sparse"];
