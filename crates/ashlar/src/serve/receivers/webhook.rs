//! Webhooks: each event is a POST of JSON, signed as Standard Webhooks says
//! (<https://www.standardwebhooks.com>).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ashlar_control::types::Event;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ring::hmac;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::super::apart::OneByOne;
use super::{Carried, Carrier, Failure, Sender, WebhookConfig, secrets};

/// What a secret in base64 begins with.
const SECRET_MARK: &str = "whsec_";
/// Shortest secret, in bytes: what is shorter can be guessed.
const SECRET_BYTES_MIN: usize = 16;
/// How much of an answer is read, and how much of it people are shown.
const ANSWER_BYTES_MAX: usize = 16 << 10;
const ANSWER_SHOWN_MAX: usize = 200;
/// How long is waited for the rest of an answer: its status says all that counts.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// Answers by which an event is refused for what it is, if it is the receiver that gives them.
const REFUSALS: [StatusCode; 5] = [
    StatusCode::BAD_REQUEST,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
];
/// How long the authorities of the machine are known: they are many, and change once in months.
const AUTHORITIES_KNOWN_FOR: Duration = Duration::from_secs(60);

/// A webhook.
pub struct Webhook {
    config: WebhookConfig,
    sender: Sender,
    /// Whose turn it is to read its files.
    reading: OneByOne,
    authorities: Arc<Authorities>,
}

/// What the machine's authorities vouch for, as it was read last.
#[derive(Default)]
struct Authorities(Mutex<Option<(Instant, TlsConnector)>>);

/// What is sent.
#[derive(Serialize)]
struct Message<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: &'a str,
    node: Node<'a>,
    data: &'a Event,
}

#[derive(Serialize)]
struct Node<'a> {
    host: &'a str,
    subsystem_nqn: &'a str,
    serial: &'a str,
}

/// What it needs of files.
struct Keys {
    secret: Vec<u8>,
    /// That others may know it.
    exposed: Option<String>,
    /// By which an encrypted connection is made.
    tls: Option<TlsConnector>,
}

impl Webhook {
    pub fn new(config: WebhookConfig, sender: Sender) -> Self {
        Webhook { config, sender, reading: OneByOne::new(), authorities: Arc::default() }
    }

    async fn post(&self, event: &Event) -> Result<Carried, Failure> {
        let (config, authorities) = (self.config.clone(), self.authorities.clone());
        let keys = secrets::in_time(&self.reading, move || keys(&config, &authorities)).await?;
        let answer = async {
            let tcp = connect(&self.config.url).await?;
            match &keys.tls {
                None => self.exchange(tcp, event, &keys.secret).await,
                Some(tls) => {
                    let name = ServerName::try_from(host_of(&self.config.url).to_owned());
                    let name = name.map_err(Failure::later)?;
                    let stream = tls.connect(name, tcp).await.map_err(|error| {
                        Failure::Later(format!("no encrypted connection is made: {error}"))
                    })?;
                    self.exchange(stream, event, &keys.secret).await
                }
            }
        };
        let seconds = self.config.timeout.as_secs();
        let late = || Failure::Later(format!("no answer came within {seconds} s"));
        let answer = timeout(self.config.timeout, answer).await.unwrap_or_else(|_| Err(late()))?;
        Ok(Carried { answer, flaw: keys.exposed })
    }

    /// Sends the event by that connection, which it is used for alone.
    async fn exchange<S>(&self, stream: S, event: &Event, secret: &[u8]) -> Result<String, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let broken = |error: hyper::Error| Failure::Later(format!("the connection broke: {error}"));
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(broken)?;
        let request = self.request(event, secret)?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(broken)?;
            judged(response).await
        };
        // The connection ends with the answer, or with the patience of whoever waits for it.
        let connection = async {
            let _ = connection.await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answer = answer => answer,
            () = connection => unreachable!("it is pending"),
        }
    }

    fn request(&self, event: &Event, secret: &[u8]) -> Result<Request<Full<Bytes>>, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = self.id(event, now.as_millis());
        let (seconds, body) = (now.as_secs(), self.body(event));
        let signature = sign(secret, &id, seconds, &body);
        let url = &self.config.url;
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let host = url.authority().map_or_else(String::new, |authority| {
            // What stands before an @ is no part of the header.
            authority.as_str().rsplit('@').next().unwrap_or_default().to_owned()
        });
        Request::post(path)
            .header("host", host)
            .header("content-type", "application/json")
            .header("user-agent", concat!("ashlar/", env!("CARGO_PKG_VERSION")))
            .header("connection", "close")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature)
            .body(Full::new(body))
            .map_err(Failure::later)
    }

    /// The same for each attempt to send an event, and for nothing else: receivers tell repeated
    /// ones by it. A test has no number.
    fn id(&self, event: &Event, now: u128) -> String {
        match event.seq {
            0 => format!("{}-test-{now}", self.sender.serial),
            seq => format!("{}-{seq}", self.sender.serial),
        }
    }

    fn body(&self, event: &Event) -> Bytes {
        let Sender { host, subsystem_nqn, serial } = &self.sender;
        let node = Node { host, subsystem_nqn, serial };
        let kind = &event.what.kind;
        let message = Message { kind, timestamp: &event.time, node, data: event };
        serde_json::to_vec(&message).expect("an event is plain data").into()
    }
}

impl Carrier for Webhook {
    fn address(&self) -> String {
        // Without what stands before an @ and behind the host: that may be a secret, as the paths
        // of many services are.
        let url = &self.config.url;
        let (scheme, port) = (url.scheme_str().unwrap_or_default(), url.port_u16());
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let is_root = url.path_and_query().is_none_or(|path| path.as_str() == "/");
        let rest = if is_root { "/" } else { "/..." };
        format!("{scheme}://{}{port}{rest}", url.host().unwrap_or_default())
    }

    fn events_max(&self) -> usize {
        1
    }

    fn gather_seconds(&self) -> u64 {
        0
    }

    fn carry<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Result<Carried, Failure>> {
        Box::pin(async move {
            let mut carried = Carried::default();
            for event in events {
                carried = self.post(event).await?;
            }
            Ok(carried)
        })
    }
}

/// The header's value: the version, and HMAC-SHA256 over identifier, time and body.
fn sign(secret: &[u8], id: &str, seconds: u64, body: &[u8]) -> String {
    let mut signer = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
    signer.update(format!("{id}.{seconds}.").as_bytes());
    signer.update(body);
    format!("v1,{}", STANDARD.encode(signer.sign()))
}

/// What a secret's line means: bytes in base64 behind a mark, or the line itself.
fn secret_of(line: &str) -> Result<Vec<u8>, &'static str> {
    let secret = match line.strip_prefix(SECRET_MARK) {
        Some(coded) => STANDARD.decode(coded).map_err(|_| "is no base64 behind 'whsec_'")?,
        None => line.as_bytes().to_vec(),
    };
    if secret.len() < SECRET_BYTES_MIN {
        return Err(
            "has less than 16 bytes: `echo \"whsec_$(openssl rand -base64 32)\"` makes a good one",
        );
    }
    Ok(secret)
}

fn keys(config: &WebhookConfig, authorities: &Authorities) -> Result<Keys, Failure> {
    let path = &config.secret_file;
    let secret = secret_of(&secrets::line(path)?);
    let secret =
        secret.map_err(|why| Failure::Later(format!("the secret in {} {why}", path.display())))?;
    let tls = match (config.url.scheme_str(), &config.ca_file) {
        (Some("https"), Some(path)) => {
            let text = secrets::read(path)?;
            let found = CertificateDer::pem_slice_iter(&text).flatten().collect();
            Some(connector(found, &path.display().to_string())?)
        }
        (Some("https"), None) => Some(authorities.connector()?),
        _ => None,
    };
    Ok(Keys { secret, exposed: secrets::exposed(path), tls })
}

impl Authorities {
    fn connector(&self) -> Result<TlsConnector, Failure> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |(at, _): &&(Instant, _)| at.elapsed() < AUTHORITIES_KNOWN_FOR;
        if let Some((_, connector)) = known.as_ref().filter(is_new) {
            return Ok(connector.clone());
        }
        let found = rustls_native_certs::load_native_certs().certs;
        let place = "the machine (install ca-certificates, or name a ca_file)";
        let (_, connector) = known.insert((Instant::now(), connector(found, place)?));
        Ok(connector.clone())
    }
}

/// What connects to those for whom one of these vouches.
fn connector(
    authorities: Vec<CertificateDer<'static>>,
    place: &str,
) -> Result<TlsConnector, Failure> {
    let mut roots = RootCertStore::empty();
    // What is none of an authority is passed over, as by others that read such files.
    roots.add_parsable_certificates(authorities);
    if roots.is_empty() {
        return Err(Failure::Later(format!("{place} has no certificate of an authority")));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Failure::later)?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Without the brackets that an address of IPv6 has in a URL.
fn host_of(url: &hyper::Uri) -> &str {
    url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

async fn connect(url: &hyper::Uri) -> Result<TcpStream, Failure> {
    let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
    let (host, port) = (host_of(url), url.port_u16().unwrap_or(usual));
    let stream = TcpStream::connect((host, port)).await.map_err(|error| {
        Failure::Later(format!("cannot connect to {host}, port {port}: {error}"))
    })?;
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Whether that means that the event was taken.
async fn judged(response: Response<hyper::body::Incoming>) -> Result<String, Failure> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect();
    let body = match timeout(ANSWER_WAIT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        _ => Bytes::new(),
    };
    let text = String::from_utf8_lossy(&body);
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().filter(|c| !c.is_control()).take(ANSWER_SHOWN_MAX).collect();
    let status = head.status;
    let said = if text.is_empty() { status.to_string() } else { format!("{status}: {text}") };
    match status {
        status if status.is_success() => Ok(said),
        status if status.is_redirection() => {
            Err(Failure::Later(format!("it answers {said}, and redirections are not followed")))
        }
        StatusCode::GONE => Err(Failure::Never(format!("it answers {said}"))),
        status if REFUSALS.contains(&status) => Err(Failure::Refused(format!("it answers {said}"))),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            Err(Failure::Busy(format!("it answers {said}"), retry_after(&head.headers)))
        }
        _ => Err(Failure::Later(format!("it answers {said}"))),
    }
}

/// How long it wants to be left alone, where it says so in seconds (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap) -> Duration {
    let asked = headers.get(RETRY_AFTER).and_then(|asked| asked.to_str().ok()).unwrap_or_default();
    asked.trim().parse().map_or(Duration::ZERO, Duration::from_secs)
}

#[cfg(test)]
mod tests;
