//! What the fuzz target of connections checks, on its seeds and on mutations of them: see
//! `docs/fuzzing.md`.

#[path = "../../../fuzz/src/connection.rs"]
mod connection;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn whatever_a_connection_sends_ends_with_it() {
    replay::check_seed_files("connection", &connection::seeds());
    let mut harness = connection::Harness::start();
    replay::replay("connection", 4_000, |input| harness.check(input));
}
