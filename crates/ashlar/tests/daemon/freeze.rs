//! The daemon is stopped for longer than its timeouts, as a debugger or a machine without
//! processors to give stops it: hosts that are alive go on where they were.

use std::time::Duration;

use crate::hosts::{Load, Volume};
use crate::support::Place;

/// The timeouts of hosts that are silent while they connect, or while they send or take data. A
/// host's keep alive, of four seconds, is shorter than the pause, too. None is so short that a host
/// exceeds it because its machine is busy.
const CONFIG: &str = "
    [limits]
    handshake_timeout_seconds = 4
    transfer_timeout_seconds = 4
";
/// How long the daemon does nothing, unless `FREEZE_SECONDS` says.
const FREEZE: Duration = Duration::from_secs(6);
/// Drives of the pool, of 48 MiB each, and blocks of the volume.
const DRIVES: usize = 5;
const BLOCKS: u64 = 6144;

#[test]
fn a_daemon_that_was_stopped_for_longer_than_its_timeouts_drops_no_host() {
    let place = Place::new();
    let daemon = place.start_configured(CONFIG);
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let seconds = std::env::var("FREEZE_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let freeze = seconds.map_or(FREEZE, Duration::from_secs);
    let mut load = Load::start_patient(&place, vec![Volume::new("tank/v0", BLOCKS, 3)], 1);
    load.await_rounds();
    daemon.stop_for(freeze);
    load.await_rounds();
    load.join();
    daemon.terminate();
}
