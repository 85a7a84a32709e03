use std::fs;
use std::os::unix::fs::symlink;

use ashlar_block::XorShift;
use ashlar_store::Compression;

use super::measure::OfExtent;
use super::*;

fn text(lines: usize) -> Vec<u8> {
    let mut rng = XorShift::new(7);
    let line = |_| format!("{{\"user\": {}, \"took_ms\": {}}}\n", rng.below(5000), rng.below(99));
    (0..lines).map(line).collect::<String>().into_bytes()
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut rng = XorShift::new(8);
    (0..bytes).map(|_| rng.below(256) as u8).collect()
}

fn ratio_of(estimate: &Estimate, compression: &str) -> f64 {
    let by = estimate.codecs.iter().find(|by| by.compression == compression);
    by.and_then(|by| by.ratio).unwrap_or_else(|| panic!("{compression}: {estimate:?}"))
}

#[test]
fn a_folder_is_estimated_with_what_lies_below_it_and_without_what_links_name() {
    let place = tempfile::tempdir().unwrap();
    let below = place.path().join("a/b");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("log"), text(40_000)).unwrap();
    fs::write(place.path().join("empty"), []).unwrap();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::write(elsewhere.path(), noise(8 << 20)).unwrap();
    symlink(elsewhere.path(), place.path().join("link")).unwrap();
    symlink(place.path(), place.path().join("circle")).unwrap();
    let estimate = estimate(place.path(), 1 << 20).unwrap();
    assert_eq!(estimate.data_bytes, text(40_000).len().next_multiple_of(BLOCK_BYTES) as u64);
    assert_eq!((estimate.files_unreadable, estimate.zero_percent), (0, 0.0));
    let [lz4, cold, high] = ["lz4", "auto", "zstd:9"].map(|codec| ratio_of(&estimate, codec));
    assert!(lz4 > 1.5 && cold > lz4 * 1.25 && high > lz4, "{estimate:?}");
    assert_eq!(ratio_of(&estimate, "zstd:3"), cold, "what is cold is stored by zstd");
    let of_lz4 = &estimate.codecs[0];
    let stored = estimate.data_bytes as f64 / lz4;
    assert!((of_lz4.stored_bytes as f64 - stored).abs() < 2.0, "{of_lz4:?}");
    assert!(of_lz4.ratio_low < of_lz4.ratio && of_lz4.ratio < of_lz4.ratio_high, "{of_lz4:?}");
}

/// Large files counted sixteen times as much as small ones.
#[test]
fn small_files_count_as_much_as_they_have_bytes() {
    let place = tempfile::tempdir().unwrap();
    // Half of the bytes compress well, and are in files of a block each.
    for nth in 0..512 {
        fs::write(place.path().join(format!("{nth}")), vec![b'.'; BLOCK_BYTES]).unwrap();
    }
    fs::write(place.path().join("large"), noise(2 << 20)).unwrap();
    let estimate = estimate(place.path(), 1 << 20).unwrap();
    let ratio = ratio_of(&estimate, "zstd:3");
    // A block of dots takes one of its 64 slots.
    assert!((1.6..2.5).contains(&ratio), "half and half is 1.97: {estimate:?}");
}

#[test]
fn noise_takes_what_it_has_and_zeros_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), noise(1 << 20)).unwrap();
    file.as_file().set_len(4 << 20).unwrap();
    let estimate = estimate(file.path(), 4 << 20).unwrap();
    assert!((estimate.zero_percent - 75.0).abs() < 2.0, "{estimate:?}");
    for by in &estimate.codecs {
        assert_eq!(by.ratio, Some(1.0), "{}", by.compression);
        assert!((900 << 10..=1100 << 10).contains(&by.stored_bytes), "{by:?}");
    }
    let text = as_text(&estimate);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn what_is_all_zeros_has_no_ratio() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(2 << 20).unwrap();
    let estimate = estimate(file.path(), 1 << 20).unwrap();
    assert!(estimate.codecs.iter().all(|by| (by.ratio, by.stored_bytes) == (None, 0)));
    assert!(as_text(&estimate).contains("100% of these are zeros"));
}

#[test]
fn what_holds_nothing_or_is_not_there_or_is_no_data_is_named() {
    let place = tempfile::tempdir().unwrap();
    let missing = place.path().join("missing");
    let said = |path: &Path| format!("{:#}", estimate(path, 1 << 20).unwrap_err());
    assert!(said(place.path()).contains("holds no data"));
    assert!(said(&missing).contains("missing' cannot be looked at: No such file"));
    assert!(said(Path::new("/dev/null")).contains("no block device"));
    for sample in [0, (1 << 20) - 1, (4 << 30) + 1] {
        let error = run(place.path(), ByteSize(sample), Output::Table).unwrap_err().to_string();
        assert!(error.contains("choose 1MiB to 4GiB"), "{error}");
    }
}

#[test]
fn the_margin_is_none_where_all_are_alike_and_grows_with_the_differences() {
    let measured = |extents: &[(f64, f64)]| Measured {
        compression: Compression::Lz4,
        extents: extents
            .iter()
            .map(|(raw, stored)| OfExtent { raw: *raw, stored: *stored })
            .collect(),
        compressing: std::time::Duration::from_secs(1),
        decompressing: std::time::Duration::ZERO,
    };
    let alike = measured(&[(4.0, 2.0), (4.0, 2.0), (4.0, 2.0)]);
    assert_eq!((alike.ratio(), alike.margin()), (Some(2.0), Some(0.0)));
    let near = measured(&[(4.0, 1.9), (4.0, 2.1), (4.0, 2.0)]).margin().unwrap();
    let far = measured(&[(4.0, 1.0), (4.0, 3.0), (4.0, 2.0)]).margin().unwrap();
    assert!(0.0 < near && near < far);
    assert_eq!(measured(&[(4.0, 2.0)]).margin(), None);
    assert_eq!(alike.bytes_per_second(alike.compressing), Some(12.0));
    assert_eq!(alike.bytes_per_second(alike.decompressing), None);
}
