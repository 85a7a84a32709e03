//! What the API answers when the node refuses.

use ErrorKind::{Conflict, Invalid, NotFound, Unavailable};
use NodeError::{
    BeingErased, Capacity, Drive, DriveOfPool, FailDrive, Gone, Grow, InUseElsewhere, Levels,
    LostByPool, NoAnswer, NoZstd, OlderCopy, OpeningStopped, OverPromised, RemoveDrive,
    ReplaceDrive, Shrinks, ShrinksProtected, Stopped, Trim, WipesProtected,
};
use ashlar_block::{Cause, IoError};
use ashlar_control::{ApiError, ErrorKind};
use ashlar_store::{CapacityError, CreateError, OpenError, RenameError};
use ashlar_volume::NodeError;

/// The answer to a refusal of the node.
pub fn api_error(error: NodeError) -> ApiError {
    let (kind, code) = classify(&error);
    let answer = ApiError::new(kind, code, message(&error));
    match hint(&error) {
        Some(hint) => answer.with_hint(hint),
        None => answer,
    }
}

/// Who asks for more than there is room for is told why by one sentence, not by the cause as well.
fn message(error: &NodeError) -> String {
    match error {
        NodeError::Io(error) if error.cause == Cause::CapacityExceeded => error.reason().to_owned(),
        error => error.to_string(),
    }
}

fn classify(error: &NodeError) -> (ErrorKind, &'static str) {
    match error {
        NodeError::Io(error) => of_io(error),
        NodeError::NoSuchPool(_) => (NotFound, "no_such_pool"),
        NodeError::NoSuchVolume { .. } => (NotFound, "no_such_volume"),
        NodeError::PoolExists(_) => (Conflict, "pool_exists"),
        NodeError::RenamePool { error, .. } => classify_rename(error),
        NodeError::VolumeExists { .. } => (Conflict, "volume_exists"),
        NodeError::Name(_) | NodeError::Create(CreateError::Name(_)) => (Invalid, "invalid_name"),
        NodeError::PoolName(..) => (Conflict, "invalid_name"),
        Drive(_) | NoAnswer(_) | OlderCopy(_) => (Conflict, "drive"),
        NodeError::SameDrive(..) => (Invalid, "same_drive"),
        BeingErased { .. } | DriveOfPool { .. } | LostByPool { .. } | InUseElsewhere { .. } => {
            (Conflict, "drive_in_use")
        }
        NodeError::Holds { .. } => (Conflict, "drive_holds_data"),
        NodeError::NoDrives => (Invalid, "no_drives"),
        NodeError::NoMembers { .. } | NodeError::NoneThere { .. } => (NotFound, "no_members"),
        NodeError::SeveralPools { .. } => (Invalid, "several_pools"),
        NodeError::Create(_) | NodeError::CreateDrive { .. } => (Invalid, "cannot_create"),
        NodeError::NoSuchDrive { .. } => (NotFound, "no_such_drive"),
        FailDrive { .. } | RemoveDrive { .. } | ReplaceDrive { .. } => (Conflict, of_drive(error)),
        NodeError::ReturnDrive(_) | NodeError::NotLost { .. } => (Conflict, "cannot_return"),
        NodeError::Whereabouts(_) => (Invalid, "whereabouts"),
        NodeError::AddDrive { .. } => (Invalid, "cannot_add"),
        NodeError::Taken { .. } => (Conflict, "pool_in_use"),
        NodeError::Open { error, .. } => (Conflict, code_of_open(error)),
        Grow(_) | Trim(_) | Capacity { .. } | OverPromised { .. } | Levels(_) => of_room(error),
        Shrinks { .. } => (Conflict, "shrinks"),
        NodeError::Size(_) => (Invalid, "invalid_size"),
        NoZstd { .. } => (Conflict, "no_zstd"),
        ShrinksProtected { .. } | WipesProtected { .. } => (Conflict, "write_protected"),
        NodeError::ReadOnly { .. } => (Unavailable, "pool_read_only"),
        NodeError::AtomicAbove { .. } => (Invalid, "invalid_atomic"),
        NodeError::Access { .. } => (Conflict, "cannot_change_access"),
        NodeError::TooManyHosts => (Invalid, "too_many_hosts"),
        NodeError::NoNumber => (Conflict, "no_namespace_number"),
        Stopped { .. } | Gone(_) | OpeningStopped { .. } => (Unavailable, code_of_end(error)),
    }
}

fn of_drive(error: &NodeError) -> &'static str {
    match error {
        FailDrive { .. } => "cannot_fail",
        RemoveDrive { .. } => "cannot_remove",
        _ => "cannot_replace",
    }
}

fn of_capacity(error: &CapacityError) -> (ErrorKind, &'static str) {
    match error {
        CapacityError::BelowProvisioned { .. } | CapacityError::AboveMax { .. } => {
            (Invalid, "invalid_capacity")
        }
        CapacityError::BelowPromised { .. } => (Conflict, "below_promised"),
        CapacityError::Unsafe { .. } => (Conflict, "capacity_not_safe"),
        CapacityError::Pool(error) => of_io(error),
    }
}

fn of_room(error: &NodeError) -> (ErrorKind, &'static str) {
    match error {
        Capacity { error, .. } => of_capacity(error),
        OverPromised { .. } => (Conflict, "over_promised"),
        Grow(_) => (Conflict, "cannot_grow"),
        Levels(_) => (Invalid, "invalid_setting"),
        _ => (Conflict, "no_drive_discards"),
    }
}

fn code_of_end(error: &NodeError) -> &'static str {
    if matches!(error, Stopped { .. }) { "pool_stopped" } else { "stopping" }
}

fn code_of_open(error: &OpenError) -> &'static str {
    match error {
        OpenError::InUse { .. } | OpenError::Unsure => "pool_in_use",
        _ => "cannot_open",
    }
}

fn of_io(error: &IoError) -> (ErrorKind, &'static str) {
    match error.cause {
        Cause::Internal => (ErrorKind::Internal, "internal"),
        Cause::OutOfRange => (ErrorKind::Invalid, "invalid_size"),
        Cause::Formatting => (ErrorKind::Conflict, "volume_formatting"),
        Cause::Sanitizing | Cause::SanitizeFailed => (ErrorKind::Conflict, "volume_sanitizing"),
        Cause::NoSuchVolume => (ErrorKind::NotFound, "no_such_volume"),
        _ => (ErrorKind::Unavailable, "pool_failed"),
    }
}

fn classify_rename(error: &RenameError) -> (ErrorKind, &'static str) {
    match error {
        RenameError::Name(_) => (ErrorKind::Invalid, "invalid_name"),
        RenameError::Pool(_) | RenameError::NotWritten | RenameError::Unsure => {
            (ErrorKind::Unavailable, "pool_failed")
        }
    }
}

fn hint(error: &NodeError) -> Option<String> {
    match error {
        NodeError::Holds { spec, is_of_pool: true, .. } => Some(format!(
            "`ashlar pool import` opens a pool; `ashlar drive label-clear {spec}` gives the drive \
             up; `--force` takes it as it is and loses what it holds"
        )),
        NodeError::Holds { .. } => {
            Some("choose another drive, or add `--force`, which loses what it holds".to_owned())
        }
        NodeError::PoolExists(_) => Some(
            "give the other pool another name (`ashlar pool rename`), or open this one under a new \
             name: `ashlar pool import POOL --name NEW`, where POOL may be its UUID"
                .to_owned(),
        ),
        NodeError::Open { error: OpenError::TooManyMissing { .. }, .. } => {
            Some("bring the missing drives back and name them all".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
