//! The API for other machines: TLS, tokens, and who may do what by them.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use ashlar_control::types::AuditEntry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::support::{Place, refused};

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
pub(crate) const SERVED: [&str; 2] = ["--api-listen", "127.0.0.1:0"];

/// Where a daemon serves its API, as a client of another machine knows it.
pub(crate) struct Server {
    url: String,
    fingerprint: String,
}

impl Server {
    pub(crate) fn of(place: &Place) -> Self {
        let session = place.json(&["session"]);
        let address = session["addresses"][0].as_str().expect("it is served");
        let fingerprint = session["certificate_fingerprint"].as_str().expect("it has one");
        Server { url: format!("https://{address}"), fingerprint: fingerprint.to_owned() }
    }

    /// The command of a client that shows the token in that file.
    pub(crate) fn ask(&self, token: &PathBuf, arguments: &[&str]) -> Command {
        let mut command = Command::new(ASHLAR);
        command.args(["--server", &self.url, "--fingerprint", &self.fingerprint]);
        command.arg("--token-file").arg(token).args(arguments).env_remove("ASHLAR_SOCKET");
        command
    }
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The file of a new token with that name and role.
pub(crate) fn token(place: &Place, name: &str, role: &str) -> PathBuf {
    let file = place.path(&format!("{name}.token"));
    fs::write(&file, place.ok(&["token", "create", name, "--role", role])).expect("room");
    file
}

#[test]
fn a_client_of_another_machine_does_what_the_role_of_its_token_may() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    place.create_pool("tank", 0..3);
    let server = Server::of(&place);
    let (viewer, operator) = (token(&place, "grafana", "viewer"), token(&place, "ci", "operator"));
    let listed = server.ask(&viewer, &["pool", "list"]).output().expect("it runs");
    assert!(listed.status.success() && said(&listed).contains("tank"), "{listed:?}");
    let create = ["volume", "create", "tank/v0", "--size", "16MiB"];
    let why = refused(server.ask(&viewer, &create));
    assert!(why.contains("token grafana at 127.0.0.1") && why.contains("needs operator"), "{why}");
    let created = server.ask(&operator, &create).output().expect("it runs");
    assert!(created.status.success(), "{created:?}");
    let why = refused(server.ask(&operator, &["token", "list"]));
    assert!(why.contains("list_tokens needs admin"), "{why}");
    let audit: Vec<AuditEntry> = serde_json::from_value(place.json(&["audit"])).expect("entries");
    let by_token: Vec<_> =
        audit.iter().filter(|entry| entry.what.caller.starts_with("token ")).collect();
    let told = |entry: &AuditEntry| (entry.what.result.clone(), entry.what.address.is_some());
    let expected = [("refused".to_owned(), true), ("done".to_owned(), true)];
    assert_eq!(by_token.into_iter().map(told).collect::<Vec<_>>(), expected);
}

#[test]
fn whoever_shows_no_token_or_one_that_does_not_hold_is_not_let_in() {
    let place = Place::new();
    let daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let file = token(&place, "ci", "admin");
    let wrong = place.path("wrong.token");
    fs::write(&wrong, "ashlar_000000000000").expect("room");
    let why = refused(server.ask(&wrong, &["status"]));
    assert!(why.contains("the token is not known") && why.contains("token create"), "{why}");
    assert!(server.ask(&file, &["status"]).status().expect("it runs").success());
    place.ok(&["token", "revoke", "ci"]);
    let why = refused(server.ask(&file, &["status"]));
    assert!(why.contains("does not hold any more"), "{why}");
    // The secret is nowhere on the disk.
    let secret = fs::read_to_string(&file).expect("a token");
    let other = token(&place, "cd", "viewer");
    let kept = fs::read_to_string(place.path("accounts.json")).expect("accounts");
    assert!(kept.contains("\"cd\"") && !kept.contains(secret.trim()), "{kept}");
    assert!(!kept.contains(fs::read_to_string(&other).expect("a token").trim()), "{kept}");
    (0..10).for_each(|_| drop(refused(server.ask(&wrong, &["status"]))));
    let why = refused(server.ask(&wrong, &["status"]));
    assert!(why.contains("failed too often"), "{why}");
    // Whoever has a token is let in from there all the same, and so is the socket.
    assert!(server.ask(&other, &["status"]).status().expect("it runs").success());
    place.ok(&["status"]);
    daemon.terminate();
}

#[test]
fn a_server_with_another_certificate_is_not_believed_and_the_own_one_stays() {
    let place = Place::new();
    let daemon = place.start_with(&SERVED);
    let before = Server::of(&place);
    let file = token(&place, "ci", "viewer");
    let other = Server { fingerprint: "AB:".repeat(31) + "AB", url: before.url.clone() };
    let why = refused(other.ask(&file, &["status"]));
    let said =
        format!("is not believed: its certificate has the fingerprint {}", before.fingerprint);
    assert!(why.contains(&said), "{why}");
    daemon.terminate();
    let _daemon = place.start_with(&SERVED);
    let after = Server::of(&place);
    assert_eq!(after.fingerprint, before.fingerprint);
    let by_authority = Command::new(ASHLAR)
        .args(["--server", &after.url, "status", "--output", "json"])
        .arg("--ca")
        .arg(place.path("tls/certificate.pem"))
        .arg("--token-file")
        .arg(&file)
        .output()
        .expect("it runs");
    assert!(by_authority.status.success(), "{by_authority:?}");
}

#[test]
fn a_profile_names_a_server_with_all_that_it_needs() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let file = token(&place, "ci", "viewer");
    let config = place.path("config/ashlar");
    fs::create_dir_all(&config).expect("room");
    let profile = format!(
        "[lab]\nserver = '{}'\ntoken_file = '{}'\nfingerprint = '{}'\n",
        server.url,
        file.display(),
        server.fingerprint
    );
    fs::write(config.join("profiles.toml"), profile).expect("room");
    let ask = |name: &str| {
        let mut command = Command::new(ASHLAR);
        command.args(["--profile", name, "session", "--output", "json"]);
        command.env("XDG_CONFIG_HOME", place.path("config"));
        command
    };
    let session = ask("lab").output().expect("it runs");
    let session: Value = serde_json::from_slice(&session.stdout).expect("JSON");
    assert_eq!(session["role"], "viewer");
    let why = refused(ask("home"));
    assert!(why.contains("no profile 'home'") && why.contains("lab"), "{why}");
}

#[test]
fn nothing_is_served_by_the_network_where_nobody_has_said_so() {
    let place = Place::new();
    let _daemon = place.start();
    let session = place.json(&["session"]);
    assert_eq!(session["addresses"], serde_json::json!([]));
    assert!(session["certificate_fingerprint"].is_null(), "{session}");
    assert!(!place.path("tls").exists());
}

/// A connection that is encrypted, by which nothing was asked yet.
pub(crate) fn connected(
    place: &Place,
    server: &Server,
) -> StreamOwned<ClientConnection, TcpStream> {
    let address = server.url.trim_start_matches("https://");
    let pem = fs::read(place.path("tls/certificate.pem")).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).flatten());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").expect("an address");
    let connection = ClientConnection::new(Arc::new(config), name).expect("it is whole");
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a socket");
    StreamOwned::new(connection, stream)
}

/// Whether the other end closes it, whatever it says before.
pub(crate) fn is_closed(mut stream: impl Read) -> bool {
    let is_late = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    };
    stream.read_to_end(&mut Vec::new()).err().is_none_or(|error| !is_late(&error))
}

#[test]
fn handshakes_and_heads_without_end_are_closed_and_take_nothing_from_others() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let file = token(&place, "ci", "viewer");
    let address = server.url.trim_start_matches("https://");
    // More than one address may have: those that came first make room.
    let silent: Vec<TcpStream> = (0..100)
        .map(|_| {
            let stream = TcpStream::connect(address).expect("it listens");
            stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a socket");
            stream
        })
        .collect();
    let mut plain = TcpStream::connect(address).expect("it listens");
    let _ = plain.write_all(b"GET /api/v1/status HTTP/1.1\r\n");
    assert!(is_closed(plain));
    let endless: Vec<_> = (0..30)
        .map(|_| {
            let mut stream = connected(&place, &server);
            stream.write_all(b"GET /api/v1/status HTTP/1.1\r\nx: ").expect("it listens");
            stream.flush().expect("it listens");
            stream
        })
        .collect();
    assert!(server.ask(&file, &["status"]).status().expect("it runs").success());
    assert!(silent.into_iter().all(is_closed), "after the time of a handshake");
    assert!(endless.into_iter().all(is_closed), "after the time of a head");
    assert!(server.ask(&file, &["status"]).status().expect("it runs").success());
}

/// The status of the answer to that by this connection; none: it is closed.
fn status_of(stream: &mut (impl Read + Write), what: &str, more: &str) -> Option<u16> {
    let request = format!("{what} HTTP/1.1\r\nhost: a\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).and_then(|()| stream.flush()).ok()?;
    next_status(stream)
}

pub(crate) fn next_status(stream: &mut impl Read) -> Option<u16> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text").to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().expect("a number"));
    stream.read_exact(&mut vec![0; length]).ok()?;
    head.split(' ').nth(1)?.parse().ok()
}

#[test]
fn who_shows_no_token_is_answered_so_much_and_who_shows_one_is_answered_all_the_same() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let file = token(&place, "ci", "viewer");
    let mut stream = connected(&place, &server);
    // Many at a time: on a busy machine the bucket is filled faster than one after the other.
    let requests = "GET /none HTTP/1.1\r\nhost: a\r\n\r\n".repeat(100);
    let (mut statuses, mut answered) = (Vec::new(), 100);
    while answered == 100 {
        let _ = stream.write_all(requests.as_bytes()).and_then(|()| stream.flush());
        let before = statuses.len();
        statuses.extend((0..100).map_while(|_| next_status(&mut stream)));
        answered = statuses.len() - before;
    }
    assert!(statuses.len() > 1024 && statuses.iter().rev().skip(1).all(|status| *status == 404));
    assert_eq!(statuses.last(), Some(&429), "and the connection is closed");
    assert!(server.ask(&file, &["status"]).status().expect("it runs").success());
}

#[test]
fn a_viewer_who_asks_for_changes_without_end_pushes_nothing_out_of_the_audit_log() {
    let place = Place::new();
    let daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let file = token(&place, "grafana", "viewer");
    let secret = fs::read_to_string(&file).expect("a token");
    let mut stream = connected(&place, &server);
    let shown = format!("authorization: Bearer {}\r\n", secret.trim());
    let what = "DELETE /api/v1/pools/none";
    assert!((0..2000).all(|_| status_of(&mut stream, what, &shown) == Some(403)));
    let entries = |place: &Place| {
        let entries = place.json(&["audit", "--limit", "10000"]);
        serde_json::from_value::<Vec<AuditEntry>>(entries).expect("entries")
    };
    let all = entries(&place);
    assert!(all[0].what.command == "token create" && all.len() < 100, "{}", all.len());
    daemon.terminate();
    let _daemon = place.start();
    let all = entries(&place);
    let counted = |entry: &AuditEntry| {
        entry.what.problem.as_ref().is_some_and(|why| why.contains("more were refused"))
    };
    assert_eq!(all.iter().filter(|entry| counted(entry)).count(), 1);
}

#[test]
fn an_operator_who_asks_in_vain_without_end_pushes_nothing_out_of_the_audit_log() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let file = token(&place, "ci", "operator");
    let secret = fs::read_to_string(&file).expect("a token");
    let mut stream = connected(&place, &server);
    let body = format!(r#"{{"pool":"tank","name":"{}","size_bytes":1}}"#, "a".repeat(4000));
    let shown = format!(
        "authorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        secret.trim(),
        body.len()
    );
    for _ in 0..300 {
        let head = format!("POST /api/v1/volumes HTTP/1.1\r\nhost: a\r\n{shown}\r\n{body}");
        stream.write_all(head.as_bytes()).and_then(|()| stream.flush()).expect("it listens");
        assert!(next_status(&mut stream).is_some_and(|status| (400..500).contains(&status)));
    }
    let entries = place.json(&["audit", "--limit", "10000"]);
    let entries: Vec<AuditEntry> = serde_json::from_value(entries).expect("entries");
    assert!(entries[0].what.command == "token create" && entries.len() < 40, "{}", entries.len());
    assert_eq!(entries[0].what.target.as_deref(), Some("ci"));
    assert!(entries.iter().all(|entry| entry.what.request.len() < 300));
}

/// Whether an event of that kind was told.
fn is_told(place: &Place, kind: &str) -> bool {
    place.json(&["events", "--kind", kind]).as_array().is_some_and(|events| !events.is_empty())
}

#[test]
fn an_address_that_is_not_there_keeps_no_host_from_being_served() {
    let place = Place::new();
    // Of the network for examples in documents: no machine has it.
    let daemon = place.start_with(&["--api-listen", "192.0.2.1:8443"]);
    place.wait_until("it is told", |place| is_told(place, "api_not_served"));
    let said = place.in_words(&["status"]);
    assert!(said.contains("cannot listen on 192.0.2.1:8443"), "{said}");
    assert_eq!(place.json(&["session"])["addresses"], serde_json::json!([]));
    daemon.terminate();
}

#[test]
fn accounts_that_are_damaged_let_nobody_in_until_they_are_whole_and_are_not_written_over() {
    let place = Place::new();
    let daemon = place.start_with(&SERVED);
    let file = token(&place, "ci", "viewer");
    daemon.terminate();
    let accounts = place.path("accounts.json");
    let whole = fs::read(&accounts).expect("accounts");
    fs::write(&accounts, "{").expect("room");
    let daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let why = refused(server.ask(&file, &["status"]));
    assert!(why.contains("the token is not known"), "{why}");
    let why = place.refused(&["token", "create", "cd", "--role", "viewer"]);
    assert!(why.contains("accounts.json is damaged"), "{why}");
    assert!(place.in_words(&["status"]).contains("accounts.json is damaged"));
    fs::write(&accounts, whole).expect("room");
    place.wait_until("they are read", |place| is_told(place, "accounts_read"));
    assert!(server.ask(&file, &["status"]).status().expect("it runs").success());
    daemon.terminate();
}

#[test]
fn another_certificate_is_taken_at_a_sighup_and_one_that_is_none_is_not() {
    let place = Place::new();
    let pem = place.path("api.pem");
    let put = || {
        let made = ashlar_control::OwnCertificate::make(vec!["localhost".to_owned()]);
        let made = made.expect("a certificate");
        fs::write(&pem, made.certificate_pem + &made.key_pem).expect("room");
    };
    put();
    let daemon = place.start_configured(&format!(
        "api_listen = '127.0.0.1:0'\napi_certificate = '{}'\n",
        pem.display()
    ));
    let before = Server::of(&place);
    let file = token(&place, "ci", "viewer");
    let reload = || {
        let pid = rustix::process::Pid::from_raw(daemon.pid() as i32).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).expect("it runs");
    };
    put();
    reload();
    place.wait_until("it is taken", |place| Server::of(place).fingerprint != before.fingerprint);
    let after = Server::of(&place);
    assert_eq!(after.url, before.url);
    assert!(after.ask(&file, &["status"]).status().expect("it runs").success());
    fs::write(&pem, "nothing").expect("room");
    reload();
    place.wait_until("it is refused", |place| is_told(place, "certificate_refused"));
    assert_eq!(Server::of(&place).fingerprint, after.fingerprint);
    let is_warned = |place: &Place| place.in_words(&["status"]).contains("keeps its certificate");
    place.wait_until("it is warned of", is_warned);
    put();
    reload();
    place.wait_until("it is no more", |place| !is_warned(place));
    daemon.terminate();
}

#[test]
fn who_shows_tokens_that_nobody_knows_is_told_of_once_and_keeps_nobody_else_out() {
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let good = token(&place, "ci", "viewer");
    let bad = place.path("bad.token");
    fs::write(&bad, "ashlar_0").expect("room");
    for _ in 0..11 {
        refused(server.ask(&bad, &["status"]));
    }
    let told = place.json(&["events", "--kind", "address_kept_out"]);
    let told = told.as_array().expect("a list");
    assert_eq!((told.len(), &told[0]["address"]), (1, &"127.0.0.1".into()));
    assert!(server.ask(&good, &["status"]).status().expect("it runs").success());
}

#[test]
fn a_stream_of_events_ends_with_the_token_that_has_begun_it() {
    let place = Place::new();
    let daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let file = token(&place, "ci", "viewer");
    let mut command = server.ask(&file, &["events", "--follow"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut follower = command.spawn().expect("it runs");
    let mut first = String::new();
    let mut told = std::io::BufReader::new(follower.stdout.take().expect("it was piped"));
    std::io::BufRead::read_line(&mut told, &mut first).expect("it follows");
    place.ok(&["token", "revoke", "ci"]);
    assert!(!follower.wait().expect("a child").success(), "it has ended");
    daemon.terminate();
}
