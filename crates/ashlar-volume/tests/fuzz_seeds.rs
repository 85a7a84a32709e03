//! What the fuzz target of attributes checks, on its seeds and on mutations of them: see `docs/fuzzing.md`.

#[path = "../../../fuzz/src/attributes.rs"]
mod attributes;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn attributes_are_read_or_refused() {
    replay::check_seed_files("attributes", &attributes::seeds());
    replay::replay("attributes", 20_000, attributes::check);
}
