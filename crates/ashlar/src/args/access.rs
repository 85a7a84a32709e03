//! Who may do what, and how a daemon on another machine is reached.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::GLOBAL_OPTIONS;

/// A daemon on another machine.
#[derive(Args, Clone, Default, Debug)]
pub struct ServerArguments {
    /// A daemon on another machine, instead of one here
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "https://HOST:PORT")]
    pub server: Option<String>,
    /// The file with the token to show there
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The fingerprint of its certificate, as `ashlar session` on the appliance shows it
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "SHA256")]
    pub fingerprint: Option<String>,
    /// The certificate of the authority that has signed its certificate, instead of a fingerprint
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// A server with all of that, from ~/.config/ashlar/profiles.toml (or ASHLAR_PROFILE)
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "NAME")]
    pub profile: Option<String>,
}

/// In which time a token expires.
fn parse_expiry(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).ok().filter(|time| time.as_secs() > 0);
    time.ok_or_else(|| format!("'{text}' is no time for a token to live: write 90d, 12h or 30m"))
}

/// What whoever shows a token may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RoleName {
    /// Look
    Viewer,
    /// Also change what can be changed back
    Operator,
    /// Also lose data, take drives and pools, and decide who may do what
    Admin,
}

/// What to do with tokens.
#[derive(Subcommand, Debug)]
pub enum TokenCommand {
    /// Make a token, and print it once
    #[command(after_help = "Examples:
  ashlar token create ci --role operator --expires 90d
  ashlar token create grafana --role viewer > grafana.token")]
    Create {
        /// Its name
        name: String,
        /// What whoever shows it may do
        #[arg(long, value_enum)]
        role: RoleName,
        /// When it expires, as 90d or 12h; without that it never does
        #[arg(long, value_name = "TIME", value_parser = parse_expiry)]
        expires: Option<Duration>,
    },
    /// List all tokens
    #[command(after_help = "Example:\n  ashlar token list")]
    List,
    /// Forget a token: whoever shows it is not let in any more
    #[command(after_help = "Example:\n  ashlar token revoke ci")]
    Revoke {
        /// Its name or identifier
        token: String,
    },
}

/// What to do with keys whose owners sign tokens of their own.
#[derive(Subcommand, Debug)]
pub enum KeyCommand {
    /// Register a public key: JSON web tokens that its owner signs are let in
    #[command(after_help = "Example:
  ashlar key add sso --role operator sso-public.pem
A token has the claims exp and role, and is signed by EdDSA or RS256.")]
    Add {
        /// Its name
        name: String,
        /// What those may do at most who show a token that it has signed
        #[arg(long, value_enum)]
        role: RoleName,
        /// The file with the public key, in PEM
        file: PathBuf,
    },
    /// List all keys
    #[command(after_help = "Example:\n  ashlar key list")]
    List,
    /// Forget a key: what it has signed is not believed any more
    #[command(after_help = "Example:\n  ashlar key remove sso")]
    Remove {
        /// Its name
        name: String,
    },
}
