//! How clients are served, whichever way they come: by the daemon's socket, or by the network with
//! TLS.
//!
//! Whoever has not said yet who they are may take little: a connection has a place of a bounded
//! number, a time in which its head has to be there, and one for its handshake.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};

use crate::access::Entrance;
use crate::listen::{Renewable, Socket};
use crate::secure::Identity;

/// Connections at a time, of each way to come.
const CONNECTIONS_MAX: usize = 512;
/// How long a connection may take for the head of a request, and be silent between two.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// How long a handshake may take.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
/// The head of a request, at most.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// How long is waited after an error that may last, as where no file can be opened.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// What listens on the network.
pub struct Network {
    listeners: Vec<TcpListener>,
    identity: Identity,
}

/// Where the API is served by the network, for those who ask.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkFacts {
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
    /// The fingerprint of the certificate that clients meet there.
    pub fingerprint: Option<String>,
}

impl Network {
    /// Listens at these addresses, as who the daemon is to those who come.
    ///
    /// # Errors
    /// The address that cannot be listened at, and why.
    pub async fn bind(
        addresses: &[SocketAddr],
        identity: Identity,
    ) -> Result<Self, (SocketAddr, io::Error)> {
        let mut listeners = Vec::new();
        for address in addresses {
            let bound = TcpListener::bind(address).await;
            listeners.push(bound.map_err(|error| (*address, error))?);
        }
        Ok(Network { listeners, identity })
    }

    /// Where it listens, with the ports that the kernel has chosen.
    pub fn facts(&self) -> NetworkFacts {
        let addresses = self.listeners.iter().filter_map(|it| it.local_addr().ok()).collect();
        NetworkFacts { addresses, fingerprint: Some(self.identity.fingerprint().to_owned()) }
    }
}

/// Serves `router` to those who come by the socket, and by the `network` where there is one, until
/// `stop` ends and the requests under way are answered. Each socket that `renewed` brings takes the
/// place of the one before.
pub async fn serve(
    socket: Socket,
    renewed: mpsc::Receiver<Socket>,
    network: Option<Network>,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let ending = Mutex::new(Some(GracefulShutdown::new()));
    let connections = Arc::new(Connections { router, ending });
    let by_socket = of_socket(Renewable::new(socket, renewed), connections.clone());
    let by_network = of_network(network, connections.clone());
    tokio::select! {
        () = by_socket => {}
        () = by_network => {}
        () = stop => {}
    }
    let ending = connections.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(ending) = ending {
        ending.shutdown().await;
    }
}

/// What all connections have in common.
struct Connections {
    router: Router,
    /// By which the end waits for the requests under way. None: it has come.
    ending: Mutex<Option<GracefulShutdown>>,
}

impl Connections {
    /// Serves a client for as long as it stays.
    fn serve<I>(&self, stream: I, entrance: Entrance) -> impl Future<Output = ()> + Send + use<I>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router.clone().layer(Extension(entrance));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = ending.as_ref().map(|ending| ending.watch(connection));
        drop(ending);
        async move {
            let Some(watched) = watched else { return };
            if let Err(error) = watched.await {
                tracing::debug!(%error, "a connection to the API has broken");
            }
        }
    }
}

async fn of_socket(mut socket: Renewable, connections: Arc<Connections>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = next_place(&places).await;
        match socket.accept().await {
            Ok((stream, entrance)) => {
                let served = connections.serve(stream, entrance);
                tokio::spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Never ends, where there is no network as well.
async fn of_network(network: Option<Network>, connections: Arc<Connections>) {
    let Some(Network { listeners, identity }) = network else {
        return std::future::pending().await;
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let all = listeners.into_iter().map(|listener| {
        let (identity, connections) = (identity.clone(), connections.clone());
        of_listener(listener, identity, places.clone(), connections)
    });
    futures_util::future::join_all(all).await;
    std::future::pending().await
}

async fn of_listener(
    listener: TcpListener,
    identity: Identity,
    places: Arc<Semaphore>,
    connections: Arc<Connections>,
) {
    loop {
        let place = next_place(&places).await;
        match listener.accept().await {
            Ok((stream, address)) => {
                let entrance = Entrance::Network(address);
                let (identity, connections) = (identity.clone(), connections.clone());
                tokio::spawn(async move {
                    if let Some(served) = secured(stream, &identity, entrance, connections).await {
                        served.await;
                    }
                    drop(place);
                });
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// The service of a client, once both sides have agreed on keys. None: they have not, in time. The
/// daemon's end does not wait for those.
async fn secured(
    stream: TcpStream,
    identity: &Identity,
    entrance: Entrance,
    connections: Arc<Connections>,
) -> Option<impl Future<Output = ()> + Send + use<>> {
    let weak = Arc::downgrade(&connections);
    drop(connections);
    // Answers are small, and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let stream = timeout(HANDSHAKE_WAIT, identity.accept(stream)).await.ok()?;
    let stream = stream.inspect_err(|error| tracing::debug!(%error, "a TLS handshake failed"));
    let connections = weak.upgrade()?;
    stream.ok().map(|stream| connections.serve(stream, entrance))
}

async fn next_place(places: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    places.clone().acquire_owned().await.expect("nobody closes it")
}

async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "a client of the API cannot be taken");
    sleep(ERROR_PAUSE).await;
}
