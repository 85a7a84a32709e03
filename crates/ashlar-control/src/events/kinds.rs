//! Every kind of event, with what it means and what to do. Scripts and alarms rely on the words:
//! one that has been given out does not change.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::types::Severity;

/// The kinds: each with its word, what it is about, how bad it may be, what it means, and what to
/// do about it where something is.
macro_rules! kinds {
    ($($kind:ident $word:literal $subject:ident [$($severity:ident),+] $text:literal
        $(, $hint:literal)?;)*) => {
        /// What has happened.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum EventKind {
            $(#[doc = $text] $kind,)*
        }

        impl EventKind {
            /// All of them.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$kind),*];

            /// The word that goes over the wire.
            pub const fn word(self) -> &'static str {
                match self { $(EventKind::$kind => $word,)* }
            }

            /// What such an event is about.
            pub const fn subject(self) -> EventSubject {
                match self { $(EventKind::$kind => EventSubject::$subject,)* }
            }

            /// How bad such an event may be: it has one of these.
            pub const fn severities(self) -> &'static [Severity] {
                match self { $(EventKind::$kind => &[$(Severity::$severity),+],)* }
            }

            /// What it means.
            pub const fn text(self) -> &'static str {
                match self { $(EventKind::$kind => $text,)* }
            }

            /// What to do, of a POOL and a DRIVE; nothing where nothing is to be done.
            pub const fn hint(self) -> Option<&'static str> {
                match self { $(EventKind::$kind => hint!($($hint)?),)* }
            }
        }
    };
}

macro_rules! hint {
    () => {
        None
    };
    ($hint:literal) => {
        Some($hint)
    };
}

kinds! {
    // The daemon.
    DaemonStarted "daemon_started" Daemon [Info] "The daemon serves.";
    DaemonStopping "daemon_stopping" Daemon [Info] "The daemon is stopping.";
    StateNotWritten "state_not_written" Daemon [Warning]
        "The daemon cannot write down what it has to remember over its next start.",
        "the message says what is in the way, and what a start would not know";
    StateWritten "state_written" Daemon [Info]
        "The daemon has written down what it could not before.";
    NodeMoved "node_moved" Daemon [Warning] "The daemon's directory was made on another machine.",
        "if that machine still serves, end one of both: hosts would take them for one";
    EventsNotKept "events_not_kept" Daemon [Warning]
        "Events could not be written to the log on disk: they are in the daemon's memory alone.",
        "make room in the state directory, or see why it cannot be written";
    EventsKept "events_kept" Daemon [Info, Warning] "Events are written to the log on disk again.";
    AuditNotKept "audit_not_kept" Daemon [Warning]
        "Changes could not be written to the audit log on disk: it is in the daemon's memory alone.",
        "make room in the state directory, or see why it cannot be written";
    AuditKept "audit_kept" Daemon [Info, Warning]
        "Changes are written to the audit log on disk again.";
    ApiNotServed "api_not_served" Daemon [Error]
        "The API cannot be served to other machines. Hosts are served.",
        "the cause says why; the daemon tries again by itself";
    ApiServed "api_served" Daemon [Info]
        "The API is served to other machines, which it was not before.";
    AccountsUnreadable "accounts_unreadable" Daemon [Error]
        "Tokens and keys cannot be read: nobody is let in from other machines.",
        "the cause says why; the daemon reads them again by itself";
    AccountsRead "accounts_read" Daemon [Info] "Tokens and keys are known again.";
    AddressKeptOut "address_kept_out" Daemon [Warning]
        "Somebody on another machine has shown ten tokens within a minute that nobody knows.",
        "see who has that address: a client with an old token, or one who tries to come in";
    CertificateTaken "certificate_taken" Daemon [Info] "The API has taken another certificate.";
    CertificateRefused "certificate_refused" Daemon [Warning]
        "The API was to take another certificate, which cannot be used.",
        "the cause says why; `systemctl reload ashlar` has it read again";
    ReceiverFailed "receiver_failed" Receiver [Warning]
        "A webhook or mail server does not take events.",
        "the cause says why; `ashlar notify test NAME` tries it at once";
    ReceiverWorks "receiver_works" Receiver [Info] "A webhook or mail server takes events again.";
    EventsDropped "events_dropped" Receiver [Warning]
        "Events could not be given to a webhook or mail server, and are not sent to it any more.",
        "`ashlar events` has them; the cause says why they were not taken";
    Test "test" Receiver [Info]
        "Somebody has asked for a test of a webhook or of mail. It is in no log.";
    Change "change" Change [Info, Warning]
        "Somebody has asked for a change, which is done, has failed or is refused.";
    Changes "changes" Change [Info]
        "More changes were asked for than are told of one by one: the audit log has them.";

    // Pools.
    PoolOpened "pool_opened" Pool [Info] "A pool is open.";
    PoolClosed "pool_closed" Pool [Info] "A pool is closed, and no longer one of this node.";
    PoolStateEntered "pool_state_entered" Pool [Info, Warning, Error]
        "A pool is in a state that it was not in.";
    PoolStateLeft "pool_state_left" Pool [Info] "A pool is no longer in a state.";
    PoolFullSoon "pool_full_soon" Pool [Warning]
        "A pool is full within hours at the last hour's rate.",
        "delete or trim data, or add drives: `ashlar pool add-drive POOL /dev/...`";

    // Drives.
    DriveAdded "drive_added" Drive [Info] "A drive is a member of a pool.";
    DriveRemoved "drive_removed" Drive [Info] "A drive is no longer a member of a pool.";
    DriveState "drive_state" Drive [Info, Warning, Error] "How a drive of a pool is has changed.";
    DriveRefused "drive_refused" Drive [Warning]
        "A drive that was away is back, and its pool refuses it.",
        "the message says why; then `ashlar drive return POOL/DRIVE`";
    DriveHot "drive_hot" Drive [Warning, Error] "A drive is hotter than it should be.",
        "see to the airflow of its slot: hot drives throttle, and wear faster";
    DriveWorn "drive_worn" Drive [Warning, Error]
        "A drive has used up most of the writes that it is made for.",
        "plan to replace it: `ashlar pool replace POOL DRIVE /dev/...`";
    DriveSpareLow "drive_spare_low" Drive [Warning, Error] "A drive has few spare blocks left.",
        "replace it soon: `ashlar pool replace POOL DRIVE /dev/...`";
    DriveFailing "drive_failing" Drive [Warning, Error]
        "A drive says that it fails, or no longer takes writes.",
        "replace it now: `ashlar pool replace POOL DRIVE /dev/...`";
    DriveMediaErrors "drive_media_errors" Drive [Warning, Error]
        "A drive has more media errors than before.",
        "`ashlar pool scrub POOL` finds and repairs what cannot be read; replace the drive if they go on";
    DriveLinkDegraded "drive_link_degraded" Drive [Warning, Error]
        "A drive is connected by fewer lanes, or slower, than it can be.",
        "seat the drive anew, or try another slot";
    DriveWarningEnded "drive_warning_ended" Drive [Info]
        "A drive no longer warns of what it has warned of.";

    // Spares.
    SpareTaken "spare_taken" Drive [Info] "A spare has become a member of its pool.";
    SparesUsedUp "spares_used_up" Pool [Warning] "A pool has no spare left.",
        "give it another: `ashlar pool spare add POOL /dev/...`";
    SpareRefused "spare_refused" Pool [Error] "A spare cannot be taken.",
        "the message says why; `ashlar pool spare remove POOL DRIVE` forgets it";

    // Long work.
    RebuildBegan "rebuild_began" Pool [Info] "The pool restores what lived on a lost drive.";
    RebuildProgress "rebuild_progress" Pool [Info] "Another tenth of a rebuild is done.";
    RebuildEnded "rebuild_ended" Pool [Info] "All that lived on a lost drive is restored.";
    RebuildStuck "rebuild_stuck" Pool [Error]
        "For a minute nothing that lived on a lost drive could be restored: a further loss may cost data.",
        "the cause says why: it goes on by itself once lost drives are back, others are there (`ashlar pool add-drive POOL /dev/...`) or room is";
    RebuildGoesOn "rebuild_goes_on" Pool [Info]
        "A rebuild that did not go on does so again, or is over.";
    EvacuationBegan "evacuation_began" Pool [Info]
        "What lives on a drive that is to be removed goes to others.";
    EvacuationProgress "evacuation_progress" Pool [Info] "Another tenth of an evacuation is done.";
    EvacuationEnded "evacuation_ended" Pool [Info]
        "Nothing lives any more on a drive that is to be removed, or it stays: the message says which.";
    RebalanceBegan "rebalance_began" Pool [Info] "What lives is being spread over all drives.";
    RebalanceProgress "rebalance_progress" Pool [Info] "Another tenth of a rebalance is done.";
    RebalanceEnded "rebalance_ended" Pool [Info]
        "What lives is spread over all drives, or somebody has stopped that: the message says which.";
    ScrubFinished "scrub_finished" Pool [Info, Warning, Error] "A scrub has come to its end.";
    TrimFinished "trim_finished" Pool [Info, Warning] "A trim has come to its end.";
    VerifyFinished "verify_finished" Pool [Info, Warning, Error]
        "A proof of the ledger has come to its end.";

    // Data that was damaged.
    DataUnreadable "data_unreadable" Pool [Error] "Data of a pool could not be read right.",
        "bring lost drives back, then `ashlar pool scrub POOL`: it repairs what it can; what it cannot has to come from a copy";
    WrongDataRepaired "wrong_data_repaired" Pool [Warning]
        "Drives gave data wrong, which was made right from parity or copies.",
        "`ashlar pool scrub POOL` looks at all else that is stored; replace the drive if this goes on";

    // Erases.
    VolumeErased "volume_erased" Erase [Info]
        "A host has had a volume erased, by Format or Sanitize, or a start has gone on with that.";
    EraseFinished "erase_finished" Erase [Info]
        "A drive is erased whose pool was destroyed with `--secure`.";
    EraseFailed "erase_failed" Erase [Error] "A volume or a drive that was to be erased is not.",
        "the cause says why; what was to be erased may still be there, so see that it is done";

    // Hosts.
    HostConnected "host_connected" Host [Info] "A host has its first connection.";
    HostDisconnected "host_disconnected" Host [Info, Warning] "A host has no connection any more.";
    HostPathConnected "host_path_connected" Host [Info]
        "A host that is connected has made another controller.";
    HostPathDisconnected "host_path_disconnected" Host [Info, Warning]
        "A host has lost one of its controllers, and has others left.",
        "the reason says how; `ashlar host list` shows the paths that are left";
    HostReconnected "host_reconnected" Host [Info, Warning]
        "A host has connected and gone more often than is told of one by one.",
        "see to its network: the reasons say how its connections have ended";
    HostVisitsLost "host_visits_lost" Host [Warning]
        "Hosts have connected and gone faster than the daemon writes it down.";
    HostNqnShared "host_nqn_shared" Host [Warning]
        "Two hosts use one name at once: each sees the volumes of the other.",
        "give one of them a name of its own: `nvme gen-hostnqn > /etc/nvme/hostnqn` on it";
    Hosts "hosts" Host [Info, Warning] "More hosts have come or gone than are told of one by one.";
}

/// What an event is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EventSubject {
    /// The daemon, and what it keeps.
    Daemon,
    /// A webhook, or mail.
    Receiver,
    /// What a client has asked for; its pool and volume are named, where it has any.
    Change,
    /// A pool.
    Pool,
    /// A drive of a pool.
    Drive,
    /// What was erased.
    Erase,
    /// A host.
    Host,
}

/// What a kind of event means.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventMeaning {
    /// The kind.
    pub kind: String,
    /// What it means.
    pub detail: String,
    /// What to do, of a POOL and a DRIVE; null where nothing is to be done, or the state says it.
    pub hint: Option<String>,
}

impl EventKind {
    /// The kind with that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// What it means.
    pub(crate) fn meaning(self) -> EventMeaning {
        EventMeaning {
            kind: self.word().to_owned(),
            detail: self.text().to_owned(),
            hint: self.hint().map(str::to_owned),
        }
    }
}

/// What to do about a POOL that is in this state.
pub fn hint_of_pool_state(state: &str) -> Option<&'static str> {
    Some(match state {
        "degraded" => {
            "`ashlar pool show POOL` names the lost drive: bring it back, or replace it \
             (`ashlar pool replace`); a spare is taken by itself"
        }
        "read-only" => {
            "`ashlar drive return POOL/DRIVE` of a drive that is back, or another one: `ashlar pool \
             add-drive POOL /dev/...`; writes go on at once"
        }
        "unavailable" => "bring the missing drives back, then `ashlar pool import POOL`",
        "taken" => "another machine has opened its drives: see which one is to have them",
        "uncertain" => "bring the drives back that do not answer: what is acknowledged is kept",
        "nearly-full" | "throttled" | "full" => {
            "delete or trim data, or add drives: `ashlar pool add-drive POOL /dev/...`"
        }
        "out-of-room" => "make room in the file system that holds the pool's files",
        "short-for-loss" => "delete or trim data, or add a drive, before one is lost",
        _ => return None,
    })
}

/// How bad it is that a pool is in this state.
pub fn severity_of_pool_state(state: &str) -> Severity {
    match state {
        "unavailable" | "read-only" | "taken" | "uncertain" | "full" | "out-of-room" => {
            Severity::Error
        }
        "degraded" | "nearly-full" | "throttled" | "short-for-loss" => Severity::Warning,
        _ => Severity::Info,
    }
}

/// How bad it is that a drive is in this state.
pub fn severity_of_drive_state(state: &str) -> Severity {
    match state {
        "failed" | "absent" => Severity::Error,
        "stale" | "slow" => Severity::Warning,
        _ => Severity::Info,
    }
}

/// What to do about a DRIVE that is in this state.
pub fn hint_of_drive_state(state: &str) -> Option<&'static str> {
    Some(match state {
        "failed" => "replace it: `ashlar pool replace POOL DRIVE /dev/...`",
        "absent" => {
            "see to its slot and cable; it comes back by itself, or `ashlar drive return POOL/DRIVE`"
        }
        "stale" => "what it holds is old: `ashlar drive return POOL/DRIVE` restores it",
        "slow" => "`ashlar iostat -v POOL` shows how slow; replace it if that lasts",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
