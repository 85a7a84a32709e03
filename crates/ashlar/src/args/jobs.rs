//! The commands about jobs.

use clap::Subcommand;

/// About long work: rebuilds, evacuations, rebalances, scrubs, trims, proofs and erases.
#[derive(Subcommand, Debug)]
pub enum JobCommand {
    /// List what goes on, and the last of each kind that has ended
    #[command(after_help = "Example:\n  ashlar job list")]
    List,
    /// Show a job: how far it is, or what it has come to
    #[command(after_help = "Example:\n  ashlar job show tank/scrub")]
    Show {
        /// POOL/KIND, as `ashlar job list` names it
        #[arg(value_name = "JOB")]
        job: String,
    },
    /// Wait until a job ends; the exit code says whether it has failed
    #[command(after_help = "Example:\n  ashlar job wait tank/rebuild")]
    Wait {
        /// POOL/KIND, as `ashlar job list` names it
        #[arg(value_name = "JOB")]
        job: String,
    },
    /// Stop a job that goes on: what it has done stays done
    #[command(after_help = "Example:\n  ashlar job stop tank/rebalance")]
    Stop {
        /// POOL/KIND, as `ashlar job list` names it
        #[arg(value_name = "JOB")]
        job: String,
    },
}
