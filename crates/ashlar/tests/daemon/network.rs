//! The API for other machines: TLS, tokens, and who may do what by them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use ashlar_control::types::AuditEntry;
use serde_json::Value;

use crate::support::{Place, refused};

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
const SERVED: [&str; 2] = ["--api-listen", "127.0.0.1:0"];

/// Where a daemon serves its API, as a client of another machine knows it.
struct Server {
    url: String,
    fingerprint: String,
}

impl Server {
    fn of(place: &Place) -> Self {
        let session = place.json(&["session"]);
        let address = session["addresses"][0].as_str().expect("it is served");
        let fingerprint = session["certificate_fingerprint"].as_str().expect("it has one");
        Server { url: format!("https://{address}"), fingerprint: fingerprint.to_owned() }
    }

    /// The command of a client that shows the token in that file.
    fn ask(&self, token: &PathBuf, arguments: &[&str]) -> Command {
        let mut command = Command::new(ASHLAR);
        command.args(["--server", &self.url, "--fingerprint", &self.fingerprint]);
        command.arg("--token-file").arg(token).args(arguments).env_remove("ASHLAR_SOCKET");
        command
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The file of a new token with that name and role.
fn token(place: &Place, name: &str, role: &str) -> PathBuf {
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
    assert!(why.contains("is not believed") && why.contains(&before.fingerprint), "{why}");
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

#[test]
fn what_is_no_tls_and_a_head_that_has_no_end_take_nothing_from_others() {
    use std::io::Write;
    use std::net::TcpStream;
    let place = Place::new();
    let _daemon = place.start_with(&SERVED);
    let server = Server::of(&place);
    let address = server.url.trim_start_matches("https://");
    let mut plain: Vec<TcpStream> =
        (0..64).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    for stream in &mut plain {
        let _ = stream.write_all(b"GET /api/v1/status HTTP/1.1\r\n");
    }
    let file = token(&place, "ci", "viewer");
    assert!(server.ask(&file, &["status"]).status().expect("it runs").success());
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
    daemon.terminate();
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
