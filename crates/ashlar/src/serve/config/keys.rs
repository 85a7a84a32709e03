//! Every key of the configuration file, once: what help, documents and `ashlar config` say of it,
//! and what a reload compares.

use ashlar_target::nvme_tcp::PortalKind;
use serde::Serialize;

use super::Config;

mod document;
mod limits;
mod receivers;

pub use document::{PAGE_COLUMNS, example, markdown, wrapped};

/// A key of the configuration file.
#[derive(Serialize, Debug)]
pub struct Key {
    /// Its name, with its table: `limits.connections_max`.
    pub name: &'static str,
    /// What it says, in sentences.
    pub meaning: &'static str,
    /// What holds without it.
    pub default: Usual,
    /// What it may say.
    pub range: &'static str,
    /// A value that is not the default, as it stands in the file.
    pub example: &'static str,
    /// Whether a running daemon takes a change when it reads its file again (SIGHUP).
    pub reloads: bool,
    /// What a configuration has in its place, as text.
    #[serde(skip)]
    pub value: fn(&Config) -> String,
}

/// What holds where nothing is said.
#[derive(Clone, Copy, Serialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Usual {
    /// A value, as it stands in the file.
    Value(&'static str),
    /// What follows from something else, in words.
    Words(&'static str),
}

impl Usual {
    /// As people read it.
    pub fn text(self) -> &'static str {
        match self {
            Usual::Value(text) | Usual::Words(text) => text,
        }
    }
}

/// All keys, in the order of the file: first those in no table.
pub fn all() -> impl Iterator<Item = &'static Key> {
    TOP.iter().chain(limits::LIMITS).chain(receivers::RECEIVERS)
}

fn portals(config: &Config, kind: PortalKind) -> String {
    let portals = config.portals.iter().filter(|portal| portal.kind == kind);
    format!("{:?}", portals.map(|portal| portal.address).collect::<Vec<_>>())
}

const TOP: &[Key] = &[
    Key {
        name: "listen",
        meaning: "Where hosts connect. 0.0.0.0 takes all IPv4 addresses of the machine, [::] all \
                  of IPv6. There is no encryption and no authentication yet, so listen where only \
                  your hosts are.",
        default: Usual::Value("[\"127.0.0.1:4420\"]"),
        range: "a list of IP:PORT, at least one",
        example: "[\"0.0.0.0:4420\", \"[::]:4420\"]",
        reloads: false,
        value: |config| portals(config, PortalKind::Io),
    },
    Key {
        name: "discovery",
        meaning: "Where the discovery service listens in addition. \"none\" leaves it out: the \
                  addresses of listen serve discovery, too.",
        default: Usual::Value("\"127.0.0.1:8009\""),
        range: "IP:PORT, a list of them, or \"none\"",
        example: "\"0.0.0.0:8009\"",
        reloads: false,
        value: |config| portals(config, PortalKind::Discovery),
    },
    Key {
        name: "socket",
        meaning: "Where the daemon answers the commands of `ashlar`. The unit of the package sets \
                  --socket, which goes before this key.",
        default: Usual::Words("ashlar.sock in the state directory"),
        range: "a path",
        example: "\"/run/ashlar/ashlar.sock\"",
        reloads: false,
        value: |config| config.socket.display().to_string(),
    },
    Key {
        name: "socket_group",
        meaning: "The group whose members may use the socket as well. Without it only the daemon's \
                  own user and root may. The unit of the package sets --socket-group ashlar, which \
                  goes before this key.",
        default: Usual::Words("none"),
        range: "a group of the machine",
        example: "\"ashlar\"",
        reloads: false,
        value: |config| format!("{:?}", config.socket_group),
    },
    Key {
        name: "socket_group_role",
        meaning: "What members of that group may do: look (viewer), also change what can be \
                  changed back (operator), or all (admin).",
        default: Usual::Value("\"operator\""),
        range: "\"viewer\", \"operator\" or \"admin\"",
        example: "\"viewer\"",
        reloads: false,
        value: |config| config.socket_group_role.to_string(),
    },
    Key {
        name: "api_listen",
        meaning: "Where the API and the dashboard are served to other machines, with TLS. Whoever \
                  comes there shows a token, which `ashlar token create` makes.",
        default: Usual::Value("[]"),
        range: "IP:PORT, or a list of them",
        example: "\"0.0.0.0:8443\"",
        reloads: false,
        value: |config| format!("{:?}", config.network.addresses),
    },
    Key {
        name: "api_certificate",
        meaning: "A file in PEM with the certificate that clients meet there, those that lead to \
                  its authority, and its private key. Without it the daemon makes its own, which \
                  clients know by its fingerprint (`ashlar session`).",
        default: Usual::Words("the daemon's own, in tls in the state directory"),
        range: "a path",
        example: "\"/etc/ashlar/api.pem\"",
        reloads: false,
        value: |config| format!("{:?}", config.network.certificate),
    },
    Key {
        name: "reactors",
        meaning: "Threads that serve. Each pool runs on one of them, so more reactors than pools \
                  gain nothing.",
        default: Usual::Value("1"),
        range: "1 to 64",
        example: "2",
        reloads: false,
        value: |config| config.reactors.to_string(),
    },
    Key {
        name: "spin_us",
        meaning: "How many microseconds a reactor looks for work before it sleeps: less latency \
                  for more processor time.",
        default: Usual::Value("0"),
        range: "0 to 10000",
        example: "50",
        reloads: false,
        value: |config| config.spin.as_micros().to_string(),
    },
    Key {
        name: "map_memory_bytes",
        meaning: "Memory for the map of each pool: two pools take twice as much.",
        default: Usual::Words(
            "5 % of the memory, at least 256MiB or, where that is less, an eighth of the memory",
        ),
        range: "a size or a number of bytes, at least 16MiB",
        example: "\"512MiB\"",
        reloads: false,
        value: |config| config.store.map_memory_bytes.to_string(),
    },
    Key {
        name: "over_provisioning_percent",
        meaning: "The part of the usable space that is kept free for garbage collection. Less \
                  gives more room, and more work for each write.",
        default: Usual::Value("23"),
        range: "15 to 90",
        example: "30",
        reloads: false,
        value: |config| config.store.over_provisioning_percent.to_string(),
    },
    Key {
        name: "cold_after_seconds",
        meaning: "How long ago data was written that is cold: volumes with the compression auto \
                  then have it compressed again by zstd.",
        default: Usual::Value("3600"),
        range: "0 to 315360000, ten years",
        example: "86400",
        reloads: false,
        value: |config| config.store.cold_after.as_secs().to_string(),
    },
    Key {
        name: "member_wait_seconds",
        meaning: "How long the opening of a pool waits for drives that the pool had when it was \
                  last open. Other pools, and hosts, do not wait.",
        default: Usual::Value("10"),
        range: "0 to 3600",
        example: "60",
        reloads: false,
        value: |config| config.member_wait.as_secs().to_string(),
    },
    Key {
        name: "log",
        meaning: "What is logged: a level (error, warn, info, debug, trace), or levels by module. \
                  RUST_LOG in the environment goes before it.",
        default: Usual::Value("\"info\""),
        range: "a level, or a list of MODULE=LEVEL",
        example: "\"info,ashlar_store=debug\"",
        reloads: true,
        value: |config| config.log.clone(),
    },
    Key {
        name: "log_format",
        meaning: "How the lines of the log are written: for people, or for programs as an object \
                  of JSON on each line, with timestamp, level, message and target.",
        default: Usual::Value("\"text\""),
        range: "\"text\" or \"json\"",
        example: "\"json\"",
        reloads: true,
        value: |config| config.log_format.to_string(),
    },
    Key {
        name: "drive_directories",
        meaning: "Further directories in which drives that are files are looked for, beside block \
                  devices and the places where drives of pools were last seen.",
        default: Usual::Value("[]"),
        range: "a list of whole paths",
        example: "[\"/srv/ashlar\"]",
        reloads: false,
        value: |config| format!("{:?}", config.drive_directories),
    },
    Key {
        name: "auto_rejoin",
        meaning: "Whether a drive that was away comes back to its open pool by itself.",
        default: Usual::Value("true"),
        range: "true or false",
        example: "false",
        reloads: false,
        value: |config| config.auto_rejoin.to_string(),
    },
    Key {
        name: "drive_poll_seconds",
        meaning: "How many seconds pass between two questions to a drive for its health.",
        default: Usual::Value("60"),
        range: "1 to 86400",
        example: "300",
        reloads: false,
        value: |config| config.health.interval.as_secs().to_string(),
    },
    Key {
        name: "drive_hot_celsius",
        meaning: "The temperature from which on there is a warning of a drive.",
        default: Usual::Words(
            "what the drive says itself, else 70, or 55 where the drive has platters",
        ),
        range: "1 to 120",
        example: "60",
        reloads: false,
        value: |config| format!("{:?}", config.health.thresholds.hot_celsius),
    },
    Key {
        name: "drive_worn_percent",
        meaning: "The part of a drive's life from which on there is a warning of its wear.",
        default: Usual::Value("90"),
        range: "1 to 100",
        example: "80",
        reloads: false,
        value: |config| config.health.thresholds.worn_percent.to_string(),
    },
];

#[cfg(test)]
mod tests;
