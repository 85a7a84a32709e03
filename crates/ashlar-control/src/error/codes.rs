//! Every code of an error, with its status and what it means. Scripts rely on the words: one that
//! has been given out does not change.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::routes::API_ROOT;

/// The codes: each with its word, its status, its title, and what it means.
macro_rules! codes {
    ($($code:ident $word:literal $status:ident $title:literal, $text:literal;)*) => {
        /// Which error it is.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ErrorCode {
            $(#[doc = $text] $code,)*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$code),*];

            /// The word that goes over the wire.
            pub const fn word(self) -> &'static str {
                match self { $(ErrorCode::$code => $word,)* }
            }

            /// The status of an answer with it.
            pub const fn status(self) -> StatusCode {
                match self { $(ErrorCode::$code => StatusCode::$status,)* }
            }

            /// What it means, in some words.
            pub const fn title(self) -> &'static str {
                match self { $(ErrorCode::$code => $title,)* }
            }

            /// What it means to whoever gets it.
            pub const fn text(self) -> &'static str {
                match self { $(ErrorCode::$code => $text,)* }
            }
        }
    };
}

codes! {
    // The request itself.
    UnknownPath "unknown_path" NOT_FOUND "No such path",
        "The API has no such path.";
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "Method not allowed",
        "The path does not take this method: the header Allow says which it takes.";
    InvalidRequest "invalid_request" BAD_REQUEST "Request not understood",
        "The path or the head of the request is not understood.";
    InvalidQuery "invalid_query" BAD_REQUEST "Query not understood",
        "The query has something that the operation does not take.";
    InvalidBody "invalid_body" BAD_REQUEST "Body not understood",
        "The body is not the object that the operation takes.";
    Unauthenticated "unauthenticated" UNAUTHORIZED "Not known who asks",
        "Whoever comes by the network has to show a token.";
    TooManyAttempts "too_many_attempts" TOO_MANY_REQUESTS "Too many attempts",
        "Too many tokens were shown from there that are not known, or too much was asked for \
         without one.";
    Forbidden "forbidden" FORBIDDEN "Not allowed",
        "The caller's role may not ask for this.";
    BodyTooLarge "body_too_large" PAYLOAD_TOO_LARGE "Body too large",
        "The body has more than 2MiB.";
    ConfirmationNeeded "confirmation_needed" CONFLICT "Confirmation needed",
        "The request costs something, which the detail names: confirm=true accepts that.";
    PreconditionFailed "precondition_failed" PRECONDITION_FAILED "Changed meanwhile",
        "The pool or volume is not the version that If-Match names: somebody has changed it.";
    IdempotencyKeyReused "idempotency_key_reused" UNPROCESSABLE_ENTITY "Key used for another request",
        "The Idempotency-Key was sent with another request before.";
    NoSuchError "no_such_error" NOT_FOUND "No such error code",
        "The API has no such code of an error.";

    // What the request says.
    InvalidName "invalid_name" BAD_REQUEST "Invalid name",
        "A pool or volume cannot have this name.";
    InvalidLevel "invalid_level" BAD_REQUEST "Invalid level",
        "There is no such level of redundancy.";
    InvalidChunk "invalid_chunk" BAD_REQUEST "Invalid chunk size",
        "A chunk cannot have this size.";
    InvalidSetting "invalid_setting" BAD_REQUEST "Invalid setting",
        "A setting cannot have this value.";
    InvalidCapacity "invalid_capacity" BAD_REQUEST "Invalid capacity",
        "A pool cannot be formatted to this.";
    InvalidSize "invalid_size" BAD_REQUEST "Invalid size",
        "A volume cannot have this size.";
    InvalidLbaSize "invalid_lba_size" BAD_REQUEST "Invalid sector size",
        "A volume cannot have sectors of this size.";
    InvalidCompression "invalid_compression" BAD_REQUEST "Invalid compression",
        "There is no such way to store blocks.";
    InvalidAtomic "invalid_atomic" BAD_REQUEST "Invalid atomic write size",
        "Hosts cannot be told of atomic writes of this size.";
    InvalidHost "invalid_host" BAD_REQUEST "Invalid host name",
        "This is no name of a host, or no host is named.";
    InvalidPolicy "invalid_policy" BAD_REQUEST "Invalid policy",
        "A policy cannot say this, or have this name.";
    TooManyHosts "too_many_hosts" BAD_REQUEST "Too many hosts",
        "An access list has no room for so many hosts.";
    NothingToChange "nothing_to_change" BAD_REQUEST "Nothing to change",
        "The request names nothing that is to change.";
    NoDrives "no_drives" BAD_REQUEST "No drive given",
        "The request names no drive.";
    SameDrive "same_drive" BAD_REQUEST "Same drive twice",
        "Two drives of the request are the same one, or lie on each other.";
    SeveralPools "several_pools" BAD_REQUEST "Several pools found",
        "The drives belong to several pools, and the request does not say which is meant.";
    DirectoryUnreadable "directory_unreadable" BAD_REQUEST "Directory cannot be read",
        "A directory that drives are to be looked for in cannot be read.";
    CannotCreate "cannot_create" BAD_REQUEST "Pool cannot be made",
        "A pool of these drives cannot be made.";

    InvalidKey "invalid_key" BAD_REQUEST "Invalid key",
        "This is no public key that can check a signature.";

    // What is not there.
    NoSuchPool "no_such_pool" NOT_FOUND "No such pool",
        "The node has no pool of this name.";
    NoSuchVolume "no_such_volume" NOT_FOUND "No such volume",
        "The pool has no volume of this name.";
    NoSuchDrive "no_such_drive" NOT_FOUND "No such drive",
        "The pool has no drive of this name.";
    NoSuchPolicy "no_such_policy" NOT_FOUND "No such policy",
        "The pool has no policy of this name.";
    NoSuchSpare "no_such_spare" NOT_FOUND "No such spare",
        "The pool has no such spare.";
    NoSuchName "no_such_name" NOT_FOUND "No such name",
        "No pool, volume or drive has this name.";
    NoMembers "no_members" NOT_FOUND "No member of the pool",
        "None of the drives is one of the pool's.";

    NoSuchReceiver "no_such_receiver" NOT_FOUND "No such receiver of events",
        "The configuration has no webhook of this name, or no mail.";
    NoSuchToken "no_such_token" NOT_FOUND "No such token",
        "The node has no token of this name.";
    NoSuchKey "no_such_key" NOT_FOUND "No such key",
        "The node has no key of this name.";

    // What stands against it.
    TokenExists "token_exists" CONFLICT "Token exists",
        "The node has a token of this name.";
    KeyExists "key_exists" CONFLICT "Key exists",
        "The node has a key of this name.";
    TooManyAccounts "too_many_accounts" CONFLICT "Too many accounts",
        "The node has as many tokens or keys as it can have.";
    DrivePathUnknown "drive_path_unknown" CONFLICT "Path of the drive not known",
        "The node does not know where the drive is: the request has to name its path.";
    CannotAdd "cannot_add" CONFLICT "Drive cannot be added",
        "The pool cannot take this drive: it is too small, or the pool has as much as it can have.";
    PoolExists "pool_exists" CONFLICT "Pool exists",
        "The node has a pool of this name.";
    VolumeExists "volume_exists" CONFLICT "Volume exists",
        "The pool has a volume of this name.";
    PolicyExists "policy_exists" CONFLICT "Policy exists",
        "The pool has a policy of this name.";
    PolicyInUse "policy_in_use" CONFLICT "Policy in use",
        "Volumes name the policy, or it is the default of its pool.";
    TooManyPolicies "too_many_policies" CONFLICT "Too many policies",
        "The pool has as many policies as it can have.";
    DriveUnusable "drive_unusable" CONFLICT "Drive cannot be used",
        "A drive cannot be opened, read or written, or holds an old copy of a pool's drive.";
    DriveInUse "drive_in_use" CONFLICT "Drive in use",
        "A drive is used: by a pool, by another process or machine, or it is being erased.";
    DriveHoldsData "drive_holds_data" CONFLICT "Drive holds data",
        "A drive holds something that would be lost.";
    IsSpare "is_spare" CONFLICT "Drive is a spare",
        "A drive is a spare of a pool.";
    AnotherDrive "another_drive" CONFLICT "Another drive is there",
        "Another drive is where the spare was.";
    NoLabel "no_label" CONFLICT "No label",
        "The drive carries no label of Ashlar.";
    NoSlot "no_slot" CONFLICT "No slot with a light",
        "The kernel knows no slot of the drive whose light it can switch.";
    CannotFail "cannot_fail" CONFLICT "Drive cannot be given up",
        "The pool cannot do without this drive now.";
    CannotRemove "cannot_remove" CONFLICT "Drive cannot be removed",
        "The pool has no room, or not drives enough, without this one.";
    CannotReplace "cannot_replace" CONFLICT "Drive cannot be replaced",
        "The drive cannot take the place of the other one.";
    CannotReturn "cannot_return" CONFLICT "Drive cannot return",
        "The pool has not lost this drive, or cannot take it back.";
    CannotGrow "cannot_grow" CONFLICT "Pool cannot grow",
        "The room of the drives cannot be taken.";
    CannotOpen "cannot_open" CONFLICT "Pool cannot be opened",
        "The pool on the drives cannot be opened.";
    PoolInUse "pool_in_use" CONFLICT "Pool in use",
        "Another machine has the pool open, or may have.";
    PoolInMemory "pool_in_memory" CONFLICT "Pool in memory",
        "The pool has drives in memory, of which nothing is left once it is closed.";
    NoSuchJob "no_such_job" NOT_FOUND "No such job",
        "There is no such job, or none any more.";
    CannotStop "cannot_stop" CONFLICT "Cannot be stopped",
        "The job cannot be stopped: the detail says why.";
    NoDriveDiscards "no_drive_discards" CONFLICT "No drive can be trimmed",
        "None of the drives can be told which space is free.";
    BelowPromised "below_promised" CONFLICT "Less than is promised",
        "Volumes are promised more than that.";
    CapacityNotSafe "capacity_not_safe" CONFLICT "Capacity not safe",
        "What is stored does not compress well enough for that.";
    OverPromised "over_promised" CONFLICT "More than is formatted",
        "Volumes would be promised more than the pool is formatted with.";
    NoZstd "no_zstd" CONFLICT "Pool without zstd",
        "The pool was made by a version that has no zstd.";
    WriteProtected "write_protected" CONFLICT "Volume is write protected",
        "The volume is write protected.";
    CannotChangeAccess "cannot_change_access" CONFLICT "Access cannot be changed so",
        "The access list does not allow this change.";
    NoNamespaceNumber "no_namespace_number" CONFLICT "No namespace number left",
        "The node has as many volumes as hosts can number.";
    VolumeFormatting "volume_formatting" CONFLICT "Volume is being formatted",
        "A host formats the volume.";
    VolumeSanitizing "volume_sanitizing" CONFLICT "Volume is being sanitized",
        "A host sanitizes the volume, or that has failed.";

    // What cannot be done now.
    PoolOpening "pool_opening" SERVICE_UNAVAILABLE "Pool is being opened",
        "The pool is being opened, or waits for its drives.";
    PoolUnavailable "pool_unavailable" SERVICE_UNAVAILABLE "Pool is not open",
        "The pool could not be opened.";
    PoolStopped "pool_stopped" SERVICE_UNAVAILABLE "Pool has stopped",
        "The work of the pool has ended by a fault: the daemon goes on without it.";
    PoolFailed "pool_failed" SERVICE_UNAVAILABLE "Pool cannot do it now",
        "The pool cannot read or write what it needs for that.";
    PoolReadOnly "pool_read_only" SERVICE_UNAVAILABLE "Pool is read-only",
        "The pool takes no changes now.";
    NoRoom "no_room" INSUFFICIENT_STORAGE "No room",
        "The pool has no room for that.";
    LightFails "light_fails" BAD_GATEWAY "Light cannot be switched",
        "The enclosure or the kernel refuses to switch the light of a slot.";
    DriveHangs "drive_hangs" SERVICE_UNAVAILABLE "Drive does not answer",
        "A drive does not answer, or cannot be looked at.";
    DriveAbsent "drive_absent" SERVICE_UNAVAILABLE "Drive is not there",
        "The drive is not there, so nothing is known of it.";
    StateNotWritten "state_not_written" SERVICE_UNAVAILABLE "State not written",
        "The daemon cannot write down what it has to remember.";
    LogUnreadable "log_unreadable" SERVICE_UNAVAILABLE "Log cannot be read",
        "What is written down cannot be read now.";
    ReceiverFailed "receiver_failed" BAD_GATEWAY "Receiver does not take it",
        "The webhook or mail server does not take the test.";
    TooManyClients "too_many_clients" SERVICE_UNAVAILABLE "Too many clients",
        "So many clients are connected to the socket that there is no place for one more.";
    TooManyFollowers "too_many_followers" SERVICE_UNAVAILABLE "Too many followers",
        "So many clients follow the events that there is no place for one more.";
    Stopping "stopping" SERVICE_UNAVAILABLE "Daemon is stopping",
        "The daemon is stopping.";
    Internal "internal" INTERNAL_SERVER_ERROR "Fault in Ashlar",
        "Ashlar itself is wrong: its log says more.";
}

/// What a code of an error means.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorMeaning {
    /// The code.
    pub code: String,
    /// The status of answers with it.
    pub status: u16,
    /// What it means, in some words.
    pub title: String,
    /// What it means to whoever gets it.
    pub detail: String,
}

impl ErrorCode {
    /// The code with that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.word() == word)
    }

    /// Whether some of a change may be done that ends with it: the daemon, a pool or a drive has
    /// failed on the way. All others are said before anything is done.
    pub(crate) fn may_come_midway(self) -> bool {
        use ErrorCode::{DriveHangs, Internal, PoolFailed, PoolStopped, StateNotWritten, Stopping};
        matches!(
            self,
            DriveHangs | Internal | PoolFailed | PoolStopped | StateNotWritten | Stopping
        )
    }

    /// Where the API says what it means.
    pub(super) fn address(self) -> String {
        format!("{API_ROOT}/errors/{}", self.word())
    }

    /// What it means.
    pub(crate) fn meaning(self) -> ErrorMeaning {
        ErrorMeaning {
            code: self.word().to_owned(),
            status: self.status().as_u16(),
            title: self.title().to_owned(),
            detail: self.text().to_owned(),
        }
    }
}
