use super::*;

#[test]
fn numbers_have_three_digits_and_a_prefix() {
    for (number, text) in [
        (0.0, "0"),
        (0.04, "0.0"),
        (0.25, "0.2"),
        (9.94, "9.9"),
        (12.3, "12"),
        (999.0, "999"),
        (999.6, "1.00K"),
        (1_234.0, "1.23K"),
        (12_345.0, "12.3K"),
        (123_456.0, "123K"),
        (999_600.0, "1.00M"),
        (5e9, "5.00G"),
    ] {
        assert_eq!(count(number), text, "{number}");
    }
    assert_eq!((bytes(1024.0), bytes(1000.0)), ("1.00K".to_owned(), "0.98K".to_owned()));
    assert_eq!(bytes(3.5 * 1024.0 * 1024.0), "3.50M");
}

#[test]
fn times_have_the_unit_that_leaves_two_digits() {
    for (us, text) in [
        (0, "0us"),
        (1, "1us"),
        (999, "999us"),
        (1_234, "1.2ms"),
        (12_345, "12ms"),
        (999_000, "999ms"),
        (1_500_000, "1.5s"),
        (134_000_000, "134s"),
    ] {
        assert_eq!(time(Duration::from_micros(us)), text, "{us}");
    }
    assert_eq!(time_or_dash(None), "-");
}

#[test]
fn no_figure_is_wider_than_its_column() {
    let mut number = 0.001;
    while number < 1e18 {
        for text in [count(number), bytes(number)] {
            assert!(text.chars().count() <= 5, "{number}: {text}");
        }
        number *= 1.037;
    }
    let mut us = 1;
    while us < 134_000_000 {
        assert!(time(Duration::from_micros(us)).chars().count() <= 5, "{us}");
        us += us / 50 + 1;
    }
}
