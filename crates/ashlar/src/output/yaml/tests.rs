use serde_json::json;

use super::*;

#[test]
fn a_reader_of_yaml_finds_what_json_says() {
    let all = json!([
        {"name": "v0", "hosts": [], "access": {"any": false, "nqns": ["nqn.2014-08.org:a", "-"]}},
        {"n": null, "deep": {"er": [[1, 2.5], [], [{"a": {}}]]}, "time": "2026-11-30T00:33:14Z"},
        ["on", "12:30", "0x10", "1e3", "5dc9", "", " a", "a ", "a: b", "a #b", "# c", "~", "{}"],
        ["line\nand line", "tab\t", "quote \" and '", "\u{7f}\u{85}", "é 中", "\\", "*a", "&a", "!a"],
        "nothing around it",
    ]);
    for value in [all.clone(), json!({"all": all}), json!([]), json!({}), json!("off"), json!(7)] {
        let text = text(&value);
        let read: Value =
            serde_yaml_ng::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!(read, value, "{text}");
    }
}

/// PyYAML, Ansible and Ruby go by YAML 1.1, in which these are no texts.
#[test]
fn what_another_reader_takes_for_a_truth_value_or_a_number_is_quoted() {
    for word in
        ["on", "Off", "YES", "n", "null", "12:30", "2026-11-30", "0b1", "1_000", ".inf", "="]
    {
        assert_eq!(text(&json!({"is": word})), format!("is: \"{word}\""));
    }
    assert_eq!(text(&json!({"on": "one"})), "\"on\": one");
    assert_eq!(text(&json!([{"name": "v0", "in": ["a"]}])), "- name: v0\n  in:\n  - a");
}
