//! Who is told of events.

use clap::Subcommand;

/// What to do with webhooks and mail.
#[derive(Subcommand, Debug)]
pub enum NotifyCommand {
    /// List the webhooks and mail of the configuration, and how each is
    #[command(after_help = "Example:\n  ashlar notify list")]
    List,
    /// Send a test event to a webhook or by mail, and show the answer
    #[command(after_help = "Examples:
  ashlar notify test ops
  ashlar notify test mail")]
    Test {
        /// The name of the webhook in the configuration, or mail
        name: String,
    },
}
