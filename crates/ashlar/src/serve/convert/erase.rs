//! Drives that are erased, as they go over the wire.

use ashlar_control::types;
use ashlar_volume::{DriveErase, EraseMethod, EraseOutcome};

/// How far the erase of a drive is.
pub fn drive_erase(erase: &DriveErase) -> types::DriveErase {
    let method = |method| match method {
        EraseMethod::Discard => "discard".to_owned(),
        EraseMethod::Overwrite => "overwrite".to_owned(),
    };
    let (state, problem) = match &erase.outcome {
        None => ("running", None),
        Some(EraseOutcome::Erased) => ("finished", None),
        Some(EraseOutcome::Failed(why)) => ("failed", Some(why.clone())),
        Some(EraseOutcome::Missing) => {
            ("missing", Some("the drive was not there: what is on it was not erased".to_owned()))
        }
    };
    let size = erase.size_bytes.unwrap_or(0).max(1);
    types::DriveErase {
        spec: erase.spec.clone(),
        pool: erase.pool.clone(),
        pool_uuid: erase.pool_uuid.to_string(),
        states: vec![state.to_owned()],
        method: erase.method.map(method),
        problem,
        size_bytes: erase.size_bytes,
        done_bytes: erase.done_bytes,
        done_percent: (erase.done_bytes as f64 / size as f64 * 1000.0).floor() / 10.0,
    }
}
