use super::*;

#[test]
fn takes_what_a_path_and_a_shell_take() {
    for name in ["v0", "0", "db-1.data_2", "a..", &"x".repeat(NAME_BYTES_MAX)] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
}

#[test]
fn refuses_what_could_be_taken_for_something_else() {
    let uuid = "6b1d5f9c-2a3e-4b7d-9c8f-0a1b2c3d4e5f";
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    for name in
        ["", "-v", ".", "..", ".hidden", "_x", "a/b", "a b", "ü", "a\n", "a%2f", uuid, &long]
    {
        let said = check_name(name).expect_err(name).to_string();
        assert!(
            said.contains("beginning with a letter or digit") && !said.contains('\n'),
            "{said}"
        );
    }
    assert!(is_uuid(&uuid.to_uppercase()) && !is_uuid(&uuid[1..]) && !is_uuid("a-b-c-d-e"));
}
