//! Who is told of events, as the API sees them.

use crate::node_api::Answer;
use crate::types::{Receiver, ReceiverTest};

/// Webhooks and mail.
pub trait Notifier: Send + Sync + 'static {
    /// All of them, and how each is.
    fn receivers(&self) -> Vec<Receiver>;

    /// Sends a test to the one of that name, and says what it has answered.
    fn test(&self, name: String) -> Answer<'_, ReceiverTest>;
}
