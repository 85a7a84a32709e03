use super::*;

#[test]
fn sizes_read_as_people_write_them() {
    for (text, bytes) in [
        ("4096", 4096),
        ("512KiB", 512 << 10),
        ("20GiB", 20 << 30),
        ("20G", 20 << 30),
        ("1.5TiB", 3 << 39),
        (" 8 mib ", 8 << 20),
    ] {
        assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
    }
}

#[test]
fn what_is_not_a_size_is_refused_and_named() {
    for text in ["", "GiB", "10GB", "-1GiB", "1.5", "99999999EiB", "ten", "1..5GiB"] {
        let error = text.parse::<ByteSize>().expect_err(text).to_string();
        assert!(error.contains(&format!("'{text}'")), "{error}");
    }
}

#[test]
fn sizes_print_short_and_exact_where_they_can() {
    assert_eq!(ByteSize(10 << 30).to_string(), "10GiB");
    assert_eq!(ByteSize(4096).to_string(), "4KiB");
    assert_eq!(ByteSize(100).to_string(), "100B");
    assert_eq!(ByteSize((3 << 30) / 2).to_string(), "1.50GiB");
    assert_eq!(ByteSize((5 << 30) + 12345).to_string(), "5.00GiB");
}

#[test]
fn a_text_that_is_no_size_is_told_why() {
    let why = |text: &str| text.parse::<ByteSize>().expect_err(text).to_string();
    for (text, part) in [
        ("16EiB", "too large"),
        ("18446744073709551616", "too large"),
        ("99999999999999999999TiB", "too large"),
        ("16.5EiB", "too large"),
        ("10GB", "unit 'GB'"),
        ("10XiB", "unit 'XiB'"),
        ("10 GiB GiB", "unit 'GiB GiB'"),
        ("1.5", "no whole number of bytes"),
        ("1.5B", "no whole number of bytes"),
        ("1.2.3GiB", "is not a size"),
        ("big", "is not a size"),
        ("-1GiB", "is not a size"),
        ("", "is not a size"),
        (".", "is not a size"),
    ] {
        assert!(why(text).contains(part), "{text}: {}", why(text));
    }
    assert_eq!("15EiB".parse(), Ok(ByteSize(15 << 60)));
}
