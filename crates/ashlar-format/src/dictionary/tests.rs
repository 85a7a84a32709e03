use super::*;

#[test]
fn a_head_names_the_dictionary_of_what_follows() {
    let fragment = [&head(DictionaryNumber(0x0102_0304))[..], b"frame"].concat();
    assert_eq!(fragment[..HEAD_BYTES], [2, 4, 3, 2, 1]);
    assert_eq!(take_head(&fragment), Some((DictionaryNumber(0x0102_0304), &b"frame"[..])));
}

#[test]
fn another_codec_and_half_a_head_name_none() {
    assert_eq!(take_head(&[1, 4, 3, 2, 1, 0]), None);
    assert_eq!(take_head(&[2, 4, 3, 2]), None);
}

#[test]
fn a_dictionary_without_a_family_of_another_codec_or_too_large_is_none() {
    let fields = |codec: u8, bytes: usize| {
        let mut w = Writer::default();
        put_field(&mut w, 1, |w| w.u32(7));
        put_field(&mut w, 2, |w| w.u8(codec));
        put_field(&mut w, 4, |w| w.bytes(&vec![0; bytes]));
        w.0
    };
    assert!(DictionaryEntry::take(&fields(ZSTD, DICTIONARY_BYTES_MAX)).is_ok());
    for wrong in [Vec::new(), fields(1, 9), fields(ZSTD, DICTIONARY_BYTES_MAX + 1)] {
        let error = DictionaryEntry::take(&wrong).expect_err("it is wrong");
        assert_eq!(error.to_string(), "malformed dictionary");
    }
}
