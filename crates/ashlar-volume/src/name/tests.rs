use super::*;

#[test]
fn takes_what_a_path_and_a_shell_take() {
    for name in ["v0", "0", "db-1.data_2", &"x".repeat(NAME_BYTES_MAX)] {
        assert_eq!(name.parse::<VolumeName>().map(|name| name.to_string()).as_deref(), Ok(name));
    }
}

#[test]
fn refuses_what_could_be_taken_for_something_else() {
    for name in ["", "-v", ".", "..", "a/b", "a b", "ü", "a\n", &"x".repeat(NAME_BYTES_MAX + 1)] {
        assert!(name.parse::<VolumeName>().is_err(), "{name:?}");
    }
}
