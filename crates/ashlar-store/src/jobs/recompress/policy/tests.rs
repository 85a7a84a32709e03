use ashlar_block::Lba;
use ashlar_format::ids::{Key, Layer};
use ashlar_format::location::{Location, SegmentId};

use super::*;

const FIVE: Compression = Compression::Zstd(ZstdLevel::new(5).expect("there is a level 5"));

#[test]
fn what_zstd_has_made_stays_and_what_an_operator_has_chosen_counts() {
    for compression in [Compression::None, Compression::Lz4, Compression::Auto, FIVE] {
        assert_eq!(level_for(compression, Codec::Zstd), None, "{compression}");
    }
    for codec in [Codec::Raw, Codec::Lz4] {
        assert_eq!(level_for(Compression::None, codec), None);
        assert_eq!(level_for(Compression::Lz4, codec), None);
        assert_eq!(level_for(Compression::Auto, codec), Some(ZstdLevel::DEFAULT));
        assert_eq!(level_for(FIVE, codec), ZstdLevel::new(5));
    }
}

#[test]
fn a_new_form_saves_an_eighth_and_a_slot_at_least() {
    let most: Vec<_> = [1, 2, 8, 9, 32, 64].map(slots_max).to_vec();
    assert_eq!(most, [None, Some(1), Some(7), Some(7), Some(28), Some(56)]);
}

#[test]
fn room_is_scarce_from_the_half_on() {
    assert!(!is_scarce(49_999, 100_000) && is_scarce(50_000, 100_000));
    assert!(is_scarce(0, 0), "a pool that has lost its room is full");
}

fn record(family: u32, codec: Codec) -> Record {
    let location = Location::new(SegmentId(1), 0, 64, 1000, codec);
    let key = Key { family: Family(family), lba: Lba(0), layer: Layer(1) };
    Record { kind: RecordKind::Write, key, location: Some(location), crc: 0 }
}

#[test]
fn a_segment_is_promising_if_a_quarter_of_a_batch_is_to_be_tried() {
    let compression_of = |family: Family| match family {
        Family(1) => Some(Compression::Auto),
        Family(2) => Some(Compression::Lz4),
        _ => None,
    };
    let is_promising = |records: &[Record]| is_promising(records, compression_of);
    let (cold, other) = (record(1, Codec::Lz4), record(2, Codec::Lz4));
    assert!(is_promising(&[cold, other, other, other]));
    assert!(!is_promising(&[cold, other, other, other, other]));
    for hopeless in [other, record(3, Codec::Lz4), record(1, Codec::Raw), record(1, Codec::Zstd)] {
        assert!(!is_promising(&[hopeless]), "{hopeless:?}");
    }
    let kind = RecordKind::ZeroRange { blocks: 7 };
    let zeros = Record { kind, location: None, ..cold };
    assert!(is_promising(&[zeros, zeros, zeros, zeros, cold]) && !is_promising(&[zeros]));
    assert!(!is_promising(&[]));
}
