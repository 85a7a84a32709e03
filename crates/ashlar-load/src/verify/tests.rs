use std::io::Write;
use std::path::PathBuf;

use ashlar_block::XorShift;

use super::operation::{Operation, choose};
use super::{BLOCK_BYTES, Mix, Model, Sources, SourcesError, StateError};

fn sources() -> Sources {
    let bytes = (0..8 * BLOCK_BYTES as u32).map(|number| (number % 251) as u8).collect();
    Sources::of_bytes(bytes).unwrap()
}

fn content(model: &Model, block: u64, version: u32) -> Vec<u8> {
    let mut content = vec![0; BLOCK_BYTES];
    model.fill(block, version, &mut content);
    content
}

#[test]
fn only_the_version_written_last_is_right() {
    let mut model = Model::new(7, 16, sources());
    assert_eq!(model.check(3, &[0; BLOCK_BYTES]), Ok(()));
    for version in 1..=2 {
        model.begin(3, version);
        model.settle(3, version);
    }
    let (old, new) = (content(&model, 3, 1), content(&model, 3, 2));
    assert_eq!(model.check(3, &new), Ok(()));
    let mismatch = model.check(3, &old).unwrap_err();
    assert_eq!((mismatch.expected, mismatch.found), (vec![2], Some((3, 1))));
    let misplaced = model.check(4, &new).unwrap_err();
    assert!(misplaced.to_string().contains("version 2 of block 3"));
    assert!(model.check(3, &[0; BLOCK_BYTES]).unwrap_err().to_string().ends_with("zeros"));
}

#[test]
fn some_versions_do_not_compress_but_for_a_block_here_and_there() {
    let model = Model::new(7, 4096, sources());
    let is_of_a_source = |block: u64, version| {
        let (content, patterned) = (content(&model, block, version), sources());
        (0..8).any(|nth| patterned.block(nth)[16..] == content[16..])
    };
    let of_sources = |version| (0..4096).filter(|block| is_of_a_source(*block, version)).count();
    assert_eq!(of_sources(7), 4096);
    assert!((16..256).contains(&of_sources(8)), "{} of 4096", of_sources(8));
}

#[test]
fn every_damaged_byte_is_seen() {
    let mut model = Model::new(7, 16, sources());
    model.begin(3, 1);
    model.settle(3, 1);
    let right = content(&model, 3, 1);
    for place in 0..BLOCK_BYTES {
        let mut damaged = right.clone();
        damaged[place] ^= 0x10;
        assert!(model.check(3, &damaged).is_err(), "byte {place}");
    }
}

#[test]
fn a_write_without_an_answer_leaves_either_until_it_is_read() {
    let mut model = Model::new(7, 16, sources());
    model.begin(3, 1);
    let new = content(&model, 3, 1);
    assert_eq!(model.clone().check(3, &[0; BLOCK_BYTES]), Ok(()));
    assert_eq!(model.open_blocks(), 1);
    assert_eq!(model.check(3, &new), Ok(()));
    assert!(model.check(3, &[0; BLOCK_BYTES]).is_err(), "it was the new one already");
}

#[test]
fn what_a_block_was_found_not_to_hold_is_wrong_from_then_on() {
    let mut model = Model::new(7, 16, sources());
    model.begin(3, 1);
    model.begin(3, 2);
    model.rule_out(3, 0);
    assert!(model.clone().check(3, &[0; BLOCK_BYTES]).is_err());
    model.rule_out(3, 2);
    assert_eq!(model.open_blocks(), 0);
    let content = model.content(3, 1);
    assert_eq!(model.check(3, &content), Ok(()));
}

#[test]
fn every_operation_of_a_mix_comes_and_no_other() {
    let mut random = XorShift::new(1);
    let mix = Mix { read: 1, write: 1, trim: 2, compare_and_write: 1, flush: 1 };
    let all: Vec<_> = (0..1000).map(|_| choose(mix, &mut random)).collect();
    for operation in [
        Operation::Read,
        Operation::Write,
        Operation::Deallocate,
        Operation::WriteZeroes,
        Operation::CompareAndWrite,
        Operation::Flush,
    ] {
        assert!(all.contains(&operation), "{operation:?}");
    }
    let none = Mix { read: 0, write: 1, trim: 0, compare_and_write: 0, flush: 0 };
    assert!((0..100).all(|_| choose(none, &mut random) == Operation::Write));
}

#[test]
fn a_saved_model_is_taken_up_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("workload");
    let mut model = Model::new(7, 1000, sources());
    model.begin(3, 1);
    model.settle(3, 1);
    model.begin(5, 2);
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), model);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(Model::load(&path), Err(StateError::Damaged { .. })));
    std::fs::write(&path, &bytes[..50]).unwrap();
    assert!(matches!(Model::load(&path), Err(StateError::Damaged { .. })));
    assert!(matches!(Model::load(&directory.path().join("none")), Err(StateError::Io { .. })));
}

#[test]
fn blocks_are_sampled_from_files_that_have_some() {
    let directory = tempfile::tempdir().unwrap();
    let (large, small) = (directory.path().join("large"), directory.path().join("small"));
    std::fs::File::create(&large).unwrap().write_all(&[3; 100_000]).unwrap();
    std::fs::write(&small, b"too small").unwrap();
    let missing = PathBuf::from("/nonexistent/file");
    let sources = Sources::sample(&[small.clone(), missing.clone(), large], 10, 1).unwrap();
    assert!((1..=10).contains(&sources.count()));
    assert_eq!(sources.block(77), [3; BLOCK_BYTES]);
    let error = Sources::sample(&[small, missing], 10, 1).unwrap_err();
    let SourcesError::Empty { files, .. } = &error;
    assert_eq!(*files, 2);
    assert!(error.to_string().contains("/nonexistent/file"));
}
