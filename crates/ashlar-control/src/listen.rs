//! The socket that the API is served on: the file system says who may connect.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use axum::Router;
use tokio::net::UnixListener;

use crate::changes::Peer;

/// Only the daemon's own user may speak to it.
const MODE: u32 = 0o600;
/// Longest path of a unix socket, in bytes (unix(7): sun_path less its NUL).
const PATH_BYTES_MAX: usize = 107;

/// A unix socket that listens, removed when dropped.
pub struct Socket {
    listener: Option<UnixListener>,
    path: PathBuf,
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
        let listener = UnixListener::bind(&path).and_then(|listener| {
            fs::set_permissions(&path, fs::Permissions::from_mode(MODE))?;
            Ok(listener)
        });
        match listener {
            Ok(listener) => Ok(Socket { listener: Some(listener), path }),
            Err(source) => Err(ListenError::Os { path, source }),
        }
    }

    /// Serves `router` until `stop` ends and the requests under way are answered.
    ///
    /// # Errors
    /// When the socket fails.
    pub async fn serve(
        mut self,
        router: Router,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let listener = self.listener.take().expect("a socket serves once");
        let service = router.into_make_service_with_connect_info::<Peer>();
        axum::serve(listener, service).with_graceful_shutdown(stop).await
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "removing the socket");
        }
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
