use super::*;
use crate::reader::decompress::{decompress_block, decompress_page};

fn noise(seed: u64) -> Vec<u8> {
    let mut rng = ashlar_block::XorShift::new(seed);
    (0..BLOCK_BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
}

#[test]
fn blocks_come_back_as_they_were_and_zeros_take_nothing() {
    let text: Vec<u8> =
        b"a line of text that repeats\n".iter().copied().cycle().take(BLOCK_BYTES).collect();
    let data: Vec<u8> = [noise(1), text, vec![0; BLOCK_BYTES], noise(2)].concat();
    let fragments: Vec<_> = compress_blocks(&Bytes::from(data.clone()), Compression::Lz4).collect();
    let codecs: Vec<_> =
        fragments.iter().map(|fragment| fragment.as_ref().map(|f| f.codec)).collect();
    assert_eq!(codecs, [Some(Codec::Raw), Some(Codec::Lz4), None, Some(Codec::Raw)]);
    for (index, fragment) in fragments.into_iter().enumerate() {
        let mut out = vec![0; BLOCK_BYTES];
        if let Some(fragment) = fragment {
            assert!(decompress_block(&fragment.bytes, fragment.codec, |_| None, &mut out));
            assert_eq!(fragment.crc, crc32c(&fragment.bytes));
        }
        assert_eq!(out, data[index * BLOCK_BYTES..][..BLOCK_BYTES], "block {index}");
    }
}

#[test]
fn a_fragment_that_is_not_a_block_is_refused() {
    let mut out = vec![0; BLOCK_BYTES];
    assert!(!decompress_block(&[1; 100], Codec::Raw, |_| None, &mut out));
    assert!(!decompress_block(&[0xff; 100], Codec::Lz4, |_| None, &mut out));
    assert!(!decompress_block(
        &lz4_flex::block::compress(&[1; 100]),
        Codec::Lz4,
        |_| None,
        &mut out
    ));
}

#[test]
fn pages_of_any_length_come_back() {
    for page in [vec![], vec![5; 10], vec![9; 4096], noise(3)] {
        let fragment = compress_page(page.clone());
        assert_eq!(decompress_page(&fragment.bytes, fragment.codec), Some(page));
    }
}

#[test]
fn a_detached_fragment_lets_go_of_what_it_was_received_in() {
    let data = Bytes::from(noise(3));
    let fragment =
        compress_blocks(&data, Compression::Lz4).next().flatten().expect("it is no zeros");
    assert_eq!((fragment.codec, data.is_unique()), (Codec::Raw, false));
    let detached = fragment.detached();
    assert!(data.is_unique() && detached.bytes[..] == data[..]);
}
