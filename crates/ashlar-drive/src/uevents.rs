//! The kernel's word that block devices come, go or change.
//!
//! A message may be lost, and in a container none may come at all: whoever listens looks by itself
//! now and then, too. Any process on the machine can send such a message; it leads to a look and to
//! nothing else.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use crate::machine::DeviceNumber;

/// The kernel's own messages, and those of udev, which come once the links to a device are there.
const GROUPS: u32 = 1 | 2;
/// Longest message that the kernel sends.
const MESSAGE_BYTES_MAX: usize = 8 << 10;
/// Messages that are taken at a time: after more, everything is looked at anyway.
const MESSAGES_MAX: usize = 4096;

/// What has happened to block devices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceChanges {
    /// These have come, gone or changed.
    pub devices: Vec<DeviceNumber>,
    /// Messages were lost: any may have.
    pub were_lost: bool,
}

/// Listens to the kernel.
pub struct Uevents {
    socket: OwnedFd,
}

impl Uevents {
    /// Listens from now on.
    ///
    /// # Errors
    /// Where the operating system does not offer that.
    pub fn listen() -> Result<Self, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::KOBJECT_UEVENT);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Uevents { socket })
    }

    /// What has come since the last time. Does not wait.
    pub fn take(&self) -> DeviceChanges {
        let mut changes = DeviceChanges::default();
        let mut message = [0; MESSAGE_BYTES_MAX];
        for _ in 0..MESSAGES_MAX {
            match recv(&self.socket, &mut message[..], RecvFlags::empty()) {
                Ok((bytes, _)) => changes.devices.extend(changed_device(&message[..bytes])),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => changes.were_lost = true,
                Err(_) => return changes,
            }
        }
        changes.were_lost = true;
        changes
    }
}

impl AsFd for Uevents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The block device that a message is about, if it is about one.
fn changed_device(message: &[u8]) -> Option<DeviceNumber> {
    let properties = match message.strip_prefix(b"libudev\0") {
        Some(_) => message.get(udev_properties_at(message)?..)?,
        None => message,
    };
    let all =
        || properties.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    let value = |key: &str| all().find_map(|text| text.strip_prefix(key)?.strip_prefix('='));
    if value("SUBSYSTEM") != Some("block") {
        return None;
    }
    let number = |key: &str| value(key)?.parse().ok();
    Some(DeviceNumber { major: number("MAJOR")?, minor: number("MINOR")? })
}

/// Where the properties begin in a message of udev: its header says so, in the machine's byte
/// order.
fn udev_properties_at(message: &[u8]) -> Option<usize> {
    const AT: usize = 16;
    let bytes = message.get(AT..AT + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?) as usize)
}

#[cfg(test)]
mod tests;
