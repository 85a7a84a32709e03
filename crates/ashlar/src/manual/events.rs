//! `docs/events.md`: every kind of event, of the table that the daemon tells them by.

use std::fmt::Write as _;

use ashlar_control::types::Severity;
use ashlar_control::{
    EventKind, EventSubject, hint_of_drive_state, hint_of_pool_state, severity_of_drive_state,
    severity_of_pool_state,
};

use super::{cell, paragraph};
use crate::serve::state_words;

const HEAD: &str = "# Events

<!-- `ashlar man --page events` writes this page. -->

Every kind of event that the daemon tells of. A kind does not change once it was given out: scripts
and alarms may go by it. [What has happened](operations.md#what-has-happened) says how events are
found, [Notifications](notifications.md) who else is told of them. An event has these names, of
which those that do not apply are `null`: the [object `Event`](api-reference.md#event).

The daemon writes down what hosts and clients do as it happens, and so that a drive is lost or gives
no answers, and that a pool takes no writes any more: each is there, with its time, though it is
over within a moment. How pools, drives and long work are besides it looks for after each of these
and after each change, and every second or two: of what begins and ends between two looks there is
no event, and `time` is that of the look. What has happened since the last look before a crash is in
no log.

*Severity* is how bad such an event may be: `info` is to know, `warning` to look at, `error` to do
something about. Where several are named, the event says which. What an event says to do names its
own pool and drive.
";

const SUBJECTS: [(EventSubject, &str); 7] = [
    (EventSubject::Daemon, "Of the daemon"),
    (EventSubject::Receiver, "Of webhooks and mail"),
    (EventSubject::Change, "Of changes that clients ask for"),
    (EventSubject::Pool, "Of pools"),
    (EventSubject::Drive, "Of drives"),
    (EventSubject::Erase, "Of erases"),
    (EventSubject::Host, "Of hosts"),
];

/// The page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for (subject, heading) in SUBJECTS {
        let _ = writeln!(page, "\n## {heading}\n\n{}", about(subject));
        page += "| kind | severity | what it means | what to do |\n|---|---|---|---|\n";
        let kinds = EventKind::ALL.iter().filter(|kind| kind.subject() == subject);
        kinds.for_each(|kind| page += &row(*kind));
    }
    let (pools, drives) = state_words();
    page += &states(
        "States of pools",
        "`pool_state_entered` and `pool_state_left` have the state in `states`. `online`, \
         `rebuilding`, `need-rebuild`, `rebalancing`, `volatile` and `opening` are no events: \
         others tell of them, of `need-rebuild` `rebuild_stuck` once it has lasted a minute.",
        &pools,
        |state| (severity_of_pool_state(state), hint_of_pool_state(state)),
    );
    page +=
        &states("States of drives", "`drive_state` has the state in `states`.", &drives, |state| {
            (severity_of_drive_state(state), hint_of_drive_state(state))
        });
    page
}

/// What such an event names.
fn about(subject: EventSubject) -> &'static str {
    match subject {
        EventSubject::Daemon => "They name no object: they are about the daemon as a whole.\n",
        EventSubject::Receiver => "`receiver` names the webhook, or is `mail`.\n",
        EventSubject::Change => {
            "`operation` is what was asked for, as the command line calls it; `result` is `done`, \
             `failed`\n(it may be done in part) or `refused`; `pool` and `volume` are those that it \
             is about,\nif any; `uid` and `pid` who asked.\n"
        }
        EventSubject::Pool => "`pool` names the pool.\n",
        EventSubject::Drive => "`pool` names the pool, `drive` its drive, as `drive-2`.\n",
        EventSubject::Erase => {
            "`pool` names the pool, or that of which the drive was, `volume` the volume, and `host` \
             who has\nasked for it.\n"
        }
        EventSubject::Host => {
            "`host` is the host's NQN where the event is of one host; `address`, `controller_id` \
             and `reason`\nare those of its [connection](notifications.md#hosts).\n"
        }
    }
}

fn row(kind: EventKind) -> String {
    let severities: Vec<String> = kind.severities().iter().map(|it| word(*it)).collect();
    let (text, hint) = (cell(kind.text()), cell(kind.hint().unwrap_or_default()));
    format!("| `{}` | {} | {text} | {hint} |\n", kind.word(), severities.join(", "))
}

fn states(
    heading: &str,
    text: &str,
    words: &[&str],
    meaning: impl Fn(&str) -> (Severity, Option<&'static str>),
) -> String {
    let row = |state: &&str| {
        let (severity, hint) = meaning(state);
        format!("| `{state}` | {} | {} |\n", word(severity), cell(hint.unwrap_or_default()))
    };
    let rows: String = words.iter().map(row).collect();
    let text = paragraph(&format!("{text} [All states](operations.md) has what each means."));
    format!("\n## {heading}\n\n{text}\n\n| state | severity | what to do |\n|---|---|---|\n{rows}")
}

fn word(severity: Severity) -> String {
    format!("{severity:?}").to_lowercase()
}
