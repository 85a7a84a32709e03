//! The dashboard: what `make web` has built, served from within the daemon to whoever asks.
//!
//! It holds no data, so nobody has to say who they are. It may run nothing but its own scripts, and
//! ask nobody but the daemon: the browser is told so with each answer. It knows nothing of the node
//! and of the API, which the browser then asks by a token.

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// What a page of the dashboard may do: run its own scripts, and ask where it came from.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/// Assets are named by their content, so they never change; all else is asked for each time.
const PAGE_CACHE: &str = "no-cache";
const ASSET_CACHE: &str = "public, max-age=31536000, immutable";
/// The file that `/` answers.
const PAGE: &str = "index.html";

/// A file that was built, in each way that it is sent.
struct File {
    name: &'static str,
    plain: &'static [u8],
    gzip: &'static [u8],
    brotli: &'static [u8],
}

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/dashboard.rs"));

/// The dashboard at `/`, what it is made of below `/assets`, and the licences of its parts.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().fold(Router::new(), |router, file| {
        let path = if file.name == PAGE { "/".to_owned() } else { format!("/{}", file.name) };
        let tag = blake3::hash(file.plain).to_hex();
        let tag = tag[..16].to_owned();
        let answer = move |request: Request| std::future::ready(file.answer(&tag, &request));
        router.route(&path, get(answer))
    })
}

/// How a file goes over the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coding {
    Brotli,
    Gzip,
    Plain,
}

impl Coding {
    const fn word(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
            Coding::Plain => "identity",
        }
    }

    /// The smallest that the client takes (RFC 9110, section 12.5.3).
    fn wanted(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT_ENCODING);
        let lists = values.iter().filter_map(|value| value.to_str().ok());
        let taken: Vec<&str> =
            lists.flat_map(|list| list.split(',')).filter_map(taken_coding).collect();
        [Coding::Brotli, Coding::Gzip]
            .into_iter()
            .find(|coding| taken.iter().any(|name| name.eq_ignore_ascii_case(coding.word())))
            .unwrap_or(Coding::Plain)
    }
}

/// The name of an element of `Accept-Encoding`, unless it says that it is not taken.
fn taken_coding(element: &str) -> Option<&str> {
    let mut parts = element.split(';').map(str::trim);
    let name = parts.next()?;
    let is_refused = parts
        .filter_map(|part| part.strip_prefix("q="))
        .any(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0));
    (!is_refused).then_some(name)
}

impl File {
    fn answer(&self, tag: &str, request: &Request) -> Response {
        let coding = Coding::wanted(request.headers());
        let etag = format!("\"{tag}-{}\"", coding.word());
        let mut response = match is_known(request.headers(), &etag) {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => Bytes::from_static(self.bytes(coding)).into_response(),
        };
        let headers = response.headers_mut();
        if let Ok(etag) = HeaderValue::from_str(&etag) {
            headers.insert(ETAG, etag);
        }
        if coding != Coding::Plain {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.word()));
        }
        let is_asset = self.name.starts_with("assets/");
        let cache = if is_asset { ASSET_CACHE } else { PAGE_CACHE };
        let others = [
            (CONTENT_TYPE, self.content_type()),
            (CACHE_CONTROL, cache),
            (VARY, "Accept-Encoding"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ];
        for (name, value) in others {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    const fn bytes(&self, coding: Coding) -> &'static [u8] {
        match coding {
            Coding::Brotli => self.brotli,
            Coding::Gzip => self.gzip,
            Coding::Plain => self.plain,
        }
    }

    fn content_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("txt") => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

/// Whether the client has it already (RFC 9110, section 13.1.2).
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH);
    let mut tags =
        values.iter().filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
    tags.any(|tag| matches!(tag.trim(), "*") || tag.trim().trim_start_matches("W/") == etag)
}

#[cfg(test)]
mod tests;
