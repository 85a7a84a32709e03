//! The doors of the API: the network, and a socket, which a state directory that cannot be written
//! may have no room for.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use ashlar_control::{
    ListenError, Network, NodeApi, Notifier, SharedFacts, Socket, SocketGroup, SocketPlace,
    Watcher, router,
};
use axum::Router;
use nix::unistd::Group;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot};

use super::Config;
use super::apart::apart;
use super::gate::Gate;
use super::state::{RETRY_INTERVAL, StateDir};

/// The API's socket, made or to be made.
enum ApiSocket {
    /// It listens.
    Bound(Socket),
    /// It cannot be made there now.
    Later(PathBuf, Option<SocketGroup>),
}

/// What clients find behind the doors.
pub struct Rooms {
    /// The node.
    pub node_api: Arc<dyn NodeApi>,
    /// What has happened to it.
    pub watcher: Arc<Watcher>,
    /// Who is told of that.
    pub receivers: Arc<dyn Notifier>,
    /// Says that files are to be read again.
    pub reload: Arc<Notify>,
}

/// By which clients come in.
pub struct Doors {
    socket: ApiSocket,
    gate: Gate,
}

impl Doors {
    /// Those that the configuration names. One to other machines may come later.
    ///
    /// # Errors
    /// When there can be no socket.
    pub async fn open(config: &Config, state: &StateDir) -> anyhow::Result<Self> {
        let socket = bind(config, state)?;
        Ok(Doors { socket, gate: Gate::open(&config.network, &config.state).await })
    }

    /// Serves the API of a node until somebody says stop and the requests under way are answered.
    pub async fn serve(self, rooms: Rooms, stopped: oneshot::Receiver<()>) {
        let Doors { socket, gate } = self;
        let Rooms { node_api, watcher, receivers, reload } = rooms;
        let (facts, (opened, networks)) = (SharedFacts::default(), mpsc::channel(1));
        facts.set(gate.facts());
        let router = router(node_api, watcher.clone(), gate.accounts(), facts.clone(), receivers);
        let keeping = tokio::spawn(gate.keep(opened, facts, watcher, reload));
        socket.serve(networks, router, stopped).await;
        keeping.abort();
    }
}

/// Makes the socket. One in a state directory that cannot be written may come later: hosts are
/// served meanwhile.
///
/// # Errors
/// When it cannot be made for another reason.
fn bind(config: &Config, state: &StateDir) -> anyhow::Result<ApiSocket> {
    let is_in_state_dir = config.socket.parent() == Some(config.state.as_path());
    let group = group(config)?;
    match Socket::bind(&config.socket, group) {
        Ok(socket) => Ok(ApiSocket::Bound(socket)),
        Err(error @ ListenError::Os { .. }) if is_in_state_dir && state.warning().is_some() => {
            tracing::error!(
                "{error}: the daemon serves hosts, and answers no command until it can write to \
                 the state directory. It tries again by itself; `--socket` names another place"
            );
            Ok(ApiSocket::Later(config.socket.clone(), group))
        }
        Err(error) => Err(error.into()),
    }
}

/// The group whose members may speak to the daemon.
///
/// # Errors
/// When there is no such group.
fn group(config: &Config) -> anyhow::Result<Option<SocketGroup>> {
    let Some(name) = config.socket_group.as_deref() else { return Ok(None) };
    let found = Group::from_name(name).with_context(|| format!("socket_group '{name}'"))?;
    let group = found.with_context(|| {
        format!("there is no group '{name}' (socket_group): `groupadd --system {name}` makes it")
    })?;
    Ok(Some(SocketGroup { gid: group.gid.as_raw(), role: config.socket_group_role }))
}

impl ApiSocket {
    /// Serves `router`, once there is a socket, and by the network, until somebody says stop and
    /// the requests under way are answered. A socket that is removed is made again.
    async fn serve(
        self,
        networks: mpsc::Receiver<Network>,
        router: Router,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let socket = match self {
            ApiSocket::Bound(socket) => socket,
            ApiSocket::Later(path, group) => tokio::select! {
                socket = made(path, group) => socket,
                _ = &mut stopped => return,
            },
        };
        let (renew, renewed) = mpsc::channel(1);
        let keeping = tokio::spawn(keep(socket.place().clone(), renew));
        let stop = async move { drop(stopped.await) };
        ashlar_control::serve(socket, renewed, networks, router, stop).await;
        keeping.abort();
    }
}

async fn made(path: PathBuf, group: Option<SocketGroup>) -> Socket {
    loop {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let path = path.clone();
        if let Some(Ok(socket)) = try_apart(move || Socket::bind(&path, group)).await {
            tracing::info!("commands are answered at {}", socket.place().path().display());
            return socket;
        }
    }
}

/// Makes the socket again whenever its path no longer leads to it, for as long as it is polled.
async fn keep(mut place: SocketPlace, renew: mpsc::Sender<Socket>) {
    let mut has_failed = false;
    loop {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let looked_at = place.clone();
        let path = place.path().display();
        match try_apart(move || made_anew(&looked_at)).await {
            Some(Ok(Some(socket))) => {
                tracing::warn!(
                    "{path} was removed: the daemon has made it again, and answers commands there"
                );
                place = socket.place().clone();
                has_failed = false;
                if renew.send(socket).await.is_err() {
                    return;
                }
            }
            // Said once: it is tried again and again.
            Some(Err(error)) if !std::mem::replace(&mut has_failed, true) => {
                tracing::error!(
                    "{path} was removed, and the daemon answers no command until it can make it \
                     again: {error}"
                );
            }
            Some(Err(_) | Ok(None)) | None => {}
        }
    }
}

/// What `make` comes to, which may hang where the file system does. `None`: there is no thread for
/// it, or it has ended it.
async fn try_apart<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let runtime = Handle::current();
    let make = move || {
        let _entered = runtime.enter();
        make()
    };
    apart("api-socket", make).ok()?.await.ok()
}

/// The socket that is to be where none, or another one, is now; `None`: it is there.
fn made_anew(place: &SocketPlace) -> Result<Option<Socket>, ListenError> {
    if place.leads_to_it() {
        return Ok(None);
    }
    if let Some(directory) = place.path().parent() {
        // Where that fails the socket says why.
        let _ = fs::create_dir_all(directory);
    }
    Socket::bind(place.path(), place.group()).map(Some)
}

#[cfg(test)]
mod tests;
