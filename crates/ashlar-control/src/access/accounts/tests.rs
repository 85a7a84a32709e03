use std::sync::Arc;

use futures_util::FutureExt;

use super::*;

/// What comes of it, for which nobody has to wait.
fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("it is there at once")
}

/// A vault that keeps the last text, or nothing if it is broken.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<(Option<String>, bool)>>);

impl Vault for Memory {
    fn keep(&self, text: String) -> BoxFuture<'static, Result<(), VaultError>> {
        let mut memory = self.0.lock().unwrap();
        let kept = if memory.1 {
            let (why, hint) = ("the disk is full".to_owned(), "make room".to_owned());
            Err(VaultError { why, hint })
        } else {
            memory.0 = Some(text);
            Ok(())
        };
        Box::pin(std::future::ready(kept))
    }
}

impl Memory {
    fn accounts(&self) -> Accounts {
        let text = self.0.lock().unwrap().0.clone();
        Accounts::new(Box::new(self.clone()), text.as_deref()).expect("it is understood")
    }
}

fn request(name: &str) -> CreateToken {
    CreateToken { name: name.to_owned(), role: Role::Operator, expires_seconds: None }
}

#[test]
fn a_token_lets_its_owner_in_over_the_next_start_and_until_it_is_revoked() {
    let memory = Memory::default();
    let made = now(memory.accounts().create_token(&request("ci"))).expect("it is made");
    let accounts = memory.accounts();
    assert_eq!(accounts.who_shows(&made.secret), Some(("token ci".to_owned(), Role::Operator)));
    assert_eq!(accounts.who_shows("ashlar_0"), None);
    assert_eq!(accounts.tokens(), [made.token]);
    now(accounts.revoke_token("ci")).expect("it is there");
    assert_eq!(accounts.who_shows(&made.secret), None);
    assert_eq!(memory.accounts().who_shows(&made.secret), None);
    assert_eq!(now(accounts.revoke_token("ci")).unwrap_err().code, ErrorCode::NoSuchToken);
}

#[test]
fn a_token_has_a_name_of_its_own_and_an_end_that_can_be() {
    let accounts = Memory::default().accounts();
    now(accounts.create_token(&request("ci"))).expect("it is made");
    let refused = |request: CreateToken| now(accounts.create_token(&request)).unwrap_err().code;
    assert_eq!(refused(request("ci")), ErrorCode::TokenExists);
    assert_eq!(refused(request("a/b")), ErrorCode::InvalidName);
    let endless = CreateToken { expires_seconds: Some(u64::MAX), ..request("cd") };
    assert_eq!(refused(endless), ErrorCode::InvalidSetting);
}

#[test]
fn what_cannot_be_kept_is_not_made() {
    let memory = Memory::default();
    let accounts = memory.accounts();
    memory.0.lock().unwrap().1 = true;
    let refused = now(accounts.create_token(&request("ci"))).unwrap_err();
    assert_eq!(refused.code, ErrorCode::StateNotWritten);
    assert!(accounts.tokens().is_empty());
}

#[test]
fn accounts_that_are_not_understood_let_nobody_in() {
    for damaged in ["", "{", r#"{"tokens":[]}"#, r#"{"tokens":[],"keys":[],"more":1}"#] {
        assert!(Accounts::new(Box::new(Memory::default()), Some(damaged)).is_err(), "{damaged}");
    }
}
