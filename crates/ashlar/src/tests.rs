use super::*;

#[test]
fn an_error_is_json_for_whoever_has_asked_for_that() {
    assert_eq!(refusal("it is \"gone\"", Output::Table), "ashlar: it is \"gone\"");
    let printed: serde_json::Value = serde_json::from_str(&refusal("it is \"gone\"", Output::Json)).unwrap();
    assert_eq!(printed, serde_json::json!({ "error": "it is \"gone\"" }));
}
