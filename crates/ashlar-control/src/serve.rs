//! How clients are served, whichever way they come: by the daemon's socket, or by the network with
//! TLS.
//!
//! Whoever has not said yet who they are may take little: a connection has a place of a bounded
//! number (`places`), a time in which its head has to be there, one for its handshake, and one in
//! which answers have to be taken (`deadline`).

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::access::{Buckets, Entrance};
use crate::error::{ApiError, ErrorCode, PROBLEM_JSON, Problem};
use crate::listen::{Renewable, Socket};
use crate::secure::Identity;
use deadline::Deadline;
pub(crate) use places::Guest;
use places::{NetworkPlaces, SocketPlaces};

mod deadline;
mod places;

/// How long a connection may take for the head of a request, and be silent between two.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// How long a handshake may take.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
/// The head of a request, at most.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Connections that one address may begin at once, and how often one more: each costs a handshake.
const ARRIVALS_MAX: u32 = 256;
const ARRIVAL_INTERVAL: Duration = Duration::from_millis(10);
/// How long is waited after an error that may last, as where no file can be opened.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// What listens on the network.
pub struct Network {
    listeners: Vec<TcpListener>,
    identity: SharedIdentity,
}

/// Who the daemon is to those who come from now on. Clones are the same.
#[derive(Clone)]
pub struct SharedIdentity(Arc<Mutex<Identity>>);

impl SharedIdentity {
    /// That one until there is another.
    pub fn new(identity: Identity) -> Self {
        SharedIdentity(Arc::new(Mutex::new(identity)))
    }

    /// It is that one from now on. Connections that are there stay as they are.
    pub fn replace(&self, identity: Identity) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = identity;
    }

    /// The one that counts.
    pub fn get(&self) -> Identity {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where the API is served by the network, for those who ask.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkFacts {
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
    /// The fingerprint of the certificate that clients meet there.
    pub fingerprint: Option<String>,
}

/// The same, which may come later or change. Clones are the same.
#[derive(Clone, Default)]
pub struct SharedFacts(Arc<Mutex<NetworkFacts>>);

impl SharedFacts {
    /// It is that from now on.
    pub fn set(&self, facts: NetworkFacts) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = facts;
    }

    /// What holds now.
    pub fn get(&self) -> NetworkFacts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Network {
    /// Listens at these addresses, as who the daemon is to those who come. All or none.
    ///
    /// # Errors
    /// The address that cannot be listened at, and why.
    pub async fn bind(
        addresses: &[SocketAddr],
        identity: SharedIdentity,
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
        NetworkFacts { addresses, fingerprint: Some(self.identity.get().fingerprint().to_owned()) }
    }
}

/// Serves `router` to those who come by the socket, and by the network that `networks` brings,
/// until `stop` ends and the requests under way are answered. Each socket that `renewed` brings
/// takes the place of the one before.
pub async fn serve(
    socket: Socket,
    renewed: mpsc::Receiver<Socket>,
    networks: mpsc::Receiver<Network>,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let ending = Mutex::new(Some(GracefulShutdown::new()));
    let arrivals = Buckets::new(ARRIVALS_MAX, ARRIVAL_INTERVAL);
    let connections = Arc::new(Connections { router, arrivals, ending });
    let by_socket = of_socket(Renewable::new(socket, renewed), connections.clone());
    let by_network = of_network(networks, connections.clone());
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
    /// How often those of one address may come by the network.
    arrivals: Buckets,
    /// By which the end waits for the requests under way. None: it has come.
    ending: Mutex<Option<GracefulShutdown>>,
}

impl Connections {
    /// Serves a client for as long as it stays.
    fn serve<I>(
        &self,
        stream: I,
        entrance: Entrance,
        guest: Guest,
    ) -> impl Future<Output = ()> + Send + use<I>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(entrance);
            request.extensions_mut().insert(guest.clone());
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(Deadline::new(stream)), service);
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
    let places = SocketPlaces::new();
    loop {
        places.has_some().await;
        match socket.accept().await {
            Ok((stream, entrance)) => match places.take(entrance.is_of_owner()) {
                Some(place) => {
                    let served = connections.serve(stream, entrance, Guest::default());
                    tokio::spawn(async move {
                        served.await;
                        drop(place);
                    });
                }
                None => refuse(&stream),
            },
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Says to a client for whom there is no place that there is none, as far as that takes no time.
fn refuse(stream: &UnixStream) {
    let why = "so many clients are connected that there is no place for one more";
    let error = ApiError::new(ErrorCode::TooManyClients, why)
        .with_hint("end some of them; root has places of its own");
    let problem = serde_json::to_string(&Problem::from(error)).expect("it is plain data");
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {PROBLEM_JSON}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{problem}",
        problem.len()
    );
    let _ = stream.try_write(answer.as_bytes());
}

/// Never ends, where no network comes as well.
async fn of_network(mut networks: mpsc::Receiver<Network>, connections: Arc<Connections>) {
    let places = NetworkPlaces::new();
    let mut serving = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(Network { listeners, identity }) = networks.recv() => {
                serving.extend(listeners.into_iter().map(|listener| {
                    of_listener(listener, identity.clone(), places.clone(), connections.clone())
                }));
            }
            Some(()) = serving.next() => {}
            else => return std::future::pending().await,
        }
    }
}

async fn of_listener(
    listener: TcpListener,
    identity: SharedIdentity,
    places: NetworkPlaces,
    connections: Arc<Connections>,
) {
    loop {
        match listener.accept().await {
            Ok((_, address)) if !connections.arrivals.take(address.ip(), Instant::now()) => {
                tracing::debug!(%address, "it comes more often than one may");
            }
            Ok((stream, address)) => {
                let Some(place) = places.take(address.ip()).await else {
                    tracing::debug!(%address, "there are as many connections as there may be");
                    continue;
                };
                let entrance = Entrance::Network(address);
                let (identity, connections) = (identity.get(), connections.clone());
                tokio::spawn(async move {
                    let guest = place.guest.clone();
                    tokio::select! {
                        () = of_client(stream, &identity, entrance, connections, guest) => {}
                        () = place.guest.told_to_leave() => {
                            tracing::debug!(%address, "its place was needed, and it has shown nothing");
                        }
                    }
                });
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Serves a client of the network for as long as it stays, once both sides have agreed on keys. The
/// daemon's end does not wait for those who have not.
async fn of_client(
    stream: TcpStream,
    identity: &Identity,
    entrance: Entrance,
    connections: Arc<Connections>,
    guest: Guest,
) {
    let weak = Arc::downgrade(&connections);
    drop(connections);
    // Answers are small, and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let Ok(secured) = timeout(HANDSHAKE_WAIT, identity.accept(stream)).await else { return };
    let served = match (secured, weak.upgrade()) {
        (Ok(stream), Some(connections)) => connections.serve(stream, entrance, guest),
        (Err(error), _) => return tracing::debug!(%error, "a TLS handshake failed"),
        (Ok(_), None) => return,
    };
    served.await;
}

async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "a client of the API cannot be taken");
    sleep(ERROR_PAUSE).await;
}
