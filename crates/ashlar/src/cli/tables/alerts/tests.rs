use super::*;

/// It stood at the left, and looked like another alert.
#[test]
fn what_to_do_stands_below_what_is_not_well_and_is_indented_on_each_line() {
    let alert = Alert {
        severity: Severity::Error,
        code: "failed".to_owned(),
        pool: None,
        drive: None,
        message: "drive-1 of pool 'tank' is failed".to_owned(),
        hint: Some("see to it ".repeat(20)),
    };
    let said = alerts(&[alert.clone(), alert]);
    let at_left: Vec<&str> = said.lines().filter(|line| !line.starts_with("    ")).collect();
    assert_eq!(at_left, ["error: drive-1 of pool 'tank' is failed"; 2], "{said}");
    assert!(said.lines().count() > 4, "{said}");
}
