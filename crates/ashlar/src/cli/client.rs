//! The REST API over a daemon's socket.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use ashlar_control::{API_ROOT, ErrorBody};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

/// Where a daemon's socket is looked for if nobody says.
const USUAL_SOCKETS: [&str; 2] = ["./ashlar-data/ashlar.sock", "/run/ashlar/ashlar.sock"];

/// What a daemon has refused, as it has said it.
#[derive(Debug)]
pub struct Refused(pub ErrorBody);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused(ErrorBody { message, hint, .. }) = self;
        f.write_str(message)?;
        hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  {hint}"))
    }
}

impl std::error::Error for Refused {}

/// A daemon, as its clients see it.
pub struct Client {
    socket: PathBuf,
}

impl Client {
    /// The daemon at `socket`, or at the first of the usual places that has one.
    ///
    /// # Errors
    /// When there is none at any of them.
    pub fn new(socket: Option<PathBuf>) -> anyhow::Result<Self> {
        let usual = || USUAL_SOCKETS.iter().map(PathBuf::from).find(|path| path.exists());
        let found = socket.or_else(usual);
        let socket = found.with_context(|| {
            format!(
                "no daemon's socket was found at {}: start a daemon with ashlar serve --state DIR, or name its \
                 socket with --socket DIR/ashlar.sock",
                USUAL_SOCKETS.join(" or ")
            )
        })?;
        Ok(Client { socket })
    }

    /// What is at `path`.
    ///
    /// # Errors
    /// What the daemon answered, or that none does.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        read(self.send(Method::GET, path, Bytes::new()).await?).await
    }

    /// What is at `path`, as it comes.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn stream(&self, path: &str) -> anyhow::Result<hyper::body::Incoming> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        Ok(response.into_body())
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
        read(self.send(method, path, body.into()).await?).await
    }

    /// The answer to a request without a body.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> anyhow::Result<T> {
        read(self.send(method, path, Bytes::new()).await?).await
    }

    /// Has something done that is answered with nothing.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub async fn command(&self, method: Method, path: &str) -> anyhow::Result<()> {
        let response = self.send(method, path, Bytes::new()).await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(refusal(response).await)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<Response<hyper::body::Incoming>> {
        let stream =
            UnixStream::connect(&self.socket).await.map_err(|error| unreachable(&self.socket, error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(format!("{API_ROOT}{path}"))
            .header("host", "ashlar")
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        sender.send_request(request).await.context("the daemon ended before it answered")
    }
}

fn unreachable(socket: &Path, error: std::io::Error) -> anyhow::Error {
    let socket = socket.display();
    match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "there is no daemon's socket at {socket}: start a daemon with ashlar serve --state DIR, or name its \
             socket with --socket"
        ),
        ErrorKind::ConnectionRefused => {
            anyhow!("no daemon answers at {socket} any more: start one with ashlar serve --state DIR")
        }
        ErrorKind::PermissionDenied => {
            anyhow!("permission denied at {socket}: only the daemon's own user, and root, may speak to it")
        }
        _ => anyhow!(error).context(format!("cannot reach the daemon at {socket}")),
    }
}

async fn read<T: DeserializeOwned>(response: Response<hyper::body::Incoming>) -> anyhow::Result<T> {
    if !response.status().is_success() {
        return Err(refusal(response).await);
    }
    let body = response.into_body().collect().await?.to_bytes();
    serde_json::from_slice(&body).context("the daemon's answer is not understood: is it of another version?")
}

async fn refusal(response: Response<hyper::body::Incoming>) -> anyhow::Error {
    let status = response.status();
    match read_refusal(response).await {
        Ok(body) => Refused(body).into(),
        Err(_) => anyhow!("the daemon refused with status {status}"),
    }
}

async fn read_refusal(response: Response<hyper::body::Incoming>) -> anyhow::Result<ErrorBody> {
    let body = response.into_body().collect().await?.to_bytes();
    match serde_json::from_slice(&body) {
        Ok(body) => Ok(body),
        Err(error) => bail!(error),
    }
}
