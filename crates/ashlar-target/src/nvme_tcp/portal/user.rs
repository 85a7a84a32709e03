//! Who has a port that is in use: the kernel's table of sockets leads to a socket, and the
//! descriptors of all processes to who has it. Of processes of other users only root sees the
//! descriptors.

use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The kernel's tables of TCP sockets: proc_net_tcp(5).
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/// The state of a socket that listens, as the tables have it.
const LISTENING: &str = "0A";

/// Another process, which has a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PortUser {
    pid: u32,
    name: Option<String>,
}

impl fmt::Display for PortUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "process {} ({name})", self.pid),
            None => write!(f, "process {}", self.pid),
        }
    }
}

impl PortUser {
    /// Who listens where `address` cannot be listened on; nobody if it is not to be found.
    pub(super) fn of(address: SocketAddr) -> Option<Self> {
        let tables = TABLES.iter().filter_map(|table| fs::read_to_string(table).ok());
        let sockets: Vec<String> = tables
            .flat_map(|table| listening(&table, address))
            .map(|inode| format!("socket:[{inode}]"))
            .collect();
        let processes = fs::read_dir("/proc")
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let others = processes.filter(|pid| *pid != std::process::id());
        let pid = others.into_iter().find(|pid| has_any(*pid, &sockets))?;
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        Some(PortUser { pid, name: name.map(|name| name.trim_end().to_owned()) })
    }
}

fn has_any(pid: u32, sockets: &[String]) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut targets = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    targets.any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
}

/// The inodes of the sockets in a table that listen where `address` would.
fn listening(table: &str, address: SocketAddr) -> Vec<u64> {
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (*fields.get(1)?, *fields.get(3)?, *fields.get(9)?);
        let meets = state == LISTENING && collide(parse(local)?, address);
        meets.then(|| inode.parse().ok())?
    };
    table.lines().filter_map(socket).collect()
}

/// Whether two sockets cannot listen at these addresses. One at the IPv6 wildcard may take IPv4 as
/// well.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let (at, wanted) = (one.ip().to_canonical(), other.ip().to_canonical());
    let is_everywhere =
        |ip: IpAddr, met: IpAddr| ip.is_unspecified() && (ip.is_ipv6() || met.is_ipv4());
    one.port() == other.port()
        && (at == wanted || is_everywhere(at, wanted) || is_everywhere(wanted, at))
}

/// An address as the tables have it: words of the address in the machine's byte order, a colon, the
/// port.
fn parse(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(8 * at..8 * (at + 1))?, 16).ok();
    let bytes = |words: usize| {
        (0..words).map(word).map(|word| Some(word?.to_ne_bytes())).collect::<Option<Vec<_>>>()
    };
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes(1)?.concat()).ok()?)),
        32 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes(4)?.concat()).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests;
