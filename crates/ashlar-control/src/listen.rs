//! The socket that the API is served on: the file system says who may connect.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use axum::Router;
use tokio::net::unix::SocketAddr;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use crate::changes::Peer;

/// Only the daemon's own user may speak to it.
const MODE: u32 = 0o600;
/// Longest path of a unix socket, in bytes (unix(7): sun_path less its NUL).
const PATH_BYTES_MAX: usize = 107;

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
    /// Listens at `path`. A socket that nobody answers at any more is replaced.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(path: &Path) -> Result<Self, ListenError> {
        let path = path.to_owned();
        if path.as_os_str().len() > PATH_BYTES_MAX {
            return Err(ListenError::TooLong { path });
        }
        remove_abandoned(&path)?;
        let bound = UnixListener::bind(&path).and_then(|listener| {
            fs::set_permissions(&path, fs::Permissions::from_mode(MODE))?;
            Ok((listener, id_at(&path)?))
        });
        match bound {
            Ok((listener, id)) => Ok(Socket { listener, place: SocketPlace { path, id } }),
            Err(source) => Err(ListenError::Os { path, source }),
        }
    }

    /// Where it was bound.
    pub fn place(&self) -> &SocketPlace {
        &self.place
    }

    /// Serves `router` until `stop` ends and the requests under way are answered. Each socket that
    /// `renewed` brings takes the place of the one before.
    ///
    /// # Errors
    /// When the socket fails.
    pub async fn serve(
        self,
        renewed: mpsc::Receiver<Socket>,
        router: Router,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let service = router.into_make_service_with_connect_info::<Peer>();
        let renewable = Renewable { socket: self, renewed };
        axum::serve(renewable, service).with_graceful_shutdown(stop).await
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

impl axum::serve::Listener for Renewable {
    type Io = UnixStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (UnixStream, SocketAddr) {
        loop {
            tokio::select! {
                accepted = axum::serve::Listener::accept(&mut self.socket.listener) => return accepted,
                Some(socket) = self.renewed.recv() => self.socket = socket,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.listener.local_addr()
    }
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
