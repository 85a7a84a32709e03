//! Those who are told of events, by webhooks and by mail, each with a server of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ashlar_control::OwnCertificate;
use ashlar_control::types::Event;

use crate::receivers::http::{Does, Server};
use crate::receivers::mail;
use crate::support::{Daemon, Place};

/// As the libraries of Standard Webhooks take it.
const SECRET_LINE: &str = "whsec_YSBzZWNyZXQgdGhhdCBub2JvZHkgZ3Vlc3Nlcw==";
const SECRET: &[u8] = b"a secret that nobody guesses";
const TAKES: Does = Does::Answer(200);

/// A file that its owner alone may read.
fn keep_secret(path: &Path, line: &str) {
    fs::write(path, line).expect("room");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
}

/// A table of the configuration: a webhook that is told of these kinds.
fn webhook(place: &Place, name: &str, url: &str, kinds: &str) -> String {
    let secret = place.path("secret");
    keep_secret(&secret, SECRET_LINE);
    format!(
        "[[webhook]]\nname = '{name}'\nurl = '{url}'\nkinds = [{kinds}]\ntimeout_seconds = 1\n\
         secret_file = '{}'\n",
        secret.display()
    )
}

fn mail_table(address: std::net::SocketAddr, more: &str) -> String {
    format!(
        "[mail]\nserver = '127.0.0.1'\nport = {}\ntls = 'none'\nfrom = 'ashlar@example.org'\n\
         to = ['one@example.org', 'two@example.org']\n{more}",
        address.port()
    )
}

/// A change that an event tells of, which is done at once.
fn change(place: &Place, name: &str) {
    place.ok(&["token", "create", name, "--role", "viewer"]);
}

fn events(place: &Place, kind: &str) -> Vec<Event> {
    serde_json::from_value(place.json(&["events", "--kind", kind])).expect("events")
}

fn start(place: &Place, configuration: &str) -> Daemon {
    place.start_configured(configuration)
}

#[test]
fn events_are_posted_signed_and_in_order_and_again_until_they_are_taken() {
    let place = Place::new();
    let server = Server::start(&[Does::Answer(500), Does::Answer(429), TAKES]);
    let daemon = start(&place, &webhook(&place, "ops", &server.url(), "'change'"));
    change(&place, "alpha");
    change(&place, "omega");
    let posts = [server.next(), server.next(), server.next(), server.next()];
    assert!(posts.iter().all(|post| post.is_signed_by(SECRET)));
    assert!(!posts[0].is_signed_by(b"another secret, of another one"));
    let ids: Vec<&str> = posts.iter().map(|post| post.header("webhook-id")).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    let told = events(&place, "change");
    let seqs = [posts[2].seq(), posts[3].seq()];
    assert_eq!(seqs.to_vec(), told.iter().map(|event| event.seq).collect::<Vec<_>>());
    let json = posts[3].json();
    assert_eq!(json["type"], json["data"]["kind"]);
    assert!(json["data"]["message"].as_str().is_some_and(|it| it.contains("token create")));
    place.wait_until("that is counted", |place| {
        let ops = &place.json(&["notify", "list"])[0];
        ops["sent_events"] == 2 && ops["queued_events"] == 0
    });
    assert_eq!(place.json(&["notify", "list"])[0]["failed_attempts"], 2);
    assert!(json["node"]["subsystem_nqn"].as_str().is_some_and(|nqn| nqn.starts_with("nqn.")));
    daemon.terminate();
}

#[test]
fn a_receiver_that_hangs_holds_up_nobody_and_is_told_after_a_restart_what_it_has_missed() {
    let place = Place::new();
    let (slow, good) = (Server::start(&[Does::Hang]), Server::start(&[TAKES]));
    let both = webhook(&place, "slow", &slow.url(), "'change', 'receiver_failed'")
        + &webhook(&place, "good", &good.url(), "'change', 'receiver_failed'");
    let daemon = start(&place, &both);
    change(&place, "alpha");
    assert_eq!(good.next().json()["type"], "change");
    let missed = slow.next().header("webhook-id").to_owned();
    // The other one is told of it, once.
    let failed = good.next().json();
    assert_eq!(
        (&failed["type"], &failed["data"]["receiver"]),
        (&serde_json::json!("receiver_failed"), &serde_json::json!("slow"))
    );
    let said = place.in_words(&["status"]);
    assert!(said.contains("'slow' does not take events"), "{said}");
    let queued: Vec<u64> = place
        .json(&["notify", "list"])
        .as_array()
        .expect("a list")
        .iter()
        .map(|receiver| receiver["queued_events"].as_u64().expect("a count"))
        .collect();
    assert_eq!(queued[0], 1, "what has happened, and not that it fails itself: {queued:?}");
    let listed = place.in_words(&["notify", "list"]);
    assert!(listed.contains("failing") && listed.contains("no answer came within 1 s"), "{listed}");
    daemon.terminate();
    slow.now(TAKES);
    let daemon = start(&place, &both);
    place.wait_until("it is told", |place| {
        place.json(&["notify", "list"])[0]["delivered_at"].is_string()
    });
    assert_eq!(events(&place, "receiver_failed").len(), 1);
    // The daemon that sees it is not the one that has told of the failure.
    place.wait_until("that is told", |place| events(place, "receiver_works").len() == 1);
    change(&place, "omega");
    let ids: Vec<String> = std::iter::from_fn(|| {
        let post = slow.next();
        let is_last =
            post.json()["data"]["message"].as_str().is_some_and(|it| it.contains("omega"));
        (!is_last).then(|| post.header("webhook-id").to_owned())
    })
    .collect();
    assert!(ids.iter().all(|id| *id == missed), "it is told of nothing else: {ids:?} {missed}");
    assert!(!ids.is_empty());
    daemon.terminate();
}

#[test]
fn a_test_shows_the_answer_or_why_there_is_none() {
    let place = Place::new();
    let server = Server::start(&[TAKES, Does::Answer(403)]);
    let tables = webhook(&place, "ops", &server.url(), "")
        + &webhook(&place, "gone", "http://127.0.0.1:1/", "").replace("secret'", "none'");
    let _daemon = start(&place, &tables);
    let said = place.ok(&["notify", "test", "ops"]);
    assert!(said.contains("'ops' has taken the test: 200 OK: thanks"), "{said}");
    let post = server.next();
    assert!(post.is_signed_by(SECRET) && post.json()["type"] == "test");
    let why = place.refused(&["notify", "test", "ops"]);
    assert!(why.contains("it answers 403 Forbidden: thanks"), "{why}");
    let why = place.refused(&["notify", "test", "gone"]);
    assert!(why.contains("cannot read") && why.contains("/none"), "{why}");
    keep_secret(&place.path("none"), SECRET_LINE);
    let why = place.refused(&["notify", "test", "gone"]);
    assert!(why.contains("cannot connect to 127.0.0.1, port 1"), "{why}");
    let why = place.refused(&["notify", "test", "elsewhere"]);
    assert!(why.contains("no webhook 'elsewhere'") && why.contains("notify list"), "{why}");
}

#[test]
fn an_encrypted_webhook_goes_only_to_whom_an_authority_vouches_for() {
    let place = Place::new();
    let made = OwnCertificate::make(vec!["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (made.certificate_pem.as_bytes(), made.key_pem.as_bytes());
    let server = Server::start_with_tls(certificate, key);
    fs::write(place.path("ca.pem"), certificate).expect("room");
    let url = format!("https://localhost:{}/", server.address.port());
    let trusting = webhook(&place, "ops", &url, "")
        + &format!("ca_file = '{}'\n", place.path("ca.pem").display());
    let other = OwnCertificate::make(vec!["localhost".to_owned()]).expect("a certificate");
    fs::write(place.path("other.pem"), other.certificate_pem).expect("room");
    let not = webhook(&place, "not", &url, "")
        + &format!("ca_file = '{}'\n", place.path("other.pem").display());
    let _daemon = start(&place, &(trusting + &not));
    assert!(place.ok(&["notify", "test", "ops"]).contains("204 No Content"));
    assert!(server.next().is_signed_by(SECRET));
    let why = place.refused(&["notify", "test", "not"]);
    assert!(why.contains("no encrypted connection is made"), "{why}");
}

#[test]
fn events_go_by_mail_and_again_until_the_server_takes_them() {
    let place = Place::new();
    let server = mail::Server::start(2);
    let table = mail_table(server.address, "kinds = ['change']\ndigest_seconds = 1\n");
    let daemon = start(&place, &table);
    change(&place, "alpha");
    change(&place, "omega");
    let mut text = String::new();
    // In one mail, or in two where the daemon was slow.
    while !(text.contains("token create") && text.contains("omega")) {
        let mail = server.next();
        assert!(mail.from.contains("<ashlar@example.org>"), "{}", mail.from);
        assert_eq!(mail.to.len(), 2, "{:?}", mail.to);
        assert!(mail.text.contains("Subject: [ashlar "), "{}", mail.text);
        text.push_str(&mail.text);
    }
    assert!(text.find("alpha") < text.find("omega"), "{text}");
    daemon.terminate();
}

#[test]
fn a_test_of_mail_shows_what_the_server_says() {
    let place = Place::new();
    let server = mail::Server::start(0);
    let _daemon = start(&place, &mail_table(server.address, ""));
    let said = place.ok(&["notify", "test", "mail"]);
    assert!(said.contains("'mail' has taken the test: 250 taken as 4711"), "{said}");
    assert!(server.next().text.contains("this is a test of 'mail'"));
    let listed = place.in_words(&["notify", "list"]);
    assert!(listed.contains("one@example.org, two@example.org by 127.0.0.1"), "{listed}");
}

#[test]
fn a_server_that_wants_encryption_and_a_password_is_given_mail_by_both_ways() {
    let place = Place::new();
    let made = OwnCertificate::make(vec!["localhost".to_owned()]).expect("a certificate");
    let pair = (made.certificate_pem.clone().into_bytes(), made.key_pem.into_bytes());
    fs::write(place.path("ca.pem"), made.certificate_pem).expect("room");
    let other = OwnCertificate::make(vec!["localhost".to_owned()]).expect("a certificate");
    fs::write(place.path("other.pem"), other.certificate_pem).expect("room");
    keep_secret(&place.path("password"), "s3cret of ashlar");
    for (tls, is_wrapped) in [("starttls", false), ("tls", true)] {
        let login = Some(("ashlar", "s3cret of ashlar"));
        let wants =
            mail::Wants { pair: Some(pair.clone()), is_wrapped, login, ..Default::default() };
        let server = mail::Server::start_with(wants);
        let table = |ca: &str| {
            let more = format!(
                "user = 'ashlar'\npassword_file = '{}'\nca_file = '{}'\n",
                place.path("password").display(),
                place.path(ca).display()
            );
            let table = mail_table(server.address, &more).replace("'none'", &format!("'{tls}'"));
            table.replace("'127.0.0.1'", "'localhost'")
        };
        let daemon = start(&place, &table("ca.pem"));
        let said = place.ok(&["notify", "test", "mail"]);
        assert!(said.contains("250 taken as 4711"), "{said}");
        assert!(server.next().is_encrypted);
        keep_secret(&place.path("password"), "a wrong one");
        let why = place.refused(&["notify", "test", "mail"]);
        assert!(why.contains("535") && why.contains("who is that?"), "{why}");
        keep_secret(&place.path("password"), "s3cret of ashlar");
        daemon.terminate();
        let daemon = start(&place, &table("other.pem"));
        let why = place.refused(&["notify", "test", "mail"]);
        assert!(why.contains("certificate"), "{why}");
        daemon.terminate();
    }
}

#[test]
fn a_recipient_that_a_server_refuses_keeps_the_mail_from_nobody_else_and_is_named() {
    let place = Place::new();
    let wants = mail::Wants { unknown: vec!["two@example.org"], ..Default::default() };
    let server = mail::Server::start_with(wants);
    let daemon =
        start(&place, &mail_table(server.address, "kinds = ['change']\ndigest_seconds = 0\n"));
    change(&place, "alpha");
    let mail = server.next();
    assert!(mail.text.contains("alpha") && mail.to.len() == 1, "{:?}", mail.to);
    place.wait_until("it is warned of", |place| {
        place.in_words(&["status"]).contains("'mail' takes events, but not for two@example.org")
    });
    let listed = place.in_words(&["notify", "list"]);
    assert!(listed.contains("ready") && listed.contains("nobody of that name here"), "{listed}");
    daemon.terminate();
}

#[test]
fn a_recipient_that_a_server_takes_nothing_for_yet_is_sent_the_mail_again_and_nobody_else_is() {
    let place = Place::new();
    let wants = mail::Wants { grey: vec!["two@example.org"], ..Default::default() };
    let server = mail::Server::start_with(wants);
    let daemon =
        start(&place, &mail_table(server.address, "kinds = ['change']\ndigest_seconds = 0\n"));
    change(&place, "alpha");
    for recipient in ["one@example.org", "two@example.org"] {
        let mail = server.next();
        assert!(mail.text.contains("alpha") && mail.to.len() == 1, "{:?}", mail.to);
        assert!(mail.to[0].contains(recipient), "{:?}", mail.to);
    }
    place.wait_until("all is well", |place| !place.in_words(&["status"]).contains("'mail'"));
    daemon.terminate();
}

#[test]
fn a_receiver_that_refuses_all_is_warned_of_and_loses_nothing_for_some_minutes() {
    let place = Place::new();
    let server = Server::start(&[Does::Answer(400)]);
    let daemon = start(&place, &webhook(&place, "ops", &server.url(), "'change'"));
    change(&place, "alpha");
    let first = server.next().header("webhook-id").to_owned();
    place.wait_until("it is warned of", |place| {
        place.in_words(&["status"]).contains("'ops' does not take events: it answers 400")
    });
    server.now(TAKES);
    place.wait_until("it works", |place| !place.in_words(&["status"]).contains("'ops'"));
    let listed = place.json(&["notify", "list"]);
    assert_eq!(
        (&listed[0]["dropped_events"], &listed[0]["states"][0]),
        (&0.into(), &"ready".into())
    );
    assert_eq!(server.next().header("webhook-id"), first);
    daemon.terminate();
}

#[test]
fn an_answer_whose_end_never_comes_counts_by_its_status() {
    let place = Place::new();
    let server = Server::start(&[Does::Begin(200)]);
    let table = webhook(&place, "ops", &server.url(), "'change'");
    let daemon = start(&place, &table.replace("timeout_seconds = 1", "timeout_seconds = 30"));
    change(&place, "alpha");
    change(&place, "omega");
    let ids = [server.next(), server.next()].map(|post| post.header("webhook-id").to_owned());
    assert_ne!(ids[0], ids[1]);
    daemon.terminate();
}

#[test]
fn what_cannot_be_read_of_the_log_or_of_a_receivers_place_mutes_no_receiver() {
    let place = Place::new();
    let server = Server::start(&[Does::Answer(500)]);
    let table = webhook(&place, "ops", &server.url(), "'change'");
    let daemon = start(&place, &table);
    change(&place, "alpha");
    server.next();
    daemon.terminate();
    // Reading it as a file is an error, as of a bad sector.
    fs::create_dir(place.path("events/00000000000000000001.jsonl")).expect("room");
    server.now(TAKES);
    let daemon = start(&place, &table);
    let is_about = |name: &str| {
        let message = server.next().json()["data"]["message"].to_string();
        message.contains(name)
    };
    // Attempts in vain of the daemon before are among them.
    while !is_about("alpha") {}
    daemon.terminate();
    let kept = place.path("receivers/ops.json");
    fs::remove_file(&kept).expect("it was written");
    fs::create_dir(&kept).expect("room");
    let daemon = start(&place, &table);
    change(&place, "omega");
    while !is_about("omega") {}
    assert_eq!(events(&place, "events_dropped").len(), 1);
    daemon.terminate();
}

/// It was posted the whole log of months, from its beginning.
#[test]
fn a_receiver_that_is_to_be_told_more_is_told_of_what_comes_and_of_nothing_old() {
    let place = Place::new();
    let server = Server::start(&[TAKES]);
    let table = |severity: &str| {
        webhook(&place, "ops", &server.url(), "") + &format!("severity = '{severity}'\n")
    };
    let daemon = start(&place, &table("error"));
    for nth in 0..6 {
        change(&place, &format!("old-{nth}"));
    }
    let last = events(&place, "change").last().expect("six changes").seq;
    place.wait_until("it has come past them", |place| {
        place.json(&["notify", "list"])[0]["delivered_seq"].as_u64() >= Some(last)
    });
    daemon.terminate();
    let daemon = start(&place, &table("info"));
    change(&place, "omega");
    let mut posts = std::iter::repeat_with(|| server.next().json()["data"].clone());
    let first = posts.find(|event| event["kind"] == "change").expect("there is one");
    assert!(first["message"].as_str().is_some_and(|it| it.contains("omega")), "{first}");
    daemon.terminate();
}

/// A webhook's directory was left, and with it the whole state directory.
#[test]
fn a_purge_of_the_package_knows_all_that_the_daemon_leaves_in_its_state_directory() {
    const POSTRM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/debian/postrm");
    let script = fs::read_to_string(POSTRM).expect("it is there");
    let removals = script.lines().filter_map(|line| line.trim().strip_prefix("rm -"));
    let names: Vec<&str> = removals.flat_map(str::split_whitespace).collect();
    let is_removed = |entry: &str| {
        names.iter().any(|name| match name.strip_suffix('*') {
            Some(begin) => entry.starts_with(begin),
            None => entry == *name,
        })
    };
    let place = Place::new();
    let server = Server::start(&[TAKES]);
    let configuration = webhook(&place, "ops", &server.url(), "'change'");
    let daemon = start(&place, &format!("api_listen = ['127.0.0.1:0']\n{configuration}"));
    change(&place, "alpha");
    server.next();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    daemon.terminate();
    let of_test = |name: &str| {
        let own = ["ashlar.toml", "secret", "ashlar.sock", "notify"];
        own.contains(&name) || name.ends_with(".img")
    };
    let entries =
        fs::read_dir(place.path("")).expect("it is there").map(|entry| entry.expect("one"));
    let left: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !of_test(name) && !is_removed(name))
        .collect();
    assert_eq!(left, [""; 0], "packaging/debian/postrm does not know it");
}
