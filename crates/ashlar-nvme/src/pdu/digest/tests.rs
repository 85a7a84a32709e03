use super::*;

fn of_pieces(bytes: &[u8], cuts: &[usize]) -> [u8; DIGEST_BYTES] {
    let mut digest = DataDigest::default();
    let mut rest = bytes;
    for cut in cuts {
        let (piece, more) = rest.split_at(*cut);
        digest.update(piece);
        rest = more;
    }
    digest.update(rest);
    digest.to_bytes()
}

#[test]
fn the_digest_is_the_crc32c_of_the_catalogues() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[]), 0);
}

#[test]
fn a_payload_in_pieces_has_the_digest_of_the_whole() {
    let bytes: Vec<u8> = (0..5000_u32).map(|number| ((number * number) >> 3) as u8).collect();
    let whole = crc32c(&bytes).to_le_bytes();
    for cuts in [&[][..], &[0], &[1], &[4096], &[7, 0, 1, 63, 64, 65, 600], &[4999, 1]] {
        assert_eq!(of_pieces(&bytes, cuts), whole, "cut after {cuts:?}");
    }
}

#[test]
fn a_piece_whose_digest_is_that_of_nothing_counts() {
    let start = 0x9be0_9bab_u32.to_le_bytes();
    assert_eq!(crc32c(&start), 0);
    let mut bytes = start.to_vec();
    bytes.extend_from_slice(b"and more");
    assert_eq!(of_pieces(&bytes, &[4]), crc32c(&bytes).to_le_bytes());
}
