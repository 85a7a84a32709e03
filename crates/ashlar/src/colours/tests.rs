use super::*;

#[test]
fn only_a_terminal_is_coloured_and_only_where_no_color_is_unset_or_empty() {
    let cases = [
        (true, None, true),
        (true, Some(""), true),
        (true, Some("1"), false),
        (true, Some("0"), false),
        (false, None, false),
        (false, Some(""), false),
    ];
    for (is_terminal, no_color, coloured) in cases {
        assert_eq!(
            are_wanted(is_terminal, no_color.map(OsStr::new)),
            coloured,
            "{is_terminal} {no_color:?}"
        );
    }
}
