use anyhow::anyhow;

use super::*;

#[test]
fn an_error_is_json_for_whoever_has_asked_for_that() {
    let error = anyhow!("it is \"gone\"");
    assert_eq!(refusal("ashlar", &error, Output::Table), "ashlar: it is \"gone\"");
    let printed: serde_json::Value =
        serde_json::from_str(&refusal("ashlar", &error, Output::Json)).unwrap();
    assert_eq!(printed, serde_json::json!({ "error": "it is \"gone\"" }));
}

#[test]
fn what_the_api_says_of_an_error_is_there_for_programs() {
    let (code, detail, hint) =
        ("no_such_pool".to_owned(), "it is gone".to_owned(), Some("look".to_owned()));
    let error = anyhow::Error::from(Refused { code, detail, hint });
    assert_eq!(refusal("ashlar", &error, Output::Table), "ashlar: it is gone\n  look");
    let printed: serde_json::Value =
        serde_json::from_str(&refusal("ashlar", &error, Output::Json)).unwrap();
    let expected =
        serde_json::json!({ "error": "it is gone", "code": "no_such_pool", "hint": "look" });
    assert_eq!(printed, expected);
}
