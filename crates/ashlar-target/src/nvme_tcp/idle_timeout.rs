//! Judging a host that has been silent.
//!
//! A reactor that stood still itself has not heard what came meanwhile: see
//! [`ashlar_reactor::sleep`], whose overdue timers are held back.

use std::time::Duration;

use ashlar_reactor::{sleep, yield_now};

/// Times that other tasks and the ring go first before a host is judged.
const LAST_LOOKS: u32 = 4;

/// Parts that a wait is cut into. A standstill of this process, however long, costs the host one of
/// them.
const STEPS: u32 = 10;

/// Ends once the host has had `patience` to do what is expected of it, and what has come from it is
/// read.
pub(super) async fn wait_out(patience: Duration) {
    for _ in 0..STEPS {
        sleep(patience / STEPS).await;
    }
    read_what_came().await;
}

/// Lets what has come be read: after a pause of this whole process timers are due before that.
pub(super) async fn read_what_came() {
    for _ in 0..LAST_LOOKS {
        yield_now().await;
    }
}
