use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::*;

async fn ask(method: Method, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let request = headers
        .iter()
        .fold(Request::builder().method(method).uri(path), |it, (name, value)| {
            it.header(*name, *value)
        })
        .body(Body::empty())
        .expect("it is a request");
    let service = TowerToHyperService::new(router::<()>().with_state(()));
    service.call(request).await.expect("it always answers")
}

async fn get(path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    ask(Method::GET, path, headers).await
}

async fn body(response: Response<Body>) -> Vec<u8> {
    response.into_body().collect().await.expect("it is whole").to_bytes().to_vec()
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("it is text"))
}

/// What the page names.
fn named(page: &str) -> BTreeSet<String> {
    page.split('"').filter(|part| part.starts_with("/assets/")).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_page_and_all_that_it_names_are_answered() {
    let page = get("/", &[]).await;
    assert_eq!((page.status(), header(&page, "cache-control")), (StatusCode::OK, "no-cache"));
    assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
    let names = named(&String::from_utf8(body(page).await).expect("it is text"));
    assert!(names.len() >= 2, "{names:?}");
    for name in names {
        let asset = get(&name, &[]).await;
        assert_eq!(asset.status(), StatusCode::OK, "{name}");
        assert!(header(&asset, "cache-control").ends_with("immutable"), "{name}");
        assert_ne!(header(&asset, "content-type"), "application/octet-stream", "{name}");
    }
}

#[tokio::test]
async fn a_page_may_run_nothing_but_its_own_scripts_and_ask_nobody_else() {
    for file in FILES {
        let path = if file.name == PAGE { "/".to_owned() } else { format!("/{}", file.name) };
        let answer = get(&path, &[]).await;
        let policy = header(&answer, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer");
    }
}

#[tokio::test]
async fn the_smallest_is_sent_that_the_client_takes() {
    let plain = body(get("/", &[]).await).await;
    for (accepted, wanted) in [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("deflate", ""),
    ] {
        let answer = get("/", &[("accept-encoding", accepted)]).await;
        assert_eq!(header(&answer, "content-encoding"), wanted, "{accepted}");
        assert_eq!(header(&answer, "vary"), "Accept-Encoding");
        assert_eq!(body(answer).await == plain, wanted.is_empty(), "{accepted}");
    }
}

#[tokio::test]
async fn who_has_it_already_is_sent_nothing() {
    let packed = [("accept-encoding", "br")];
    let first = get("/", &packed).await;
    let tag = header(&first, "etag").to_owned();
    let again = get("/", &[("accept-encoding", "br"), ("if-none-match", &tag)]).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert!(body(again).await.is_empty());
    // The same in another coding is another answer.
    let plain = get("/", &[("if-none-match", &tag)]).await;
    assert_eq!(plain.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_head_alone_has_the_length_and_no_body() {
    let head = ask(Method::HEAD, "/", &[]).await;
    assert_eq!(head.status(), StatusCode::OK);
    assert!(body(head).await.is_empty());
    assert_eq!(ask(Method::POST, "/", &[]).await.status(), StatusCode::METHOD_NOT_ALLOWED);
}
