use axum::response::IntoResponse;

use super::*;
use crate::access::Role;
use crate::consent::Consent;
use crate::error::ApiError;

fn caller() -> Caller {
    Caller { uid: Some(1000), pid: Some(42), role: Role::Operator, ..Caller::default() }
}

/// The change that a request of the operation with that identifier asks for.
fn change(id: &str, named: &[(&str, &str)], body: &str) -> Deed {
    let operation = crate::operations().into_iter().find(|operation| operation.id == id);
    let body = Bytes::copy_from_slice(body.as_bytes());
    deed(&operation.expect("there is one"), named, &body, &caller())
}

const TANK: (&str, &str) = ("pool", "tank");
const V0: (&str, &str) = ("volume", "v0");

#[test]
fn a_change_says_what_by_whom_and_with_what_result() {
    let done = change("allow_hosts", &[TANK, V0], r#"{"hosts":["nqn.a"]}"#);
    let told = done.answered(&().into_response()).happening().expect("it is told");
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
fn what_a_request_has_as_null_is_not_told_as_asked_for() {
    let asked = r#"{"warn_percent":80,"recon_p99_us":null}"#;
    assert_eq!(change("change_pool", &[TANK], asked).request, r#"{"warn_percent":80}"#);
}

#[test]
fn a_change_is_of_the_pool_that_it_has_opened_or_that_was_called_so() {
    let known = |name: &str| Some((name.to_owned(), "uuid".to_owned()));
    let import = change("import_pool", &[], r#"{"drives":["/d"]}"#);
    assert!(import.opens_pool());
    let import = import.of_pool(known("tank"));
    assert_eq!((import.pool.as_deref(), import.pool_uuid.as_deref()), (Some("tank"), Some("uuid")));
    let by_uuid = change("change_volume", &[("pool", "uuid"), ("volume", "v")], "");
    let by_uuid = by_uuid.of_pool(known("tank"));
    assert_eq!(by_uuid.about(), "tank/v");
    let rename = change("rename_pool", &[TANK], r#"{"name":"big"}"#).of_pool(known("tank"));
    assert_eq!((rename.pool.as_deref(), rename.pool_uuid.as_deref()), (Some("tank"), Some("uuid")));
    assert_eq!(change("create_pool", &[], r#"{"name":"new"}"#).of_pool(None).pool_uuid, None);
}

#[test]
fn a_refusal_is_told_with_its_reason_and_a_question_is_not_told() {
    let refusal = ApiError::new(ErrorCode::NoSuchPool, "there is no pool 'tonk'");
    let told = change("destroy_pool", &[("pool", "tonk")], "")
        .answered(&refusal.into_response())
        .happening();
    let told = told.expect("it is told");
    assert_eq!(
        told.message,
        "pool destroy tonk by user 1000, process 42: refused: there is no pool 'tonk'"
    );
    assert_eq!((told.severity, told.result.as_deref()), (Severity::Warning, Some("refused")));
    let question =
        Consent::Missing.check(|| "all is lost".to_owned()).expect_err("nobody has consented");
    assert!(
        change("destroy_pool", &[TANK], "")
            .answered(&question.into_response())
            .happening()
            .is_none()
    );
}

#[test]
fn what_may_be_done_in_part_has_failed_and_was_not_refused() {
    let request = format!("{{\"name\":\"{}\"}}", "n".repeat(1000));
    let answered = |code| {
        let error = ApiError::new(code, "a reason").into_response();
        change("change_volume", &[TANK], &request).answered(&error)
    };
    let failed = answered(ErrorCode::StateNotWritten);
    assert_eq!((failed.result.as_str(), failed.may_be_done()), ("failed", true));
    assert_eq!(failed.request, request, "all that was asked for is kept");
    assert_eq!(failed.happening().expect("it is told").severity, Severity::Warning);
    for code in [ErrorCode::VolumeExists, ErrorCode::PoolUnavailable, ErrorCode::PoolReadOnly] {
        let refused = answered(code);
        assert_eq!(
            (refused.result.as_str(), refused.may_be_done()),
            ("refused", false),
            "{code:?}"
        );
    }
}

#[test]
fn what_a_client_sends_makes_no_event_long_or_unreadable() {
    let body = format!("{{\n\t\"name\": \"{}\u{1b}\"}}", "ü".repeat(5000));
    let long = "x".repeat(5000);
    let change = change("change_pool", &[("pool", &long)], &body);
    let told = change.answered(&().into_response()).happening().expect("it is told");
    assert!(
        told.message.len() < 600 && !told.message.contains(char::is_control),
        "{}",
        told.message
    );
}

#[test]
fn what_is_to_be_made_is_named_as_what_there_is() {
    let target = |id: &str, body: &str| {
        let told =
            change(id, &[], body).answered(&().into_response()).happening().expect("it is told");
        (told.pool.unwrap_or_default(), told.volume.unwrap_or_default())
    };
    let both = |pool: &str, volume: &str| (pool.to_owned(), volume.to_owned());
    assert_eq!(target("create_volume", r#"{"pool":"tank","name":"v0"}"#), both("tank", "v0"));
    assert_eq!(target("create_pool", r#"{"name":"tank","drives":[]}"#), both("tank", ""));
    assert_eq!(target("import_pool", r#"{"pool":"tank","name":"dozer"}"#), both("tank", ""));
    assert_eq!(target("import_pool", r#"{"pool":null,"name":"dozer"}"#), both("dozer", ""));
    assert_eq!(target("create_pool", "no JSON"), both("", ""));
}

#[test]
fn a_change_is_called_as_the_command_line_calls_it() {
    let called = |id: &str, body: &str| change(id, &[TANK, V0], body).command;
    assert_eq!(called("change_volume", r#"{"size_bytes":4096}"#), "volume resize");
    assert_eq!(called("change_volume", r#"{"name":"v1"}"#), "volume rename");
    assert_eq!(called("change_volume", r#"{"write_protected":true}"#), "volume set");
    assert_eq!(called("change_volume", r#"{"atomic_write_bytes":0}"#), "volume set");
    assert_eq!(called("wipe_volume", ""), "volume wipe");
    assert_eq!(called("destroy_and_erase_pool", ""), "pool destroy --secure");
    assert_eq!(called("remove_drive", r#"{"cancel":true}"#), "pool remove-drive --cancel");
    assert_eq!(called("remove_drive", r#"{"cancel":false}"#), "pool remove-drive");
}

#[test]
fn each_change_names_all_that_its_path_does() {
    for operation in crate::operations().iter().filter(|operation| operation.is_change()) {
        let names = operation.path.split('/');
        let names = names.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let named: Vec<(&str, String)> = names.map(|name| (name, format!("the-{name}"))).collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(name, at)| (*name, &**at)).collect();
        let about = deed(operation, &named, &Bytes::new(), &caller()).about();
        for (_, at) in named {
            assert!(about.contains(at), "{}: {about}", operation.id);
        }
    }
}

#[test]
fn a_change_says_which_token_key_or_policy_it_makes_and_takes_away() {
    let told =
        |deed: Deed| deed.answered(&().into_response()).happening().expect("it is told").message;
    let by = "by user 1000, process 42: done";
    let gold = ("policy", "gold");
    let expected = [
        (change("revoke_token", &[("token", "ci")], ""), "token revoke ci"),
        (change("remove_key", &[("key", "sso")], ""), "key remove sso"),
        (change("delete_policy", &[TANK, gold], ""), "qos delete tank gold"),
        (change("test_receiver", &[("receiver", "ops")], ""), "notify test ops"),
        (change("stop_job", &[TANK, ("kind", "scrub")], ""), "job stop tank scrub"),
    ];
    for (deed, message) in expected {
        assert_eq!(told(deed), format!("{message} {by}"));
    }
    let body = r#"{"name":"ci","role":"viewer"}"#;
    assert_eq!(told(change("create_token", &[], body)), format!("token create ci {body} {by}"));
    // Somebody sends a private key by mistake.
    let body = r#"{"name":"sso","role":"operator","public_key_pem":"-----BEGIN PRIVATE KEY"}"#;
    let kept = r#"{"name":"sso","role":"operator"}"#;
    assert_eq!(told(change("add_key", &[], body)), format!("key add sso {kept} {by}"));
}

#[test]
fn little_is_kept_of_a_request_that_was_not_done() {
    let body = format!(r#"{{"name":"{}"}}"#, "a".repeat(4000));
    let deed = || change("change_pool", &[TANK], &body);
    assert!(deed().answered(&().into_response()).request.len() > 4000);
    let refusal = ApiError::new(ErrorCode::InvalidName, "it is too long").into_response();
    assert!(deed().answered(&refusal).request.len() < 300);
}
