//! Tokens that somebody else signs, what a request may be as large as, and what ends with a token.
//! The keys beside this file are for these tests alone.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use ashlar_control::types::AuditEntry;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::network::{SERVED, Server, connected, is_closed, next_status, said, token};
use crate::support::{Place, refused};

const RSA: [&str; 2] = [include_str!("access/rsa.pem"), include_str!("access/rsa.pub.pem")];
const ED25519: [&str; 2] =
    [include_str!("access/ed25519.pem"), include_str!("access/ed25519.pub.pem")];

/// The file of a token with these claims, which ends in ten minutes.
fn signed(place: &Place, algorithm: Algorithm, private: &str, mut claims: Value) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    claims["exp"] = json!(now + 600);
    let key = match algorithm {
        Algorithm::EdDSA => EncodingKey::from_ed_pem(private.as_bytes()),
        _ => EncodingKey::from_rsa_pem(private.as_bytes()),
    };
    let text = encode(&Header::new(algorithm), &claims, &key.expect("a key")).expect("it signs");
    let file = place.path("signed.token");
    fs::write(&file, text).expect("room");
    file
}

#[test]
fn who_shows_a_token_signed_by_a_registered_key_does_what_it_says_until_the_key_is_removed() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    place.create_pool("tank", 0..3);
    let server = Server::of(&place);
    for (name, algorithm, [private, public]) in
        [("sso-rsa", Algorithm::RS256, RSA), ("sso-ed", Algorithm::EdDSA, ED25519)]
    {
        let create = ["volume", "create", &format!("tank/{name}"), "--size", "16MiB"];
        let operator =
            signed(&place, algorithm, private, json!({ "sub": "ann", "role": "operator" }));
        let why = refused(server.ask(&operator, &create));
        assert!(why.contains("token"), "nobody has registered the key: {why}");
        let public_file = place.path("key.pem");
        fs::write(&public_file, public).expect("room");
        let public_file = public_file.to_str().expect("text");
        place.ok(&["key", "add", name, public_file, "--role", "operator"]);
        let created = server.ask(&operator, &create).output().expect("it runs");
        assert!(created.status.success(), "{created:?}");
        // No more than the role of its key, whatever it says.
        let admin = signed(&place, algorithm, private, json!({ "sub": "eve", "role": "admin" }));
        let why = refused(server.ask(&admin, &["token", "list"]));
        assert!(why.contains("list_tokens needs admin"), "{why}");
        let viewer = signed(&place, algorithm, private, json!({ "sub": "bob", "role": "viewer" }));
        let listed = server.ask(&viewer, &["pool", "list"]).output().expect("it runs");
        assert!(said(&listed).contains("tank"), "{listed:?}");
        let why = refused(server.ask(&viewer, &create));
        assert!(why.contains("needs operator"), "{why}");
        place.ok(&["key", "remove", name]);
        let why = refused(server.ask(&viewer, &["pool", "list"]));
        assert!(why.contains("token"), "{why}");
        let audit = place.json(&["audit", "--limit", "100"]);
        let audit: Vec<AuditEntry> = serde_json::from_value(audit).expect("entries");
        let caller = format!("key {name} (ann) at 127.0.0.1");
        let is_it =
            |it: &AuditEntry| it.what.caller.starts_with(&caller) && it.what.result == "done";
        assert!(audit.iter().any(is_it), "{audit:?}");
    }
}

#[test]
fn what_is_larger_than_a_request_may_be_is_refused() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let secret = fs::read_to_string(token(&place, "ci", "admin")).expect("a token");
    let shown = format!("authorization: Bearer {}\r\n", secret.trim());
    let head = |length: usize| {
        format!(
            "POST /api/v1/volumes HTTP/1.1\r\nhost: a\r\n{shown}content-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        )
    };
    let mut stream = connected(&place, &server);
    stream
        .write_all(head((2 << 20) + 1).as_bytes())
        .and_then(|()| stream.flush())
        .expect("it listens");
    // It may be refused by its head alone, or once all of it has come.
    let _ = stream.write_all(&vec![b' '; (2 << 20) + 1]).and_then(|()| stream.flush());
    assert_eq!(next_status(&mut stream), Some(413));
    let mut stream = connected(&place, &server);
    let endless = format!("GET /api/v1/status HTTP/1.1\r\nhost: a\r\nx: {}", "a".repeat(65 << 10));
    let _ = stream.write_all(endless.as_bytes()).and_then(|()| stream.flush());
    assert!(matches!(next_status(&mut stream), Some(431) | None));
    assert!(is_closed(stream));
    place.ok(&["status"]);
}

#[test]
fn what_has_no_end_ends_with_the_token_that_was_shown_for_it() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    for path in ["/api/v1/live", "/api/v1/events/stream"] {
        let secret = fs::read_to_string(token(&place, "wall", "viewer")).expect("a token");
        let mut stream = connected(&place, &server);
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n",
            secret.trim()
        );
        stream.write_all(request.as_bytes()).and_then(|()| stream.flush()).expect("it listens");
        let mut beginning = [0; 12];
        stream.read_exact(&mut beginning).expect("an answer");
        assert_eq!(&beginning, b"HTTP/1.1 200", "{path}");
        place.ok(&["token", "revoke", "wall"]);
        assert!(is_closed(stream), "{path}");
    }
}
