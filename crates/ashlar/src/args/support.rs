//! `ashlar support` as people write it.

use std::path::PathBuf;

use clap::Args;

/// What goes into a bundle for whoever is to help.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
#[command(after_help = "Examples:
  ashlar support
  ashlar support /tmp/ticket-4711.tar.gz
  ashlar --profile berlin support
The bundle has no secrets: no tokens, keys, passwords, and of the addresses of
webhooks only the server. It has names of pools, volumes, hosts and people, and
serial numbers: look at it before you give it away (tar tf FILE). A daemon that
does not answer is no obstacle: the bundle says what it lacks, and why.")]
pub struct SupportArguments {
    /// The file to make [default: ashlar-support-HOST-TIME.tar.gz in this directory]
    pub file: Option<PathBuf>,
    /// The state directory of the daemon
    #[arg(long, value_name = "DIR", default_value = "/var/lib/ashlar")]
    pub state: PathBuf,
    /// The configuration file of the daemon
    #[arg(long, value_name = "FILE", default_value = "/etc/ashlar/ashlar.toml")]
    pub config: PathBuf,
}
