//! The verbs that speak to a daemon, and two that need none.

mod check;
mod client;
mod consent;
mod done;
mod estimate;
mod events;
mod figures;
mod iostat;
mod members;
mod paths;
mod progress;
mod rebuild;
mod removal;
mod scrub;
mod settings;
mod sfx;
mod tables;
mod trim;
mod verbs;
mod verify;
mod waiting;

use std::path::PathBuf;

use crate::args::{ClientCommand, Output, PoolCommand, VolumeCommand};

pub use client::{Client, Patience, Refused};
pub use settings::SETTINGS;

/// Does what a verb says.
pub fn run(
    command: ClientCommand,
    socket: Option<PathBuf>,
    patience: Patience,
    output: Output,
) -> anyhow::Result<()> {
    // No daemon is needed for that, and none may have the pool.
    if let ClientCommand::Pool(PoolCommand::Check { drives, memory }) = &command {
        return check::run(drives, *memory, output);
    }
    if let ClientCommand::Volume(VolumeCommand::Estimate { data, sample }) = &command {
        return estimate::run(data, *sample, output);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(socket, patience)?;
        verbs::run(&client, command, output).await
    })
}
