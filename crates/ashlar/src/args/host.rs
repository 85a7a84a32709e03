//! Hosts as people ask for them.

use clap::Subcommand;

/// About hosts.
#[derive(Subcommand, Debug)]
pub enum HostCommand {
    /// List the hosts that are connected
    #[command(after_help = "Example:\n  ashlar host list")]
    List,
}
