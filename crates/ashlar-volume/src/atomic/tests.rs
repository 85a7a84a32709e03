use super::*;

#[test]
fn powers_of_two_from_a_block_to_the_most_that_is_written_as_one_can_be_chosen() {
    for shift in 12..=18 {
        assert_eq!(AtomicWrites::new(1 << shift), Ok(AtomicWrites::UpTo(1 << shift)));
    }
    assert_eq!(AtomicWrites::new(0), Ok(AtomicWrites::Off));
    for bytes in [1, 512, 2048, 4095, 4097, 12 << 10, 512 << 10, 1 << 32, u64::MAX] {
        let refused = AtomicWrites::new(bytes).expect_err("it cannot be");
        let said = refused.to_string();
        assert!(said.contains(&bytes.to_string()), "{said}");
        assert!(said.contains("from 4KiB to 256KiB, or off"), "{said}");
    }
}

#[test]
fn hosts_are_never_told_more_than_is_true_nor_less_than_a_sector() {
    let (store, small) = (256 << 10, 36 << 10);
    for (chosen, max, lba_bytes, told) in [
        (AtomicWrites::Most, store, 512, store),
        (AtomicWrites::Most, small, 4096, small),
        (AtomicWrites::UpTo(16 << 10), store, 512, 16 << 10),
        (AtomicWrites::UpTo(64 << 10), small, 4096, small),
        (AtomicWrites::Off, store, 512, 512),
        (AtomicWrites::Off, store, 4096, 4096),
    ] {
        assert_eq!(chosen.announced(lba_bytes, max), told, "{chosen:?} of {max}");
    }
    assert_eq!(AtomicWrites::Off.shown(store), 0);
}
