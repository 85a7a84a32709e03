use super::*;

#[test]
fn one_thing_is_no_plural() {
    assert_eq!([0, 1, 2].map(|count| counted(count, "drive")), ["0 drives", "1 drive", "2 drives"]);
    assert_eq!([1, 2].map(|count| counted_are(count, "drive")), ["1 drive is", "2 drives are"]);
}
