use ashlar_block::BLOCK_BYTES;
use ashlar_store::Compression;
use ashlar_store::codec::Stored;

use super::*;

#[test]
fn each_content_is_stored_in_the_part_that_its_name_says() {
    for ((content, name), part) in CONTENTS.into_iter().zip([1, 2, 4]) {
        let data = content.bytes(64 * BLOCK_BYTES);
        for compression in [Compression::Lz4, Compression::Auto] {
            let stored = Stored::of(&data, compression);
            assert_eq!(stored.slot_bytes() * part, data.len(), "{name}, {compression}");
        }
    }
}

#[test]
fn the_slow_profile_is_the_class_but_for_its_bandwidth_and_cache() {
    let class = ModelName::parse(MODEL).unwrap().profile().unwrap();
    let slow = slow_profile().unwrap();
    assert_eq!(slow.write_mb_per_s * SLOWNESS, class.write_mb_per_s);
    let Profile { read_mb_per_s, write_mb_per_s, write_cache_mib, .. } = class;
    assert_eq!(Profile { read_mb_per_s, write_mb_per_s, write_cache_mib, ..slow }, class);
}

#[test]
fn the_text_of_a_profile_is_read_as_that_profile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("slow.toml");
    let slow = slow_profile().unwrap();
    std::fs::write(&path, text_of(&slow)).unwrap();
    assert_eq!(ModelName::parse(path.to_str().unwrap()).unwrap().profile().unwrap(), slow);
}

#[test]
fn only_writes_of_a_quarter_have_a_target() {
    let measured = |compresses, pattern, median| Measured {
        compresses,
        pool: Summary {
            load: Load { pattern, ..Load::new(Direction::Write, 4096, 1, 1) },
            iops: 1.0,
            bytes_per_second: 4096.0,
            p50_us: 1.0,
            p99_us: 1.0,
            p999_us: 1.0,
            cpu_us_per_operation: 1.0,
            operations_per_cpu_second: 1.0,
        },
        ratio: Some(Ratio { median, low: median, high: median }),
        amplification: Amplification { blocks: 1.0, bytes: 1.25 },
    };
    let report = Report {
        model: MODEL,
        slowness: SLOWNESS,
        drive_bytes_per_second: 1024,
        loads: vec![
            measured("2:1", Pattern::Random, 9.0),
            measured("4:1", Pattern::Random, 1.6),
            measured("4:1", Pattern::Sequential, 1.6),
        ],
    };
    let met: Vec<_> = report.verdicts().iter().map(|it| (it.target, it.met)).collect();
    assert_eq!(met, [(Target::MEDIA_RANDOM, Some(false)), (Target::MEDIA_SEQUENTIAL, Some(true))]);
    assert_eq!(report.share(&report.loads[0]), 1.0);
    assert!(report.table().contains("MODEL, csd-like"));
}
