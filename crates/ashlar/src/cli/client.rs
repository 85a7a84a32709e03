//! The REST API, over a daemon's socket or from another machine.

mod server;
mod silence;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use ashlar_control::{API_ROOT, Problem};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use crate::stdio::note;
pub use server::{Server, ServerOptions};
use silence::{Asked, Listener, no_answer};

/// Where a daemon's socket is looked for if nobody says.
const USUAL_SOCKETS: [&str; 2] = ["./ashlar-data/ashlar.sock", "/run/ashlar/ashlar.sock"];

/// The way out where no daemon is.
const START_OR_NAME: &str =
    "start a daemon (`ashlar serve --state DIR`), or name its socket (`--socket DIR/ashlar.sock`)";

/// How long an answer is waited for where nobody says.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stream of events may be silent: several times as long as the daemon is before it says
/// that there is nothing to say.
const STREAM_SILENCE_MAX: Duration = Duration::from_secs(60);
/// The pause between two attempts to reach a daemon that others wait for.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(50);

/// What a daemon has refused, as it has said it; or what this side has, in the same shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// For programs: a word that does not change.
    pub code: String,
    /// For people: what, and why.
    pub detail: String,
    /// For people: the way out, if it is not in the detail.
    pub hint: Option<String>,
}

impl From<Problem> for Refused {
    fn from(Problem { code, detail, hint, .. }: Problem) -> Self {
        Refused { code, detail, hint }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  {hint}"))
    }
}

impl std::error::Error for Refused {}

/// How long an answer of the daemon is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    limit: Duration,
    /// A change may take longer, as long as the daemon answers questions meanwhile.
    is_longer_for_changes: bool,
}

impl Patience {
    /// So long and no longer, or as usual where nobody says how long.
    pub fn of(timeout: Option<Duration>) -> Self {
        Patience {
            limit: timeout.unwrap_or(USUAL_TIMEOUT),
            is_longer_for_changes: timeout.is_none(),
        }
    }
}

/// Where a daemon is reached.
enum Place {
    /// At its socket, on this machine.
    Socket(PathBuf),
    /// By the network.
    Server(Server),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Socket(path) => write!(f, "{}", path.display()),
            Place::Server(server) => server.fmt(f),
        }
    }
}

/// A daemon, as its clients see it.
pub struct Client {
    place: Place,
    patience: Patience,
}

impl Client {
    /// The daemon at `socket`, or at the first of the usual places that has one.
    ///
    /// # Errors
    /// When there is none at any of them.
    pub fn new(socket: Option<PathBuf>, patience: Patience) -> anyhow::Result<Self> {
        let usual = || USUAL_SOCKETS.iter().map(PathBuf::from).find(|path| path.exists());
        let found = socket.or_else(usual);
        let socket = found.ok_or_else(|| {
            let why = format!("no daemon's socket was found at {}", USUAL_SOCKETS.join(" or "));
            refused("no_daemon", why, Some(START_OR_NAME))
        })?;
        Ok(Client { place: Place::Socket(socket), patience })
    }

    /// The daemon that serves its API by the network.
    pub fn of_server(server: Server, patience: Patience) -> Self {
        Client { place: Place::Server(server), patience }
    }

    /// What is at `path`.
    ///
    /// # Errors
    /// What the daemon answered, or that none does.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::GET, path).await
    }

    /// What is at `path`, as the daemon writes it.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn body(&self, path: &str) -> anyhow::Result<Bytes> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// What is at `path`, as it comes.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn stream(&self, path: &str) -> anyhow::Result<Stream<'_>> {
        let Connection { sender, listener } = Connection::begin(self, Asked::Question).await?;
        let answer = async {
            let response = self.exchange(sender, Method::GET, path, Bytes::new()).await?;
            if response.status().is_success() {
                Ok(response)
            } else {
                Err(refusal(response).await?)
            }
        };
        let response = self.in_time(Asked::Question, listener, answer).await?;
        Ok(Stream { client: self, listener, body: response.into_body() })
    }

    /// Sends `body` to `path`.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn send_body<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let body = serde_json::to_vec(body).context("writing down the request")?;
        understand(&self.send(method, path, body.into()).await?)
    }

    /// The answer to a request without a body.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> anyhow::Result<T> {
        understand(&self.send(method, path, Bytes::new()).await?)
    }

    /// Has something done that is answered with nothing.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn command(&self, method: Method, path: &str) -> anyhow::Result<()> {
        self.send(method, path, Bytes::new()).await.map(drop)
    }

    /// The body of the answer.
    async fn send(&self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        let asked = if method == Method::GET { Asked::Question } else { Asked::Change };
        let Connection { sender, listener } = Connection::begin(self, asked).await?;
        let answer = async {
            let response = self.exchange(sender, method, path, body).await?;
            if !response.status().is_success() {
                return Err(refusal(response).await?);
            }
            Ok(response.into_body().collect().await?.to_bytes())
        };
        self.in_time(asked, listener, answer).await
    }

    /// What `answer` comes to, if it does in time.
    async fn in_time<T>(
        &self,
        asked: Asked,
        listener: Option<Listener>,
        answer: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        let mut answer = pin!(answer);
        let limit = self.patience.limit;
        let mut is_told = false;
        loop {
            if let Ok(answer) = timeout(limit, &mut answer).await {
                return answer;
            }
            let may_wait = asked == Asked::Change && self.patience.is_longer_for_changes;
            if !may_wait || !self.answers_questions().await {
                return Err(no_answer(&self.place, listener, limit, asked).into());
            }
            if !std::mem::replace(&mut is_told, true) {
                note(
                    "note: the daemon is still working. Ctrl-C ends this command, not the daemon's work",
                );
            }
        }
    }

    /// Whether the daemon answers a question that takes it no time.
    async fn answers_questions(&self) -> bool {
        let version = async {
            let connection = match &self.place {
                Place::Socket(socket) => {
                    let stream =
                        UnixStream::connect(socket).await.context("reaching the daemon")?;
                    Connection::over_socket(stream).await?
                }
                Place::Server(server) => Connection::over(server.connect().await?).await?,
            };
            self.exchange(connection.sender, Method::GET, "/version", Bytes::new()).await
        };
        matches!(timeout(self.patience.limit, version).await, Ok(Ok(_)))
    }

    /// Sends the request; returns the head of the answer.
    async fn exchange(
        &self,
        mut sender: SendRequest<Full<Bytes>>,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{API_ROOT}{path}"))
            .header("content-type", "application/json");
        request = match &self.place {
            Place::Socket(_) => request.header("host", "ashlar"),
            Place::Server(server) => request
                .header("host", server.authority())
                .header("authorization", server.authorization()),
        };
        let request = request.body(Full::new(body))?;
        sender.send_request(request).await.context("the daemon ended before it answered")
    }
}

/// A connection to the daemon, for one request.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    listener: Option<Listener>,
}

impl Connection {
    /// Reaches the daemon of `client`.
    async fn begin(client: &Client, asked: Asked) -> anyhow::Result<Self> {
        let limit = client.patience.limit;
        let socket = match &client.place {
            Place::Socket(socket) => socket,
            Place::Server(server) => {
                let Ok(stream) = timeout(limit, server.connect()).await else {
                    return Err(no_answer(server, None, limit, asked).into());
                };
                return Self::over(stream?).await;
            }
        };
        let start = Instant::now();
        loop {
            match UnixStream::connect(socket).await {
                Ok(stream) => return Self::over_socket(stream).await,
                // As many clients wait for it as may.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if start.elapsed() >= limit {
                        return Err(no_answer(&client.place, None, limit, asked).into());
                    }
                    sleep(ATTEMPT_INTERVAL).await;
                }
                Err(error) => return Err(unreachable(socket, &error).into()),
            }
        }
    }

    async fn over_socket(stream: UnixStream) -> anyhow::Result<Self> {
        let listener = Listener::of(&stream);
        Ok(Connection { listener, ..Self::over(stream).await? })
    }

    async fn over<S>(stream: S) -> anyhow::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection { sender, listener: None })
    }
}

/// An answer that goes on for as long as the daemon does.
pub struct Stream<'a> {
    client: &'a Client,
    listener: Option<Listener>,
    body: Incoming,
}

impl Stream<'_> {
    /// What comes next; nothing once the daemon has gone.
    ///
    /// # Errors
    /// When it says nothing for too long, not even that there is nothing to say.
    pub async fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        let limit = self.client.patience.limit.max(STREAM_SILENCE_MAX);
        let Ok(frame) = timeout(limit, self.body.frame()).await else {
            return Err(no_answer(&self.client.place, self.listener, limit, Asked::Question).into());
        };
        // A daemon that has gone without a word ends the stream with an error.
        let frame = frame.and_then(Result::ok);
        Ok(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }
}

fn unreachable(socket: &Path, error: &std::io::Error) -> Refused {
    let socket = socket.display();
    match error.kind() {
        ErrorKind::NotFound => refused(
            "no_daemon",
            format!("there is no daemon's socket at {socket}"),
            Some(START_OR_NAME),
        ),
        ErrorKind::ConnectionRefused => refused(
            "no_daemon",
            format!("no daemon answers at {socket} any more"),
            Some(START_OR_NAME),
        ),
        ErrorKind::PermissionDenied => {
            let hint = "root may speak to it, the daemon's own user, and members of its group (--socket-group)";
            refused("permission_denied", format!("permission denied at {socket}"), Some(hint))
        }
        _ => refused("unreachable", format!("cannot reach the daemon at {socket}: {error}"), None),
    }
}

/// An error of this side, in the shape of the daemon's.
fn refused(code: &str, detail: String, hint: Option<&str>) -> Refused {
    Refused { code: code.to_owned(), detail, hint: hint.map(str::to_owned) }
}

fn understand<T: DeserializeOwned>(body: &Bytes) -> anyhow::Result<T> {
    serde_json::from_slice(body)
        .context("the daemon's answer is not understood: is it of another version?")
}

/// What the daemon says of its refusal.
///
/// # Errors
/// When that cannot be read.
async fn refusal(response: Response<Incoming>) -> anyhow::Result<anyhow::Error> {
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    let refused = serde_json::from_slice::<Problem>(&body).map(Refused::from);
    Ok(refused.map_or_else(|_| anyhow!("the daemon refused with status {status}"), Into::into))
}

#[cfg(test)]
mod tests;
