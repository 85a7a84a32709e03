use std::os::unix::fs::PermissionsExt;

use ashlar_control::Role;
use ashlar_control::types::CreateToken;

use super::*;

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn token() -> CreateToken {
    CreateToken { name: "ci".to_owned(), role: Role::Viewer, expires_seconds: None }
}

#[test]
fn a_token_is_known_after_the_next_start_and_nobody_else_may_read_the_file() {
    let directory = tempfile::tempdir().expect("room");
    let accounts = open(directory.path()).expect("there are none");
    let made = on_runtime(accounts.create_token(&token())).expect("it is made");
    let again = open(directory.path()).expect("it is readable");
    assert!(again.who_shows(&made.secret).is_some());
    let file = fs::metadata(directory.path().join("accounts.json")).expect("it is there");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_is_damaged_is_named_with_the_way_out() {
    let directory = tempfile::tempdir().expect("room");
    fs::write(directory.path().join("accounts.json"), "{").expect("room");
    let said = format!("{:#}", open(directory.path()).err().expect("it is refused"));
    assert!(said.contains("accounts.json is damaged") && said.contains("remove it"), "{said}");
}

#[test]
fn a_directory_that_cannot_be_written_makes_no_token() {
    let directory = tempfile::tempdir().expect("room");
    let accounts = open(directory.path()).expect("there are none");
    directory.close().expect("it goes");
    let refused = on_runtime(accounts.create_token(&token())).expect_err("it cannot be kept");
    assert!(refused.detail.contains("accounts.json") && refused.hint.is_some(), "{refused:?}");
}
