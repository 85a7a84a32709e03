use std::net::SocketAddr;
use std::time::Duration;

use ashlar_nvme::pdu::Digests;

/// Who the host says that it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostIdentity {
    /// HOSTNQN.
    pub nqn: String,
    /// HOSTID; not all zeros.
    pub id: [u8; 16],
}

/// What happens when a connection breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReconnectPolicy {
    /// Pause between two attempts.
    pub delay: Duration,
    /// How long attempts go on before commands fail.
    pub give_up_after: Duration,
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        ReconnectPolicy {
            delay: Duration::from_millis(500),
            give_up_after: Duration::from_secs(600),
        }
    }
}

/// How to connect.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The portal.
    pub address: SocketAddr,
    /// The subsystem.
    pub subsystem_nqn: String,
    /// Who asks.
    pub host: HostIdentity,
    /// I/O queues, each a connection of its own; at least 1. The target may grant fewer.
    pub io_queues: u16,
    /// Entries of each I/O queue: one more than the commands it may have outstanding; at least 2.
    /// Bounded by what the target allows.
    pub queue_entries: u32,
    /// Digests to ask for.
    pub digests: Digests,
    /// Asks for SQ flow control to be off, which spares a response capsule per read.
    pub disable_sq_flow_control: bool,
    /// Keep alive timeout; zero for none. A Keep Alive goes out at half of it.
    pub keep_alive: Duration,
    /// How long the answer to a Keep Alive is waited for before the target counts as lost.
    pub keep_alive_patience: Duration,
    /// How long one connection may take until its queue is usable.
    pub connect_timeout: Duration,
    /// What happens when a connection breaks; commands fail if this is none.
    pub reconnect: Option<ReconnectPolicy>,
}

impl ConnectOptions {
    /// One I/O queue of 128 entries, no digests, a keep alive of 10 s whose answer is waited for as
    /// long, no reconnection.
    pub fn new(address: SocketAddr, subsystem_nqn: &str, host: HostIdentity) -> Self {
        ConnectOptions {
            address,
            subsystem_nqn: subsystem_nqn.to_owned(),
            host,
            io_queues: 1,
            queue_entries: 128,
            digests: Digests::NONE,
            disable_sq_flow_control: false,
            keep_alive: Duration::from_secs(10),
            keep_alive_patience: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            reconnect: None,
        }
    }
}
