//! A server that webhooks are sent to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use ring::hmac;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::tls;

/// Only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// What it does with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Does {
    Answer(u16),
    /// It takes the request, and begins an answer that never ends.
    Begin(u16),
    /// It takes the request, and says nothing.
    Hang,
}

/// A request that has come.
pub struct Post {
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Post {
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("text")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The number of the event.
    pub fn seq(&self) -> u64 {
        self.json()["data"]["seq"].as_u64().expect("a number")
    }

    /// Whether the one with that secret has sent it.
    pub fn is_signed_by(&self, secret: &[u8]) -> bool {
        let (id, time) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let signed = [format!("{id}.{time}.").as_bytes(), &self.body].concat();
        let signature = self.header("webhook-signature").strip_prefix("v1,").expect("a version");
        let signature = STANDARD.decode(signature).expect("base64");
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret), &signed, &signature).is_ok()
    }
}

/// The server. It ends with the test.
pub struct Server {
    pub address: SocketAddr,
    posts: Receiver<Post>,
    does: Arc<Mutex<Vec<Does>>>,
}

#[derive(Clone)]
struct Shared {
    posts: Sender<Post>,
    does: Arc<Mutex<Vec<Does>>>,
    tls: Option<TlsAcceptor>,
}

impl Server {
    /// One that does that with each request in turn, and goes on with the last.
    pub fn start(does: &[Does]) -> Self {
        Self::start_with(does, None)
    }

    /// The same with TLS by that certificate and key.
    pub fn start_with_tls(certificate: &[u8], key: &[u8]) -> Self {
        let tls = TlsAcceptor::from(tls::server(certificate, key));
        Self::start_with(&[Does::Answer(204)], Some(tls))
    }

    fn start_with(does: &[Does], tls: Option<TlsAcceptor>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("it listens");
        let (sender, posts) = channel();
        let does = Arc::new(Mutex::new(does.to_vec()));
        let shared = Shared { posts: sender, does: does.clone(), tls };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(serve(listener, shared));
        });
        Server { address, posts, does }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// From now on it does that.
    pub fn now(&self, does: Does) {
        *self.does.lock().expect("it is whole") = vec![does];
    }

    /// The next request.
    pub fn next(&self) -> Post {
        self.posts.recv_timeout(PATIENCE).expect("an event is sent")
    }
}

async fn serve(listener: std::net::TcpListener, shared: Shared) {
    let listener = TcpListener::from_std(listener).expect("a socket");
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(of_connection(stream, shared.clone()));
    }
}

async fn of_connection(stream: TcpStream, shared: Shared) {
    match shared.tls.clone() {
        None => answer_all(stream, shared).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                answer_all(stream, shared).await;
            }
        }
    }
}

async fn answer_all(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Shared) {
    let answer = service_fn(move |request| answer(request, shared.clone()));
    let connection = hyper::server::conn::http1::Builder::new();
    let _ = connection.serve_connection(TokioIo::new(stream), answer).await;
}

async fn answer(
    request: Request<Incoming>,
    shared: Shared,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let headers = request.headers().clone();
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    let does = {
        let mut does = shared.does.lock().expect("it is whole");
        if does.len() > 1 { does.remove(0) } else { does[0] }
    };
    let _ = shared.posts.send(Post { headers, body });
    match does {
        Does::Hang => std::future::pending().await,
        Does::Answer(status) => {
            let answer = Response::builder().status(status);
            Ok(answer.body(Full::new(Bytes::from("thanks")).boxed()).expect("an answer"))
        }
        Does::Begin(status) => {
            let answer = Response::builder().status(status);
            let never = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
            let endless = StreamBody::new(never);
            Ok(answer.body(BoxBody::new(endless)).expect("an answer"))
        }
    }
}
