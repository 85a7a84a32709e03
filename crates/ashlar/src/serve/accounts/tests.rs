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
    let accounts = open(directory.path()).0;
    let made = on_runtime(accounts.create_token(&token())).expect("it is made");
    let (again, _) = open(directory.path());
    assert!(again.who_shows(&made.secret).is_some());
    let file = fs::metadata(directory.path().join("accounts.json")).expect("it is there");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_is_damaged_lets_nobody_in_changes_nothing_and_is_read_once_it_is_whole() {
    let directory = tempfile::tempdir().expect("room");
    let path = directory.path().join("accounts.json");
    let (accounts, _) = open(directory.path());
    let made = on_runtime(accounts.create_token(&token())).expect("it is made");
    let whole = fs::read(&path).expect("it is there");
    fs::write(&path, "{").expect("room");
    let (accounts, why) = open(directory.path());
    let why = why.expect("it is damaged");
    assert!(why.contains("accounts.json is damaged") && why.contains("remove it"), "{why}");
    assert!(accounts.who_shows(&made.secret).is_none());
    let refused = on_runtime(accounts.create_token(&token())).expect_err("it is not known");
    assert!(refused.detail.contains("is damaged"), "{refused:?}");
    assert_eq!(fs::read(&path).expect("it is there"), b"{");
    assert!(on_runtime(read_again(&accounts, directory.path())).is_err());
    fs::write(&path, whole).expect("room");
    on_runtime(read_again(&accounts, directory.path())).expect("it is whole");
    assert!(accounts.who_shows(&made.secret).is_some());
}

#[test]
fn a_directory_that_cannot_be_written_makes_no_token() {
    let directory = tempfile::tempdir().expect("room");
    let accounts = open(directory.path()).0;
    directory.close().expect("it goes");
    let refused = on_runtime(accounts.create_token(&token())).expect_err("it cannot be kept");
    assert!(refused.detail.contains("accounts.json") && refused.hint.is_some(), "{refused:?}");
}
