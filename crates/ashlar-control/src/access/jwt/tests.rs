use jsonwebtoken::{EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};

use super::*;

/// A key for this test alone.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIC0wV6q8nTZO+rbwlKeHoahq5dadKqFLO3hNRtNqW8yG
-----END PRIVATE KEY-----";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA2Mfi9O04dUPF28l6JsJ3I51qbnRDoBpF+FlNX5h5Kh8=
-----END PUBLIC KEY-----";
/// Of another pair.
const OTHER_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAyWKJ1Ut+ZKqcxwW4rNEDlXb09KmjBO6V/nblach34zM=
-----END PUBLIC KEY-----";

const RSA_1024: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC3sQ5TQ95fO3uOYBHMBwmuFa4C
eBuvnJKRN+V7sp2pvkf3RtScqEO001czYwbGZh/OgTftE/+JO2IvbExj2QHZt9Ze
kzrxHEjjIdMDLTP692dY9cdHVibCTQH9XDdBjQpGW2xrAdq1uPXmMGjPzvj4OVQb
/sp1ZiszYvqK6XIFDQIDAQAB
-----END PUBLIC KEY-----";
const RSA_2048: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEApDp62/w8VZ3E2Hp7IpUR
mODRiV8Cx8BJqO2GeKI+eWTsckCMJN5KvjRCmN3hwXEz5dvj4qD7dPorotZK5jAA
OkDQnUy5ziNhYVZCacqFd4MxpPoaLkO1M6oT/IVvEb5414Xu1JiN2aLk5eznWhrQ
aaY5N+Tt4hG9CgHq47Go1omxbmuCXdPh3m0siON7RCZbcxYzjWMPp1hAMIgdVaG5
Jj0ynKS+g//RA8oYj1BoJAdxdUMiJ0OO/jr9uzXhepxCwTG3zz3HHIDYiP+Ps54o
EPy4BlBvFcET8ej3McmfK8NjVpyzPNeEEsgKTeqDQEb+QZmde2JQ/ZavJTJgv+oX
wQIDAQAB
-----END PUBLIC KEY-----";

fn key(pem: &str, role: Role) -> KeptKey {
    KeptKey::new("sso", role, String::new(), pem).expect("it is a key")
}

fn signed(claims: &Value) -> String {
    let key = EncodingKey::from_ed_pem(PRIVATE.as_bytes()).expect("it is a key");
    encode(&Header::new(Algorithm::EdDSA), claims, &key).expect("it signs")
}

/// A public key, and who signs tokens of operators with it that end in so many seconds.
pub(in crate::access) fn pair() -> (&'static str, fn(i64) -> String) {
    (PUBLIC, |seconds| signed(&json!({ "role": "operator", "exp": in_seconds(seconds) })))
}

fn in_seconds(seconds: i64) -> i64 {
    get_current_timestamp() as i64 + seconds
}

#[test]
fn a_signed_token_gives_its_role_and_no_more_than_that_of_the_key() {
    let token = |role| signed(&json!({ "sub": "ann", "role": role, "exp": in_seconds(600) }));
    let checked = |key_role, role| match key(PUBLIC, key_role).check(&token(role)) {
        Checked::Holds { account, role, .. } => Some((account, role)),
        _ => None,
    };
    let ann = |role| Some(("key sso (ann)".to_owned(), role));
    assert_eq!(checked(Role::Admin, "operator"), ann(Role::Operator));
    assert_eq!(checked(Role::Viewer, "admin"), ann(Role::Viewer));
    assert_eq!(checked(Role::Admin, "emperor"), None);
    assert_eq!(key(PUBLIC, Role::Admin).shown().algorithm, "EdDSA");
}

#[test]
fn a_token_that_is_over_or_not_yet_or_never_ends_is_not_believed() {
    let key = key(PUBLIC, Role::Admin);
    let past = in_seconds(-600);
    for claims in [
        json!({ "role": "admin" }),
        json!({ "role": "admin", "exp": in_seconds(600), "nbf": in_seconds(300) }),
        json!({ "exp": in_seconds(600) }),
    ] {
        assert_eq!(key.check(&signed(&claims)), Checked::Unknown, "{claims}");
    }
    assert_eq!(key.check(&signed(&json!({ "role": "admin", "exp": past }))), Checked::Over);
}

#[test]
fn what_another_key_or_nobody_has_signed_is_not_believed() {
    let claims = json!({ "role": "admin", "exp": in_seconds(600) });
    let token = signed(&claims);
    assert!(matches!(key(PUBLIC, Role::Admin).check(&token), Checked::Holds { .. }));
    let over = signed(&json!({ "role": "admin", "exp": in_seconds(-600) }));
    for token in [&token, &over] {
        assert_eq!(key(OTHER_PUBLIC, Role::Admin).check(token), Checked::Unknown);
    }
    let (rest, _) = token.rsplit_once('.').expect("it has a signature");
    // {"alg":"none"}, and a signature by the public key as if it were a secret.
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", rest.split('.').next_back().expect("it"));
    let shared = EncodingKey::from_secret(PUBLIC.as_bytes());
    let shared = encode(&Header::new(Algorithm::HS256), &claims, &shared).expect("it signs");
    for wrong in [rest, &format!("{rest}."), &unsigned, &shared, "", "..", "a.b.c"] {
        assert_eq!(key(PUBLIC, Role::Admin).check(wrong), Checked::Unknown, "{wrong}");
    }
}

#[test]
fn what_is_no_public_key_is_refused() {
    for wrong in ["", "a key", PRIVATE, &PUBLIC.replace("MCow", "MCoX")] {
        assert!(KeptKey::new("sso", Role::Admin, String::new(), wrong).is_err(), "{wrong}");
    }
}

#[test]
fn an_rsa_key_of_which_no_signature_could_be_checked_is_refused() {
    let taken = |pem: &str| KeptKey::new("sso", Role::Admin, String::new(), pem);
    assert_eq!(taken(RSA_2048).expect("it is a key").shown().algorithm, "RS256");
    assert_eq!(taken(RSA_1024).expect_err("it is too short"), NoKey::WrongSize);
}
