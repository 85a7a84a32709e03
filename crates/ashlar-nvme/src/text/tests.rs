use super::{ascii_padded, ascii_trimmed, nqn_field, nqn_of_field};

#[test]
fn ascii_is_padded_cut_and_trimmed() {
    assert_eq!(&ascii_padded::<6>("ab"), b"ab    ");
    assert_eq!(&ascii_padded::<3>("abcd"), b"abc");
    assert_eq!(&ascii_padded::<3>("a\n"), b"a? ");
    assert_eq!(ascii_trimmed(b"4420\0\0"), "4420");
    assert_eq!(ascii_trimmed(b"ab  "), "ab");
}

#[test]
fn a_name_without_its_final_zero_is_no_name() {
    assert_eq!(nqn_of_field(&[b'n'; 256]), None);
    assert_eq!(nqn_of_field(&[0; 256]), None);
    assert_eq!(nqn_of_field(&[0xff, 0]), None);
    assert_eq!(
        nqn_of_field(&nqn_field::<256>("nqn.2014-08.org.example:a")),
        Some("nqn.2014-08.org.example:a")
    );
}

#[test]
fn a_name_of_224_bytes_is_too_long() {
    let longest = "n".repeat(223);
    assert_eq!(nqn_of_field(&nqn_field::<256>(&longest)), Some(longest.as_str()));
    assert_eq!(nqn_of_field(&nqn_field::<256>(&"n".repeat(224))), None);
}
