use axum::response::IntoResponse;

use super::*;
use crate::consent::Consent;
use crate::error::{ApiError, ErrorKind};

const PEER: Peer = Peer { uid: Some(1000), pid: Some(42) };

fn change(method: &Method, path: &str, body: &str) -> Change {
    Change::of(method, path, &Bytes::copy_from_slice(body.as_bytes()), PEER)
        .expect("it changes something")
}

#[test]
fn a_change_says_what_by_whom_and_with_what_result() {
    let done = change(&Method::POST, "/volumes/tank/v0/allow", r#"{"hosts":["nqn.a"]}"#);
    let told = done.happening(&().into_response()).expect("it is told");
    assert_eq!(
        told.message,
        r#"volume allow tank/v0 {"hosts":["nqn.a"]} by user 1000, process 42: done"#
    );
    assert_eq!((told.kind.as_str(), told.severity), ("change", Severity::Info));
    assert_eq!(
        (told.operation.as_deref(), told.result.as_deref()),
        (Some("volume allow"), Some("done"))
    );
    assert_eq!((told.pool.as_deref(), told.volume.as_deref()), (Some("tank"), Some("v0")));
    assert_eq!((told.uid, told.pid), (Some(1000), Some(42)));
}

#[test]
fn a_refusal_is_told_with_its_reason_and_a_question_is_not_told() {
    let refusal = ApiError::new(ErrorKind::NotFound, "no_such_pool", "there is no pool 'tonk'");
    let told = change(&Method::DELETE, "/pools/tonk", "").happening(&refusal.into_response());
    let told = told.expect("it is told");
    assert_eq!(
        told.message,
        "pool destroy tonk by user 1000, process 42: refused: there is no pool 'tonk'"
    );
    assert_eq!((told.severity, told.result.as_deref()), (Severity::Warning, Some("refused")));
    let question =
        Consent::Missing.check(|| "all is lost".to_owned()).expect_err("nobody has consented");
    assert!(
        change(&Method::DELETE, "/pools/tank", "").happening(&question.into_response()).is_none()
    );
}

#[test]
fn what_a_client_sends_makes_no_event_long_or_unreadable() {
    let body = format!("{{\n\t\"name\": \"{}\u{1b}\"}}", "ü".repeat(5000));
    let path = format!("/pools/{}", "x".repeat(5000));
    let told =
        change(&Method::PATCH, &path, &body).happening(&().into_response()).expect("it is told");
    assert!(
        told.message.len() < 600 && !told.message.contains(char::is_control),
        "{}",
        told.message
    );
}

#[test]
fn every_request_of_the_api_that_changes_something_has_its_name() {
    let document = crate::routes::document();
    let value = serde_json::to_value(document).expect("JSON");
    let mut changes = 0;
    for (path, methods) in value["paths"].as_object().expect("paths") {
        let path =
            path.strip_prefix(crate::routes::API_ROOT).expect("the root").trim_start_matches('/');
        let path: Vec<&str> = path.split('/').collect();
        for method in methods.as_object().expect("methods").keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let only_looks = method == Method::GET || path == ["drives", "inspect"];
            assert_eq!(
                operation(&method, &path, &Value::Null).is_none(),
                only_looks,
                "{method} {path:?}"
            );
            changes += usize::from(!only_looks);
        }
    }
    assert!(changes > 20, "{changes}");
}

#[test]
fn what_is_to_be_made_is_named_as_what_there_is() {
    let target = |path: &str, body: &str| {
        let told =
            change(&Method::POST, path, body).happening(&().into_response()).expect("it is told");
        (told.pool.unwrap_or_default(), told.volume.unwrap_or_default())
    };
    let both = |pool: &str, volume: &str| (pool.to_owned(), volume.to_owned());
    assert_eq!(target("/volumes", r#"{"pool":"tank","name":"v0"}"#), both("tank", "v0"));
    assert_eq!(target("/pools", r#"{"name":"tank","drives":[]}"#), both("tank", ""));
    assert_eq!(target("/import-pool", r#"{"pool":"tank","name":"dozer"}"#), both("tank", ""));
    assert_eq!(target("/import-pool", r#"{"pool":null,"name":"dozer"}"#), both("dozer", ""));
    assert_eq!(target("/pools", "no JSON"), both("", ""));
}

#[test]
fn a_change_is_called_as_the_command_line_calls_it() {
    let called = |method: Method, path: &str, body: &str| change(&method, path, body).operation;
    let volume = "/volumes/tank/v0";
    assert_eq!(called(Method::PATCH, volume, r#"{"size_bytes":4096}"#), "volume resize");
    assert_eq!(called(Method::PATCH, volume, r#"{"name":"v1"}"#), "volume rename");
    assert_eq!(called(Method::PATCH, volume, r#"{"write_protected":true}"#), "volume set");
    assert_eq!(called(Method::PATCH, volume, r#"{"atomic_write_bytes":0}"#), "volume set");
    assert_eq!(called(Method::POST, "/volumes/tank/v0/wipe", ""), "volume wipe");
    assert_eq!(called(Method::POST, "/pools/tank/erase", ""), "pool destroy --secure");
    let removal = "/pools/tank/remove-drive";
    assert_eq!(called(Method::POST, removal, r#"{"cancel":true}"#), "pool remove-drive --cancel");
    assert_eq!(called(Method::POST, removal, r#"{"cancel":false}"#), "pool remove-drive");
}
