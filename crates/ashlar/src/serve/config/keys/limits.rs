//! The keys of the table `[limits]`.

use std::time::Duration;

use super::{Key, Usual};

fn seconds(time: Duration) -> String {
    time.as_secs_f64().to_string()
}

pub const LIMITS: &[Key] = &[
    Key {
        name: "limits.connections_max",
        meaning: "TCP connections of one reactor. For another one the one closes that has not \
                  finished Connect for longest or, if there is none, the new one.",
        default: Usual::Words("1024, on a small machine less, and 256 at least"),
        range: "1 to 65535",
        example: "512",
        reloads: false,
        value: |config| config.limits.connections_max.to_string(),
    },
    Key {
        name: "limits.connecting_max",
        meaning: "Of these, connections that have not finished Connect. For another one the \
                  oldest of them closes.",
        default: Usual::Value("256"),
        range: "at least 1",
        example: "64",
        reloads: false,
        value: |config| config.limits.connecting_max.to_string(),
    },
    Key {
        name: "limits.io_queues_max",
        meaning: "I/O queues of one controller: a host opens a connection for each.",
        default: Usual::Value("64"),
        range: "1 to 65534",
        example: "16",
        reloads: false,
        value: |config| config.limits.io_queues_max.to_string(),
    },
    Key {
        name: "limits.queue_entries_max",
        meaning: "Entries of one queue, which is also how many commands it may have outstanding.",
        default: Usual::Value("1024"),
        range: "2 to 65536",
        example: "128",
        reloads: false,
        value: |config| config.limits.queue_entries_max.to_string(),
    },
    Key {
        name: "limits.transfer_bytes_max",
        meaning: "Data of one command.",
        default: Usual::Value("1048576"),
        range: "a power of two, 4096 to 16777216",
        example: "524288",
        reloads: false,
        value: |config| config.limits.transfer_bytes_max.to_string(),
    },
    Key {
        name: "limits.in_capsule_bytes_max",
        meaning: "Data of a write that may come within the capsule of its command.",
        default: Usual::Value("16384"),
        range: "a multiple of 16, 4096 to 65536",
        example: "8192",
        reloads: false,
        value: |config| config.limits.in_capsule_bytes_max.to_string(),
    },
    Key {
        name: "limits.in_capsule_total_bytes_max",
        meaning: "In-capsule data of all I/O queues of one reactor, if every entry of every queue \
                  brought the most that it may. A queue beyond it is refused. Memory is taken only \
                  as data come.",
        default: Usual::Words(
            "a sixth of the reactor's share of the memory, at most 4 GiB, and room for one queue \
             at least",
        ),
        range: "queue_entries_max to 4194304 times in_capsule_bytes_max",
        example: "268435456",
        reloads: false,
        value: |config| config.limits.in_capsule_total_bytes_max.to_string(),
    },
    Key {
        name: "limits.connection_bytes_max",
        meaning: "Data that one connection may have in memory, beside in-capsule data.",
        default: Usual::Value("16777216"),
        range: "at least four times transfer_bytes_max",
        example: "8388608",
        reloads: false,
        value: |config| config.limits.connection_bytes_max.to_string(),
    },
    Key {
        name: "limits.host_bytes_max",
        meaning: "Data that all connections of one host to one reactor may have in memory, beside \
                  in-capsule data. It is a part of reactor_bytes_max, so that a host which asks \
                  for much and then is silent stops itself alone.",
        default: Usual::Words("an eighth of reactor_bytes_max, and connection_bytes_max at least"),
        range: "at least connection_bytes_max",
        example: "67108864",
        reloads: false,
        value: |config| config.limits.host_bytes_max.to_string(),
    },
    Key {
        name: "limits.reactor_bytes_max",
        meaning: "Data of one reactor's connections in memory, beside in-capsule data.",
        default: Usual::Words(
            "a sixth of the reactor's share of the memory, at most 1 GiB, and \
             connection_bytes_max at least",
        ),
        range: "at least connection_bytes_max",
        example: "536870912",
        reloads: false,
        value: |config| config.limits.reactor_bytes_max.to_string(),
    },
    Key {
        name: "limits.handshake_timeout_seconds",
        meaning: "How long a connection may take until it has finished Connect.",
        default: Usual::Value("10"),
        range: "more than connect_wait_seconds",
        example: "20",
        reloads: false,
        value: |config| seconds(config.limits.handshake_timeout),
    },
    Key {
        name: "limits.connect_wait_seconds",
        meaning: "How long a Connect waits for what earlier connections of its host still do, \
                  before it is refused with Controller Busy.",
        default: Usual::Words("5, or half of handshake_timeout_seconds where that is less"),
        range: "1 to less than handshake_timeout_seconds",
        example: "3",
        reloads: false,
        value: |config| seconds(config.limits.connect_wait),
    },
    Key {
        name: "limits.transfer_timeout_seconds",
        meaning: "How long a host may take to send data that it was allowed to send, or to take \
                  what is sent to it, before its connection is ended.",
        default: Usual::Value("30"),
        range: "at least 1",
        example: "15",
        reloads: false,
        value: |config| seconds(config.limits.transfer_timeout),
    },
    Key {
        name: "limits.ready_wait_seconds",
        meaning: "How long a command waits for its volume to be ready before it is answered with \
                  Namespace Not Ready. Linux waits 30 seconds for an answer, so it is to be less.",
        default: Usual::Value("20"),
        range: "0 or more",
        example: "10",
        reloads: false,
        value: |config| seconds(config.limits.ready_wait),
    },
    Key {
        name: "limits.closing_timeout_seconds",
        meaning: "How long the end of a connection waits for the other side to take the last PDU.",
        default: Usual::Value("2"),
        range: "0 or more",
        example: "5",
        reloads: false,
        value: |config| seconds(config.limits.closing_timeout),
    },
    Key {
        name: "limits.keep_alive_min_seconds",
        meaning: "The shortest keep alive timeout. Shorter ones are raised to it.",
        default: Usual::Value("1"),
        range: "at least 1",
        example: "5",
        reloads: false,
        value: |config| seconds(config.limits.keep_alive_min),
    },
    Key {
        name: "limits.keep_alive_max_seconds",
        meaning: "The longest keep alive timeout. Longer ones are refused.",
        default: Usual::Value("600"),
        range: "keep_alive_min_seconds to 4294967",
        example: "120",
        reloads: false,
        value: |config| seconds(config.limits.keep_alive_max),
    },
    Key {
        name: "limits.health_interval_seconds",
        meaning: "How often a controller looks whether the health figures ask for a warning to \
                  its host.",
        default: Usual::Value("10"),
        range: "at least 1",
        example: "30",
        reloads: false,
        value: |config| seconds(config.limits.health_interval),
    },
];
