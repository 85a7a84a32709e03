//! The daemon's options about the health of drives.

use clap::Args;

/// How drives are asked for their health, and from where on there is a warning.
#[derive(Args, Clone, Default, Debug)]
pub struct HealthArguments {
    /// How many seconds pass between two questions to a drive for its health, 1 to 86400 [default:
    /// 60]
    #[arg(long, value_name = "SECONDS")]
    pub drive_poll_seconds: Option<u64>,
    /// Warn of drives from this temperature on [default: what the drive says itself, else 70, or 55
    /// where it has platters]
    #[arg(long, value_name = "CELSIUS")]
    pub drive_hot_celsius: Option<i16>,
    /// Warn of drives that have spent this part of their life, in percent [default: 90]
    #[arg(long, value_name = "PERCENT")]
    pub drive_worn_percent: Option<u8>,
}
