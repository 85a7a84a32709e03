//! What the API answers when the node refuses.

use NodeError::{
    BeingErased, Capacity, Drive, DriveOfPool, FailDrive, Gone, Grow, InUseElsewhere, Levels,
    LostByPool, NoAnswer, NoZstd, OlderCopy, OpeningStopped, OverPromised, RemoveDrive,
    ReplaceDrive, Shrinks, ShrinksProtected, Stopped, Trim, WipesProtected,
};
use ashlar_block::{Cause, IoError};
use ashlar_control::{ApiError, ErrorCode as Code};
use ashlar_store::{
    AddError, CapacityError, CreateError, FailError, Failure, OpenError, RejoinError, RemoveError,
    RenameError,
};
use ashlar_volume::NodeError;
use ashlar_volume::qos::QosError;

/// The answer to a refusal of the node.
pub fn api_error(error: NodeError) -> ApiError {
    let answer = ApiError::new(classify(&error), message(&error));
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

fn classify(error: &NodeError) -> Code {
    match error {
        NodeError::Io(error) => of_io(error),
        NodeError::NoSuchPool(_) => Code::NoSuchPool,
        NodeError::NoSuchVolume { .. } => Code::NoSuchVolume,
        NodeError::PoolExists(_) => Code::PoolExists,
        NodeError::RenamePool { error, .. } => classify_rename(error),
        NodeError::VolumeExists { .. } => Code::VolumeExists,
        NodeError::Name(_) | NodeError::PoolName(..) => Code::InvalidName,
        Drive(_) | OlderCopy(_) => Code::DriveUnusable,
        NoAnswer(_) => Code::DriveHangs,
        NodeError::SameDrive(..) => Code::SameDrive,
        BeingErased { .. } | DriveOfPool { .. } | LostByPool { .. } | InUseElsewhere { .. } => {
            Code::DriveInUse
        }
        NodeError::Holds { .. } => Code::DriveHoldsData,
        NodeError::NoDrives => Code::NoDrives,
        NodeError::NoMembers { .. } | NodeError::NoneThere { .. } => Code::NoMembers,
        NodeError::SeveralPools { .. } => Code::SeveralPools,
        NodeError::Create(error) | NodeError::CreateDrive { error, .. } => of_create(error),
        NodeError::NoSuchDrive { .. } => Code::NoSuchDrive,
        FailDrive { .. } | RemoveDrive { .. } | ReplaceDrive { .. } => of_member(error),
        NodeError::ReturnDrive(_) | NodeError::NotLost { .. } => of_member(error),
        NodeError::Whereabouts(_) => Code::DrivePathUnknown,
        NodeError::AddDrive { error, .. } => of_add(error),
        NodeError::Taken { .. } => Code::PoolInUse,
        NodeError::Open { error, .. } => code_of_open(error),
        Grow(_) | Trim(_) | Capacity { .. } | OverPromised { .. } | Levels(_) => of_room(error),
        Shrinks { .. } => Code::ConfirmationNeeded,
        NodeError::Size(_) => Code::InvalidSize,
        NoZstd { .. } => Code::NoZstd,
        ShrinksProtected { .. } | WipesProtected { .. } => Code::WriteProtected,
        NodeError::ReadOnly { .. } => Code::PoolReadOnly,
        NodeError::AtomicAbove { .. } => Code::InvalidAtomic,
        NodeError::Qos(error) => of_policy(error),
        NodeError::Access { .. } | NodeError::TooManyHosts => of_access(error),
        NodeError::NoNumber => Code::NoNamespaceNumber,
        Stopped { .. } | Gone(_) | OpeningStopped { .. } => code_of_end(error),
    }
}

fn of_access(error: &NodeError) -> Code {
    match error {
        NodeError::TooManyHosts => Code::TooManyHosts,
        _ => Code::CannotChangeAccess,
    }
}

fn of_policy(error: &QosError) -> Code {
    match error {
        QosError::NoSuchPolicy { .. } => Code::NoSuchPolicy,
        QosError::PolicyExists { .. } => Code::PolicyExists,
        QosError::TooManyPolicies { .. } => Code::TooManyPolicies,
        QosError::PolicyInUse { .. } | QosError::PolicyIsDefault { .. } => Code::PolicyInUse,
        QosError::Invalid(_) => Code::InvalidPolicy,
        QosError::Unreadable { .. } => Code::PoolFailed,
    }
}

fn of_create(error: &CreateError) -> Code {
    match error {
        CreateError::Name(_) => Code::InvalidName,
        CreateError::Drive { error: Failure::Silent { .. }, .. } => Code::DriveHangs,
        CreateError::Drive { .. } | CreateError::FileSystemFull | CreateError::Checkpoint(_) => {
            Code::DriveUnusable
        }
        _ => Code::CannotCreate,
    }
}

fn of_add(error: &AddError) -> Code {
    match error {
        AddError::NoAnswer => Code::DriveHangs,
        AddError::Drive(_) => Code::DriveUnusable,
        AddError::Pool(error) | AddError::Unsettled { error, .. } => of_io(error),
        _ => Code::CannotAdd,
    }
}

fn of_return(error: &RejoinError) -> Code {
    match error {
        RejoinError::NoAnswer(_) => Code::DriveHangs,
        RejoinError::InUse { .. } => Code::DriveInUse,
        RejoinError::Add(error) => of_add(error),
        _ => Code::CannotReturn,
    }
}

fn of_member(error: &NodeError) -> Code {
    match error {
        FailDrive { error: FailError::Pool(error), .. }
        | RemoveDrive { error: RemoveError::Pool(error), .. } => of_io(error),
        NodeError::ReturnDrive(error) => of_return(error),
        NodeError::NotLost { .. } => Code::CannotReturn,
        FailDrive { .. } => Code::CannotFail,
        RemoveDrive { .. } => Code::CannotRemove,
        _ => Code::CannotReplace,
    }
}

fn of_capacity(error: &CapacityError) -> Code {
    match error {
        CapacityError::BelowProvisioned { .. } | CapacityError::AboveMax { .. } => {
            Code::InvalidCapacity
        }
        CapacityError::BelowPromised { .. } => Code::BelowPromised,
        CapacityError::Unsafe { .. } => Code::CapacityNotSafe,
        CapacityError::Pool(error) => of_io(error),
    }
}

fn of_room(error: &NodeError) -> Code {
    match error {
        Capacity { error, .. } => of_capacity(error),
        OverPromised { .. } => Code::OverPromised,
        Grow(_) => Code::CannotGrow,
        Levels(_) => Code::InvalidSetting,
        _ => Code::NoDriveDiscards,
    }
}

fn code_of_end(error: &NodeError) -> Code {
    if matches!(error, Stopped { .. }) { Code::PoolStopped } else { Code::Stopping }
}

fn code_of_open(error: &OpenError) -> Code {
    match error {
        OpenError::InUse { .. } | OpenError::Unsure => Code::PoolInUse,
        _ => Code::CannotOpen,
    }
}

fn of_io(error: &IoError) -> Code {
    match error.cause {
        Cause::Internal => Code::Internal,
        Cause::OutOfRange => Code::InvalidSize,
        Cause::Formatting => Code::VolumeFormatting,
        Cause::Sanitizing | Cause::SanitizeFailed => Code::VolumeSanitizing,
        Cause::NoSuchVolume => Code::NoSuchVolume,
        Cause::CapacityExceeded => Code::NoRoom,
        _ => Code::PoolFailed,
    }
}

fn classify_rename(error: &RenameError) -> Code {
    match error {
        RenameError::Name(_) => Code::InvalidName,
        RenameError::Pool(_) | RenameError::NotWritten | RenameError::Unsure => Code::PoolFailed,
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
            "a pool that is on drives already opens under a new name: `ashlar pool import POOL \
             --name NEW`; its UUID names it, too"
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
