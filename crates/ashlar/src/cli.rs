//! The verbs that speak to a daemon, and two that need none.

mod check;
mod client;
mod consent;
mod done;
mod estimate;
mod events;
mod figures;
mod iostat;
mod jobs;
mod members;
mod metrics;
mod paths;
mod profiles;
mod progress;
mod rebuild;
mod removal;
mod scrub;
mod settings;
mod sfx;
mod status;
mod support;
mod tables;
mod top;
mod trim;
mod verbs;
mod verify;
mod waiting;

use std::path::PathBuf;

use crate::args::{ClientCommand, Output, PoolCommand, ServerArguments, VolumeCommand};

use client::Server;
pub use client::{Client, Patience, Refused};
pub use metrics::{page as metrics_page, run as metrics};
pub use settings::SETTINGS;
pub use status::{NOT_WELL, NotWell};

/// How a daemon is reached.
pub struct Reach {
    /// At this socket, or one of the usual ones.
    pub socket: Option<PathBuf>,
    /// The command line names that one.
    pub names_socket: bool,
    /// Or on another machine.
    pub server: ServerArguments,
    /// How long it is waited for.
    pub patience: Patience,
}

impl Reach {
    /// Whether the daemon is reached by the network.
    fn names_server(&self) -> anyhow::Result<bool> {
        Ok(profiles::server(&self.server, self.names_socket)?.is_some())
    }

    fn client(self) -> anyhow::Result<Client> {
        let Reach { socket, names_socket, server, patience } = self;
        match profiles::server(&server, names_socket)? {
            Some(options) => Ok(Client::of_server(Server::new(&options)?, patience)),
            None => Client::new(socket, patience),
        }
    }
}

/// Does what a verb says.
pub fn run(command: ClientCommand, reach: Reach, output: Output) -> anyhow::Result<()> {
    // No daemon is needed for that, and none may have the pool.
    if let ClientCommand::Pool(PoolCommand::Check { drives, memory }) = &command {
        return check::run(drives, *memory, output);
    }
    if let ClientCommand::Volume(VolumeCommand::Estimate { data, sample }) = &command {
        return estimate::run(data, *sample, output);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if let ClientCommand::Support(asked) = command {
            let is_here = !reach.names_server()?;
            return support::run(reach.client(), is_here, asked, output).await;
        }
        let client = reach.client()?;
        verbs::run(&client, command, output).await
    })
}
