//! What the fuzz targets of attributes and of whole pools check, on their seeds and on mutations of
//! them: see `docs/fuzzing.md`.

#[path = "../../../fuzz/src/attributes.rs"]
mod attributes;
#[path = "../../../fuzz/src/pool.rs"]
mod pool;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn attributes_are_read_or_refused() {
    replay::check_seed_files("attributes", &attributes::seeds());
    replay::replay("attributes", 20_000, attributes::check);
}

#[test]
fn a_pool_of_any_geometry_answers_every_command_and_holds_what_it_acknowledged() {
    replay::check_seed_files("pool", &pool::seeds());
    replay::replay("pool", 1_000, pool::check);
}
