//! The socket that the API is served on: the file system says who may connect.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use crate::access::{Entrance, Role};

/// Only the daemon's own user may speak to it; or that user and a group.
const MODE: u32 = 0o600;
const MODE_WITH_GROUP: u32 = 0o660;
/// Longest path of a unix socket, in bytes (unix(7): sun_path less its NUL).
const PATH_BYTES_MAX: usize = 107;

/// A group whose members may speak to the daemon, beside its own user and root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketGroup {
    /// The group's number.
    pub gid: u32,
    /// What its members may do.
    pub role: Role,
}

/// A unix socket that listens, removed when dropped.
pub struct Socket {
    listener: UnixListener,
    place: SocketPlace,
}

/// Where a socket was bound.
#[derive(Clone, Debug)]
pub struct SocketPlace {
    path: PathBuf,
    /// Device and inode of what the path led to then: a socket's own descriptor does not tell them.
    id: (u64, u64),
    group: Option<SocketGroup>,
}

/// Why the socket cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A path that no socket can have.
    #[error("the socket's path {} has {} bytes, and Linux takes {PATH_BYTES_MAX}: choose a shorter one with --socket", path.display(), path.as_os_str().len())]
    TooLong {
        /// The path.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{} exists and is no socket: choose another path with --socket", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// Another daemon answers there.
    #[error("another daemon answers at {}: end it, or choose another path with --socket", path.display())]
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// Anything else.
    #[error("cannot listen on {}: {source}", path.display())]
    Os {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Socket {
    /// Listens at `path`, for members of the `group` as well. A socket that nobody answers at any
    /// more is replaced.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(path: &Path, group: Option<SocketGroup>) -> Result<Self, ListenError> {
        let path = path.to_owned();
        if path.as_os_str().len() > PATH_BYTES_MAX {
            return Err(ListenError::TooLong { path });
        }
        remove_abandoned(&path)?;
        let bound = UnixListener::bind(&path).and_then(|listener| {
            permit(&path, group)?;
            Ok((listener, id_at(&path)?))
        });
        match bound {
            Ok((listener, id)) => Ok(Socket { listener, place: SocketPlace { path, id, group } }),
            Err(source) => Err(ListenError::Os { path, source }),
        }
    }

    /// Where it was bound.
    pub fn place(&self) -> &SocketPlace {
        &self.place
    }

    /// The next client, by which way it has come.
    async fn accept(&self) -> io::Result<(UnixStream, Entrance)> {
        let (stream, _) = self.listener.accept().await?;
        let of_group = self.place.group.map_or(Role::Viewer, |group| group.role);
        let peer = stream.peer_cred()?;
        let own_uid = rustix::process::geteuid().as_raw();
        let entrance = Entrance::of_socket(peer.uid(), peer.pid(), own_uid, of_group);
        Ok((stream, entrance))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let SocketPlace { path, .. } = &self.place;
        // What is there by now may be another one's.
        if self.place.leads_to_it()
            && let Err(error) = fs::remove_file(path)
        {
            tracing::debug!(path = %path.display(), %error, "removing the socket");
        }
    }
}

impl SocketPlace {
    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The group whose members may speak to it.
    pub fn group(&self) -> Option<SocketGroup> {
        self.group
    }

    /// Whether the path still leads to the socket that was bound there.
    pub fn leads_to_it(&self) -> bool {
        id_at(&self.path).is_ok_and(|id| id == self.id)
    }
}

fn id_at(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// A socket, and those that take its place.
pub(crate) struct Renewable {
    socket: Socket,
    renewed: mpsc::Receiver<Socket>,
}

impl Renewable {
    pub fn new(socket: Socket, renewed: mpsc::Receiver<Socket>) -> Self {
        Renewable { socket, renewed }
    }

    pub async fn accept(&mut self) -> io::Result<(UnixStream, Entrance)> {
        loop {
            tokio::select! {
                accepted = self.socket.accept() => return accepted,
                Some(socket) = self.renewed.recv() => self.socket = socket,
            }
        }
    }
}

/// Lets those connect who may: nobody else could before that, by the usual mode of a new file.
fn permit(path: &Path, group: Option<SocketGroup>) -> io::Result<()> {
    let mode = match group {
        Some(SocketGroup { gid, .. }) => {
            std::os::unix::fs::chown(path, None, Some(gid))?;
            MODE_WITH_GROUP
        }
        None => MODE,
    };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn remove_abandoned(path: &Path) -> Result<(), ListenError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let path = path.to_owned();
    if !found.file_type().is_socket() {
        return Err(ListenError::NotASocket { path });
    }
    if std::os::unix::net::UnixStream::connect(&path).is_ok() {
        return Err(ListenError::InUse { path });
    }
    fs::remove_file(&path).map_err(|source| ListenError::Os { path, source })
}
