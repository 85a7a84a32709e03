use std::collections::BTreeSet;

use super::*;
use crate::operations;

#[test]
fn each_operation_has_an_identifier_of_its_own() {
    let operations = operations();
    let ids: BTreeSet<&str> = operations.iter().map(|operation| operation.id).collect();
    assert_eq!(ids.len(), operations.len());
    let is_plain = |id: &str| id.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    assert!(ids.iter().all(|id| is_plain(id)), "{ids:?}");
}

#[test]
fn whoever_may_only_look_changes_nothing() {
    for operation in operations() {
        let asking = ["inspect_drive", "find_drives", "find_pools", "plan_pool", "plan_drive"];
        let only_asks = asking.contains(&operation.id);
        let looks = operation.method == Method::GET || only_asks;
        assert_eq!(operation.is_change(), !looks, "{}", operation.id);
        assert!(looks || operation.role > Role::Viewer, "{}", operation.id);
    }
}

#[test]
fn each_list_that_can_grow_is_read_page_by_page() {
    // What these answer is written in the program.
    let fixed = ["list_event_kinds", "list_errors"];
    let operations = operations();
    let lists = operations.iter().filter(|it| {
        it.method == Method::GET && matches!(it.answer, Answer::List(..)) && !fixed.contains(&it.id)
    });
    let mut found = 0;
    for list in lists {
        assert!(list.takes_query("limit") && list.takes_query("after"), "{}", list.id);
        found += 1;
    }
    assert_eq!(found, 12);
}

#[test]
fn what_loses_data_needs_the_admin() {
    let operations = operations();
    for id in ["destroy_pool", "destroy_and_erase_pool", "delete_volume", "wipe_volume"] {
        let operation = operations.iter().find(|operation| operation.id == id).expect(id);
        assert_eq!(operation.role, Role::Admin, "{id}");
    }
    assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
}

#[test]
fn each_code_is_one_that_some_operation_or_the_router_answers() {
    let operations = operations();
    // The last one is answered before anything is asked.
    let of_router =
        [ErrorCode::UnknownPath, ErrorCode::MethodNotAllowed, ErrorCode::TooManyClients];
    for code in ErrorCode::ALL {
        let is_answered = operations.iter().any(|operation| operation.may_fail_with(*code))
            || of_router.contains(code);
        // It is made where no client asks, and shown as the problem of a spare.
        assert!(is_answered || *code == ErrorCode::AnotherDrive, "{}", code.word());
    }
}

#[test]
fn the_words_of_codes_are_their_names() {
    for code in ErrorCode::ALL {
        let mut word = String::new();
        for c in format!("{code:?}").chars() {
            if c.is_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.push(c.to_ascii_lowercase());
        }
        assert_eq!(code.word(), word);
        assert_eq!(ErrorCode::of_word(&word), Some(*code));
        assert!(code.text().ends_with('.') && !code.title().ends_with('.'), "{word}");
    }
}

#[test]
fn the_document_describes_each_answer_and_names_each_error() {
    let document = serde_json::to_value(document(&operations())).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    let mut answers = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            assert!(operation["x-role"].is_string(), "{method} {path}");
            assert!(!operation["description"].as_str().unwrap_or_default().is_empty());
            for (status, answer) in operation["responses"].as_object().expect("responses") {
                let text = answer["description"].as_str().unwrap_or_default();
                assert!(!text.is_empty() && status.len() == 3, "{method} {path}: {status}");
                answers += 1;
            }
        }
    }
    assert!(answers > 200, "{answers}");
    let scheme = &document["components"]["securitySchemes"]["bearer"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&"http".into(), &"bearer".into()));
    assert_eq!(document["security"], serde_json::json!([{ "bearer": [] }]));
    let missing = &document["paths"]["/api/v1/pools/{pool}"]["get"]["responses"]["404"];
    let codes = &missing["content"]["application/problem+json"]["schema"]["allOf"][1];
    let code = &codes["properties"]["code"];
    assert_eq!(*code, serde_json::json!({ "type": "string", "enum": ["no_such_pool"] }));
}
