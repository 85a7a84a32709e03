use super::random_bytes;

#[test]
fn what_is_written_does_not_repeat() {
    let bytes = random_bytes(4096);
    let mut words: Vec<&[u8]> = bytes.chunks(8).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 512);
}
