use serde_json::json;

use super::*;

fn csv_of(value: &Value) -> String {
    Output::Csv.text(value, |_| unreachable!("it is for programs")).expect("it is plain data")
}

#[test]
fn an_entry_is_a_line_with_dots_in_names_and_semicolons_in_lists() {
    let volumes = json!([
        {"name": "v0", "access": {"allow_any": false, "hosts": ["a", "b"]}, "ratio": null},
        {"name": "v,1", "access": {"allow_any": true, "hosts": []}, "ratio": 2.5},
    ]);
    let said = "name,access.allow_any,access.hosts,ratio\nv0,false,a;b,\n\"v,1\",true,,2.5";
    // The names of an object have an order of their own where nothing keeps the one they came in.
    let sorted = |text: &str| {
        let mut cells: Vec<_> = text
            .lines()
            .map(|line| {
                let mut cells: Vec<_> = line.split(',').map(str::to_owned).collect();
                cells.sort();
                cells
            })
            .collect();
        cells.sort();
        cells
    };
    assert_eq!(sorted(&csv_of(&volumes)), sorted(said));
}

#[test]
fn an_empty_list_is_an_empty_file_and_a_single_object_a_line() {
    assert_eq!(csv_of(&json!([])), "");
    assert_eq!(csv_of(&json!({"done": "exported"})), "done\nexported");
    assert_eq!(csv_of(&json!(["a", "b"])), "value\na\nb");
}

#[test]
fn entries_that_follow_stand_below_the_names_of_the_first() {
    let mut lines = Lines::new(Output::Csv);
    let mut next = |value| lines.text(&value, |_| String::new()).expect("it is plain data");
    assert_eq!(next(json!({"a": 1, "b": 2})), "a,b\n1,2");
    assert_eq!(next(json!({"b": 4, "a": 3})), "3,4");
    assert_eq!(next(json!({"c": 9})), ",", "no row gets a column that the file does not have");
}

#[test]
fn yaml_has_the_same_names() {
    let text = Output::Yaml.text(&json!({"name": "v0", "hosts": []}), |_| String::new());
    let text = text.expect("it is plain data");
    assert!(text.contains("name: v0") && text.contains("hosts: []"), "{text}");
    let next = Lines::new(Output::Yaml).text(&json!({"seq": 1}), |_| String::new());
    assert_eq!(next.expect("it is plain data"), "---\nseq: 1");
}
