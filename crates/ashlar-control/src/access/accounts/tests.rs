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
    let known = Shown::Known("token ci".to_owned(), Role::Operator);
    assert_eq!(accounts.who_shows(&made.secret), known);
    assert_eq!(accounts.who_shows("ashlar_0"), Shown::Unknown);
    assert_eq!(accounts.tokens(), [made.token]);
    now(accounts.revoke_token("ci")).expect("it is there");
    assert_eq!(accounts.who_shows(&made.secret), Shown::Unknown);
    assert_eq!(memory.accounts().who_shows(&made.secret), Shown::Unknown);
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

#[test]
fn a_signed_token_is_looked_up_once_it_was_seen_and_until_its_key_goes() {
    let accounts = Memory::default().accounts();
    let (pem, sign) = crate::access::jwt::tests::pair();
    let name = "sso".to_owned();
    let key = AddKey { name, role: Role::Operator, public_key_pem: pem.to_owned() };
    now(accounts.add_key(&key)).expect("it is a key");
    let (good, over) = (sign(600), sign(-600));
    let known = Shown::Known("key sso".to_owned(), Role::Operator);
    assert_eq!(accounts.look_up(&good), Shown::Unknown);
    assert_eq!(accounts.who_shows(&good), known);
    assert_eq!(accounts.look_up(&good), known);
    assert_eq!(accounts.who_shows(&over), Shown::Over);
    now(accounts.remove_key("sso")).expect("it is there");
    assert_eq!(accounts.look_up(&good), Shown::Unknown);
    assert_eq!(accounts.who_shows(&over), Shown::Unknown);
}

#[test]
fn a_token_that_has_expired_is_told_apart_from_one_that_nobody_has() {
    let accounts = Memory::default().accounts();
    let made = now(accounts.create_token(&request("ci"))).expect("it is made");
    accounts.kept().tokens[0].expires_at = Some("2020-01-01T00:00:00Z".to_owned());
    assert_eq!(accounts.who_shows(&made.secret), Shown::Over);
    let wrong = format!("{}0", &made.secret[..made.secret.len() - 1]);
    assert!(wrong == made.secret || accounts.who_shows(&wrong) == Shown::Unknown);
}

#[test]
fn who_is_kept_out_is_so_at_once_whatever_the_vault_does_and_it_learns_that_later() {
    let memory = Memory::default();
    let accounts = memory.accounts();
    let made = now(accounts.create_token(&request("ci"))).expect("it is made");
    memory.0.lock().unwrap().1 = true;
    let mut changes = accounts.changes();
    let said = now(accounts.revoke_token("ci")).unwrap_err();
    assert_eq!(said.code, ErrorCode::StateNotWritten);
    assert!(said.detail.contains("after the next start"), "{said}");
    assert_eq!(accounts.who_shows(&made.secret), Shown::Unknown);
    assert!(changes.has_changed().unwrap() && accounts.why_unwritten().is_some());
    changes.mark_unchanged();
    now(accounts.write_again());
    assert!(accounts.why_unwritten().is_some());
    memory.0.lock().unwrap().1 = false;
    now(accounts.write_again());
    assert_eq!(accounts.why_unwritten(), None);
    assert_eq!(memory.accounts().who_shows(&made.secret), Shown::Unknown);
}
