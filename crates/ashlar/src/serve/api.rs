//! The socket of the API, which a state directory that cannot be written may have no room for.

use std::io;
use std::path::PathBuf;

use ashlar_control::{ListenError, Socket};
use axum::Router;
use tokio::sync::oneshot;

use super::Config;
use super::state::{RETRY_INTERVAL, StateDir};

/// The API's socket, made or to be made.
pub enum ApiSocket {
    /// It listens.
    Bound(Socket),
    /// It cannot be made there now.
    Later(PathBuf),
}

/// Makes the socket. One in a state directory that cannot be written may come later: hosts are
/// served meanwhile.
///
/// # Errors
/// When it cannot be made for another reason.
pub fn bind(config: &Config, state: &StateDir) -> Result<ApiSocket, ListenError> {
    let is_in_state_dir = config.socket.parent() == Some(config.state.as_path());
    match Socket::bind(&config.socket) {
        Ok(socket) => Ok(ApiSocket::Bound(socket)),
        Err(error @ ListenError::Os { .. }) if is_in_state_dir && state.warning().is_some() => {
            tracing::error!(
                "{error}: hosts are served, and no command is answered until the state directory \
                 can be written, which is tried again by itself; --socket names another place"
            );
            Ok(ApiSocket::Later(config.socket.clone()))
        }
        Err(error) => Err(error),
    }
}

impl ApiSocket {
    /// Serves `router`, once there is a socket, until somebody says stop and the requests under way
    /// are answered.
    ///
    /// # Errors
    /// When the socket fails.
    pub async fn serve(self, router: Router, mut stopped: oneshot::Receiver<()>) -> io::Result<()> {
        let socket = match self {
            ApiSocket::Bound(socket) => socket,
            ApiSocket::Later(path) => tokio::select! {
                socket = made(path) => socket,
                _ = &mut stopped => return Ok(()),
            },
        };
        socket.serve(router, async move { drop(stopped.await) }).await
    }
}

async fn made(path: PathBuf) -> Socket {
    loop {
        tokio::time::sleep(RETRY_INTERVAL).await;
        if let Ok(socket) = Socket::bind(&path) {
            tracing::info!("commands are answered at {}", path.display());
            return socket;
        }
    }
}
