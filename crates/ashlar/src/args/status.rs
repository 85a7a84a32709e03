//! `ashlar status` as people write it.

use clap::Args;

/// What is shown of everything.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[command(after_help = "Examples:
  ashlar status
  ashlar status -x
  ashlar status --check > /dev/null || mail -s 'ashlar is ill' me@example.org
  ashlar status --output json
Exit codes: 0 all is well, or nobody has asked with --check; 1 the daemon does
not answer; 2 the command is written wrong; 3 something is not well (--check).")]
pub struct StatusArguments {
    /// Only what is not well, with what to do about it
    #[arg(short = 'x', long)]
    pub ill: bool,
    /// The same, and end with 3 if there is any: for scripts and monitors
    #[arg(long)]
    pub check: bool,
}
