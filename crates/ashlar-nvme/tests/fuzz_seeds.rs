//! What the fuzz targets of this crate check, on their seeds and on mutations of them: see
//! `docs/fuzzing.md`.

#[path = "../../../fuzz/src/command.rs"]
mod command;
#[path = "../../../fuzz/src/pdu.rs"]
mod pdu;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn streams_of_pdus_mean_the_same_in_whatever_pieces() {
    replay::check_seed_files("pdu", &pdu::seeds());
    replay::replay("pdu", 30_000, pdu::check);
}

#[test]
fn commands_mean_the_same_after_they_were_written_again() {
    replay::check_seed_files("command", &command::seeds());
    replay::replay("command", 30_000, command::check);
}
