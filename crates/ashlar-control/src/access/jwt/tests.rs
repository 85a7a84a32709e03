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

fn key(pem: &str, role: Role) -> KeptKey {
    KeptKey::new("sso", role, String::new(), pem).expect("it is a key")
}

fn signed(claims: &Value) -> String {
    let key = EncodingKey::from_ed_pem(PRIVATE.as_bytes()).expect("it is a key");
    encode(&Header::new(Algorithm::EdDSA), claims, &key).expect("it signs")
}

fn in_seconds(seconds: i64) -> i64 {
    get_current_timestamp() as i64 + seconds
}

#[test]
fn a_signed_token_gives_its_role_and_no_more_than_that_of_the_key() {
    let token = |role| signed(&json!({ "sub": "ann", "role": role, "exp": in_seconds(600) }));
    let checked = |key_role, role| key(PUBLIC, key_role).check(&token(role));
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
        json!({ "role": "admin", "exp": past }),
        json!({ "role": "admin" }),
        json!({ "role": "admin", "exp": in_seconds(600), "nbf": in_seconds(300) }),
        json!({ "exp": in_seconds(600) }),
    ] {
        assert_eq!(key.check(&signed(&claims)), None, "{claims}");
    }
}

#[test]
fn what_another_key_or_nobody_has_signed_is_not_believed() {
    let claims = json!({ "role": "admin", "exp": in_seconds(600) });
    let token = signed(&claims);
    assert!(key(PUBLIC, Role::Admin).check(&token).is_some());
    assert_eq!(key(OTHER_PUBLIC, Role::Admin).check(&token), None);
    let (rest, _) = token.rsplit_once('.').expect("it has a signature");
    // {"alg":"none"}, and a signature by the public key as if it were a secret.
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", rest.split('.').next_back().expect("it"));
    let shared = EncodingKey::from_secret(PUBLIC.as_bytes());
    let shared = encode(&Header::new(Algorithm::HS256), &claims, &shared).expect("it signs");
    for wrong in [rest, &format!("{rest}."), &unsigned, &shared, "", "..", "a.b.c"] {
        assert_eq!(key(PUBLIC, Role::Admin).check(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_no_public_key_is_refused() {
    for wrong in ["", "a key", PRIVATE, &PUBLIC.replace("MCow", "MCoX")] {
        assert!(KeptKey::new("sso", Role::Admin, String::new(), wrong).is_err(), "{wrong}");
    }
}
