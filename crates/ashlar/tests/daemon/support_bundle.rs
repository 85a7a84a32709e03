//! The bundle for whoever is to help.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Place, text};

const SECRET: &str = "hunter2hunter2hunter2";

/// What a file of the bundle holds.
fn unpacked(place: &Place, name: &str) -> String {
    let mut files = Command::new("tar");
    files
        .arg("-xzf")
        .arg(place.path("bundle.tar.gz"))
        .arg("--to-stdout")
        .args(["--wildcards", name]);
    let output = files.output().expect("tar runs");
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn bundle(place: &Place, more: &[&str]) -> String {
    let file = place.path("bundle.tar.gz");
    let state = place.path("");
    let arguments = ["support", file.to_str().unwrap(), "--state", state.to_str().unwrap()];
    place.ok(&[&arguments[..], more].concat())
}

#[test]
fn a_bundle_has_what_helps_and_no_secret() {
    let place = Place::new();
    std::fs::write(place.path("ops.secret"), format!("{SECRET}\n")).expect("room");
    let secret_file = place.path("ops.secret");
    let configuration = format!(
        "[[webhook]]\nname = \"ops\"\nurl = \"http://127.0.0.1:9/{SECRET}\"\nsecret_file = \"{}\"\n",
        secret_file.display()
    );
    let _daemon = place.start_configured(&configuration);
    place.create_pool("tank", 0..3);
    let token = place.ok(&["token", "create", "ci", "--role", "viewer"]);
    let config = place.path("ashlar.toml");
    let said = bundle(&place, &["--config", config.to_str().unwrap()]);
    assert!(said.contains("no secrets"), "{said}");
    let file = place.path("bundle.tar.gz");
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let all = unpacked(&place, "*");
    for secret in [SECRET, token.trim()] {
        assert!(!all.contains(secret), "a secret is in the bundle");
    }
    assert!(unpacked(&place, "*/api/status.json").contains("\"tank\""));
    assert!(unpacked(&place, "*/api/metrics.txt").contains("ashlar_pool"));
    assert!(unpacked(&place, "*/api/audit.json").contains("pool create"));
    assert!(unpacked(&place, "*/api/receivers.json").contains("http://127.0.0.1:9/(left out)"));
    assert!(unpacked(&place, "*/config/ashlar.toml").contains("ops.secret"));
    assert!(unpacked(&place, "*/state/node.toml").contains("tank"));
    assert!(unpacked(&place, "*/machine/memory.txt").contains("MemTotal"));
    let again = place.refused(&["support", file.to_str().unwrap()]);
    assert!(again.contains("bundle.tar.gz") && again.contains("name another file"), "{again}");
}

#[test]
fn a_bundle_without_a_daemon_says_what_it_lacks() {
    let place = Place::new();
    let said = bundle(&place, &[]);
    assert!(said.contains("missing: api: there is no daemon's socket"), "{said}");
    let contents = unpacked(&place, "*/contents.json");
    assert!(contents.contains("\"part\": \"api\""), "{contents}");
    assert!(unpacked(&place, "*/machine/kernel.txt").contains("Linux"));
}
