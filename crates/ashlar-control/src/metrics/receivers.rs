//! Who is told of events.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::{Family, Figure, In, Labels, Read, Snapshot, encode_figures, figure};
use crate::types::Receiver;

const OF_RECEIVER: &[&str] = &["receiver"];

const fn count(
    name: &'static str,
    help: &'static str,
    read: fn(&Receiver) -> u64,
) -> Figure<Receiver> {
    figure(Family::counter(name, In::Nothing, OF_RECEIVER, help), Read::Count(read))
}

const FIGURES: [Figure<Receiver>; 5] = [
    count(
        "ashlar_receiver_events_sent",
        "Events that the webhook or mail server has taken since the daemon started.",
        |it| it.sent_events,
    ),
    count(
        "ashlar_receiver_attempts_failed",
        "Times that it has not taken what was sent to it.",
        |it| it.failed_attempts,
    ),
    count(
        "ashlar_receiver_events_dropped",
        "Events that it has not taken and will not be sent any more: at least so many.",
        |it| it.dropped_events,
    ),
    figure(
        Family::gauge(
            "ashlar_receiver_events_queued",
            In::Nothing,
            OF_RECEIVER,
            "Events that are still to be sent to it: at least so many, as only those in the daemon's \
             memory count, the last 1024.",
        ),
        Read::Count(|it| it.queued_events),
    ),
    figure(
        Family::gauge(
            "ashlar_receiver_failing",
            In::Nothing,
            OF_RECEIVER,
            "1 if the last attempt has failed, otherwise 0.",
        ),
        Read::Is(|it| it.states.iter().any(|state| state == "failing")),
    ),
];

pub(super) fn families() -> Vec<Family> {
    FIGURES.iter().map(|figure| figure.family).collect()
}

pub(super) fn encode(of: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let labels = |it: &Receiver| -> Labels { vec![("receiver", it.name.clone())] };
    let all: Vec<(Labels, &Receiver)> = of.receivers.iter().map(|it| (labels(it), it)).collect();
    encode_figures(encoder, &FIGURES, &all)
}
