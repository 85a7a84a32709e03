//! Telling systemd how far the daemon is: sd_notify(3), a datagram to the socket that NOTIFY_SOCKET
//! names.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The daemon serves.
pub fn ready() {
    send("READY=1");
}

/// The daemon reads its configuration again. It is [`ready`] afterwards.
pub fn reloading() {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
    send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
}

/// The daemon is ending.
pub fn stopping() {
    send("STOPPING=1");
}

fn send(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = try_send(name.as_encoded_bytes(), state) {
        tracing::warn!(%error, "systemd cannot be notified");
    }
}

fn try_send(name: &[u8], state: &str) -> std::io::Result<()> {
    let address = match name.strip_prefix(b"@") {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name)?,
        None => {
            use std::os::unix::ffi::OsStrExt;
            SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?
        }
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests;
