use ashlar_block::{BLOCK_BYTES, XorShift};

use super::*;

fn noise(rng: &mut XorShift, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| rng.below(256) as u8).collect()
}

fn saved(block: &[u8]) -> usize {
    block.len().saturating_sub(lz4_flex::block::compress(block).len())
}

#[test]
fn noise_is_told_from_all_that_the_codec_makes_smaller() {
    let mut rng = XorShift::new(1);
    let told = (0..1000).filter(|_| is_noise(&noise(&mut rng, BLOCK_BYTES))).count();
    assert!(told >= 998, "{told} of 1,000 blocks of noise");
}

#[test]
fn a_glance_is_enough_for_text_and_for_blocks_half_of_which_are_zeros() {
    let mut rng = XorShift::new(5);
    let text: Vec<u8> = (0..1000).flat_map(|line| format!("{line} words\n").into_bytes()).collect();
    let half = [noise(&mut rng, BLOCK_BYTES / 2), vec![0; BLOCK_BYTES / 2]].concat();
    assert!(!is_even_at_a_glance(&text[..BLOCK_BYTES]) && !is_even_at_a_glance(&half));
}

#[test]
fn what_is_compressed_or_encoded_is_noise_only_if_the_codec_saves_nothing() {
    let mut rng = XorShift::new(2);
    let text: Vec<u8> =
        (0..1 << 20).flat_map(|line: u32| format!("{line} {}\n", line * 7).into_bytes()).collect();
    let compressed = lz4_flex::block::compress(&text[..1 << 20]);
    let base64: Vec<u8> =
        noise(&mut rng, BLOCK_BYTES).iter().map(|byte| b'0' + byte % 64).collect();
    for block in compressed.chunks_exact(BLOCK_BYTES).chain([&base64[..], &text[..BLOCK_BYTES]]) {
        assert!(!is_noise(block) || saved(block) == 0, "{} bytes would be saved", saved(block));
    }
    assert!(!is_noise(&text[..BLOCK_BYTES]) && !is_noise(&base64));
}

#[test]
fn a_block_an_eighth_of_which_is_anything_but_noise_is_tried() {
    let mut rng = XorShift::new(3);
    for fill in [0_u8, b' ', 0xff] {
        for start in (0..BLOCK_BYTES - BLOCK_BYTES / 8).step_by(100) {
            let mut block = noise(&mut rng, BLOCK_BYTES);
            block[start..start + BLOCK_BYTES / 8].fill(fill);
            assert!(!is_noise(&block), "{fill:#x} from {start} on");
        }
    }
}

#[test]
fn records_of_which_the_codec_saves_enough_are_tried_wherever_their_noise_is() {
    let mut rng = XorShift::new(4);
    for record_bytes in [16, 24, 32, 40, 48, 56, 57, 64, 96, 128, 256, 512] {
        for noise_bytes in (8..record_bytes).step_by(8) {
            for at in (0..=record_bytes - noise_bytes).step_by(8) {
                let record = |rng: &mut XorShift| {
                    let rest = record_bytes - at - noise_bytes;
                    [vec![b'k'; at], noise(rng, noise_bytes), vec![0; rest]].concat()
                };
                let count = BLOCK_BYTES.div_ceil(record_bytes);
                let records: Vec<u8> = (0..count).flat_map(|_| record(&mut rng)).collect();
                let block = &records[..BLOCK_BYTES];
                let is_worth_it = saved(block) >= BLOCK_BYTES / 8;
                assert!(
                    !is_worth_it || !is_noise(block),
                    "{noise_bytes} of {record_bytes} at {at}"
                );
            }
        }
    }
}

/// Their values are spread as evenly as those of noise, and more so.
#[test]
fn what_is_even_and_repeats_is_tried() {
    let mut rng = XorShift::new(6);
    let ramp: Vec<u8> = (0..BLOCK_BYTES).map(|at| at as u8).collect();
    let pixels: Vec<u8> = (0..BLOCK_BYTES).map(|at| (at / 3) as u8).collect();
    let mut table: Vec<u8> = (0..=255).collect();
    (1..256).rev().for_each(|at| table.swap(at, rng.below(at as u64 + 1) as usize));
    for (what, piece) in
        [("ramp", ramp), ("pixels", pixels), ("table", table), ("noise", noise(&mut rng, 512))]
    {
        let block: Vec<u8> = piece.iter().copied().cycle().take(BLOCK_BYTES).collect();
        assert!(saved(&block) > BLOCK_BYTES / 8 && !is_noise(&block), "{what}");
    }
}

#[test]
fn after_much_noise_a_glance_is_enough_and_other_content_ends_that_soon() {
    let mut rng = XorShift::new(9);
    let mut streak = Streak::default();
    // Its values are spread evenly, and it repeats: a look alone tells.
    let ramp: Vec<u8> = (0..BLOCK_BYTES).map(|at| (at * 7) as u8).collect();
    assert!(is_even_at_a_glance(&ramp) && !is_noise(&ramp));
    for _ in 0..STREAK_BLOCKS - 1 {
        streak.goes_on(&noise(&mut rng, BLOCK_BYTES));
    }
    assert!(!{ streak }.goes_on(&ramp), "not enough noise has come");
    streak = Streak(STREAK_BLOCKS.next_multiple_of(LOOK_BLOCKS) + 1);
    let taken_for_noise = (0..LOOK_BLOCKS).take_while(|_| streak.goes_on(&ramp)).count();
    assert_eq!(taken_for_noise as u32, LOOK_BLOCKS - 1);
    assert_eq!(streak, Streak::default());
    let text = b"what a glance tells ".repeat(BLOCK_BYTES / 20 + 1);
    assert!(!Streak(STREAK_BLOCKS + 1).goes_on(&text[..BLOCK_BYTES]));
}

#[test]
fn each_family_has_a_streak_of_its_own_as_long_as_no_other_takes_its_place() {
    let streaks = Streaks::default();
    let [one, other, takes_place] = [1, 2, 1 + STREAKS as u32].map(Family);
    let seen = |family| streaks.with(family, |streak| *streak);
    streaks.with(one, |streak| *streak = Streak(70));
    assert_eq!((seen(one), seen(other)), (Streak(70), Streak::default()));
    assert_eq!(seen(takes_place), Streak::default());
    assert_eq!(seen(one), Streak::default(), "its place was taken");
}
