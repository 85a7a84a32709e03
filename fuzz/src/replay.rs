//! Seeds, and mutations of them that are the same in every run: fuzzing for a stable compiler.

use std::path::{Path, PathBuf};

/// A seed's name and its bytes.
pub type Seed = (&'static str, Vec<u8>);

/// Set to write the seeds instead of comparing them.
const WRITE_VARIABLE: &str = "ASHLAR_WRITE_SEEDS";

/// SplitMix64: enough to choose bytes by, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Values at which lengths, counts and offsets go wrong.
const CORNERS: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, u64::MAX - 3, u64::MAX];

fn directory(target: &str) -> PathBuf {
    // Each crate that replays lies two levels below the repository's root.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// Compares `seeds` with the files that the fuzzer begins with, or writes them if the environment
/// asks for it.
pub fn check_seed_files(target: &str, seeds: &[Seed]) {
    let directory = directory(target);
    let write = std::env::var_os(WRITE_VARIABLE).is_some();
    for (name, bytes) in seeds {
        let file = directory.join(name);
        if write {
            std::fs::create_dir_all(&directory).expect("the seeds' directory");
            std::fs::write(&file, bytes).expect("a seed is written");
        }
        let stored = std::fs::read(&file).unwrap_or_default();
        assert!(
            stored == *bytes,
            "{} is out of date: run the test with {WRITE_VARIABLE}=1",
            file.display()
        );
    }
}

/// Runs `check` on every seed file of `target`, and on `count` mutations of them.
pub fn replay(target: &str, count: u64, mut check: impl FnMut(&[u8])) {
    let seeds = seed_files(target);
    seeds.iter().for_each(|seed| check(seed));
    let mut chance = Chance(0x000a_51a2);
    for _ in 0..count {
        let mut input = seeds[chance.below(seeds.len())].clone();
        let other = &seeds[chance.below(seeds.len())];
        for _ in 0..=chance.below(4) {
            mutate(&mut input, other, &mut chance);
        }
        check(&input);
    }
}

fn seed_files(target: &str) -> Vec<Vec<u8>> {
    let listing = std::fs::read_dir(directory(target)).expect("the target has seeds");
    let mut files: Vec<PathBuf> =
        listing.map(|entry| entry.expect("a readable entry").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("a readable seed")).collect()
}

fn mutate(input: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = chance.below(input.len());
    match chance.below(6) {
        0 => flip(input, at, chance),
        1 => overwrite(input, at, &chance.next().to_le_bytes()[..1 + chance.below(8)]),
        2 => overwrite(
            input,
            at,
            &CORNERS[chance.below(CORNERS.len())].to_le_bytes()[..1 << chance.below(4)],
        ),
        3 => input.truncate(at),
        4 => drop(input.drain(at..(at + chance.below(16)).min(input.len()))),
        _ => splice(input, at, other, chance),
    }
}

fn flip(input: &mut [u8], at: usize, chance: &mut Chance) {
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << chance.below(8);
    }
}

fn overwrite(input: &mut [u8], at: usize, value: &[u8]) {
    input[at..].iter_mut().zip(value).for_each(|(byte, new)| *byte = *new);
}

fn splice(input: &mut Vec<u8>, at: usize, other: &[u8], chance: &mut Chance) {
    let start = chance.below(other.len());
    let end = (start + chance.below(128)).min(other.len());
    input.splice(at..at, other[start..end].iter().copied());
}
