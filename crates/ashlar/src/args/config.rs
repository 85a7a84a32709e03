//! The verbs about the configuration file.

use std::path::PathBuf;

use clap::Subcommand;

/// About the configuration file.
#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// Print a file with every key, commented out, with its meaning, range and default
    #[command(after_help = "Example:\n  ashlar config example > ashlar.toml")]
    Example,
    /// Say whether a file is good, as `ashlar serve --config FILE` would read it
    #[command(after_help = "Needs no daemon. Where the file is not good it says why, and fails.
Example:\n  ashlar config check /etc/ashlar/ashlar.toml")]
    Check {
        /// The file
        file: PathBuf,
    },
    /// List the keys of the file
    #[command(after_help = "Examples:\n  ashlar config keys\n  ashlar config keys --output json")]
    Keys,
    /// Print docs/configuration.md
    #[command(hide = true, after_help = "Example:\n  ashlar config page")]
    Page,
}
