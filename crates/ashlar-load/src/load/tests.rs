use super::{Content, Pattern, Places};

#[test]
fn what_does_not_compress_does_not_repeat() {
    let bytes = Content::Incompressible.bytes(8192);
    let mut words: Vec<&[u8]> = bytes.chunks(8).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 1024);
}

#[test]
fn half_of_every_compressible_block_is_zeros() {
    for block in Content::Compressible.bytes(8192).chunks(4096) {
        assert!(block[2048..].iter().all(|byte| *byte == 0));
        assert!(block[..2048].chunks(8).all(|word| word != [0; 8]));
    }
}

#[test]
fn what_follows_the_noise_of_a_half_or_a_quarter_repeats_one_word() {
    for (content, noise) in [(Content::Half, 2048 - 128), (Content::Quarter, 1024 - 64)] {
        for block in content.bytes(8192).chunks(4096) {
            let words: Vec<&[u8]> = block[..noise].chunks(8).collect();
            assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
            assert!(block[noise..].chunks(8).all(|word| word == words[words.len() - 1]));
        }
    }
}

#[test]
fn sequential_places_follow_each_other_and_begin_again() {
    let places = Places::new(Pattern::Sequential, 3);
    assert_eq!([0; 4].map(|_| places.draw()), [0, 1, 2, 0]);
}

#[test]
fn random_places_reach_every_place() {
    let places = Places::new(Pattern::Random, 8);
    let mut seen = [false; 8];
    (0..200).for_each(|_| seen[places.draw() as usize] = true);
    assert_eq!(seen, [true; 8]);
}

#[test]
fn no_two_loads_have_their_random_places_in_the_same_order() {
    let draw = || {
        let places = Places::new(Pattern::Random, 1 << 20);
        [0; 8].map(|_| places.draw())
    };
    assert_ne!(draw(), draw());
}
