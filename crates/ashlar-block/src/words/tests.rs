use super::*;

#[test]
fn one_thing_is_no_plural() {
    assert_eq!([0, 1, 2].map(|count| counted(count, "drive")), ["0 drives", "1 drive", "2 drives"]);
    assert_eq!([1, 2].map(|count| counted_are(count, "drive")), ["1 drive is", "2 drives are"]);
}

#[test]
fn what_a_terminal_would_obey_is_shown_as_a_number() {
    assert_eq!(printable("/d/0.img"), "/d/0.img");
    assert_eq!(printable("a\nb\tc\r\u{1b}[2J\u{7f}"), "a\\nb\\tc\\x0d\\x1b[2J\\x7f");
    assert_eq!(printable("\u{9b}31m \u{202e}gmi \u{2028}"), "\\u{9b}31m \\u{202e}gmi \\u{2028}");
    assert_eq!(printable("Größe 大 é"), "Größe 大 é");
}
