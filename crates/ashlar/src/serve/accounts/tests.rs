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
    assert!(again.who_shows(&made.secret).known().is_some());
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
    assert!(accounts.who_shows(&made.secret).known().is_none());
    let refused = on_runtime(accounts.create_token(&token())).expect_err("it is not known");
    assert!(refused.detail.contains("is damaged"), "{refused:?}");
    assert_eq!(fs::read(&path).expect("it is there"), b"{");
    let reading = OneByOne::new();
    assert!(on_runtime(read_again(&accounts, directory.path(), &reading)).is_err());
    fs::write(&path, whole).expect("room");
    on_runtime(read_again(&accounts, directory.path(), &reading)).expect("it is whole");
    assert!(accounts.who_shows(&made.secret).known().is_some());
}

#[test]
fn a_directory_that_cannot_be_written_makes_no_token() {
    let directory = tempfile::tempdir().expect("room");
    let accounts = open(directory.path()).0;
    directory.close().expect("it goes");
    let refused = on_runtime(accounts.create_token(&token())).expect_err("it cannot be kept");
    assert!(refused.detail.contains("accounts.json") && refused.hint.is_some(), "{refused:?}");
}

/// The next file that is written hangs until somebody reads it.
fn hang(directory: &Path) -> PathBuf {
    let new = directory.join("accounts.json.new");
    let made = std::process::Command::new("mkfifo").arg(&new).status().expect("it runs");
    assert!(made.success());
    new
}

#[test]
fn a_write_that_hangs_brings_no_token_back_that_is_revoked_after_it() {
    let directory = tempfile::tempdir().expect("room");
    let path = path_in(directory.path());
    let (owner, longest) = (directory.path().to_owned(), Duration::from_millis(50));
    let vault = File { directory: owner, path: path.clone(), turn: OneByOne::new(), longest };
    let accounts = Accounts::new(Box::new(vault), None).expect("there are none");
    let made = on_runtime(accounts.create_token(&token())).expect("it is made");
    let new = hang(directory.path());
    let other = CreateToken { name: "other".to_owned(), ..token() };
    on_runtime(accounts.create_token(&other)).expect_err("it hangs");
    let revoked = on_runtime(accounts.revoke_token("ci"));
    revoked.expect_err("the write before hangs still: this one would come before it");
    assert!(accounts.who_shows(&made.secret).known().is_none(), "it is let in no more");
    drop(fs::read(&new).expect("the write goes on"));
    while accounts.why_unwritten().is_some() {
        on_runtime(accounts.write_again());
    }
    let (after, why) = open(directory.path());
    assert!(why.is_none() && after.who_shows(&made.secret).known().is_none(), "{why:?}");
    let kept = fs::read_to_string(&path).expect("it is there");
    assert!(!kept.contains("other"), "what was refused is not there: {kept}");
}
