use super::*;

#[test]
fn each_compression_is_read_as_it_is_shown_and_as_it_is_stored() {
    let levels =
        (1..=ZstdLevel::MAX).map(|level| Compression::Zstd(ZstdLevel::new(level).unwrap()));
    let others = [Compression::None, Compression::Lz4, Compression::Auto];
    for compression in levels.chain(others) {
        assert_eq!(compression.to_string().parse(), Ok(compression));
        let mut w = Writer::default();
        compression.put(&mut w);
        assert_eq!(Compression::take(&mut Reader::new("compression", &w.0)), Ok(compression));
    }
    assert_eq!("zstd".parse(), Ok(Compression::Zstd(ZstdLevel::DEFAULT)));
}

#[test]
fn what_names_no_compression_is_refused_with_what_does() {
    for text in ["", "zstd:", "zstd:0", "zstd:20", "zstd:+3", "zstd:-1", "zstd:256", "LZ4", "lz4:1"]
    {
        let error = text.parse::<Compression>().unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}'")) && error.contains("zstd:19"), "{error}");
    }
    for bytes in [&[][..], &[2], &[2, 0], &[2, 20], &[4]] {
        assert!(Compression::take(&mut Reader::new("compression", bytes)).is_err(), "{bytes:?}");
    }
}
